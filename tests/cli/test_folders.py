"""Two projects of one repository: the same words in two folders are two commands, each with a history of its own."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from perfcore.measure.commands import profile_digest
from perfcore.model.record import replace

from .test_check_measures import COLLECT, NAMED, PLUGIN

if TYPE_CHECKING:
    from pathlib import Path

    from .conftest import Here

COMMAND = ("--", sys.executable, "-c", "pass")
VERSIONS = ("--version", "HEAD~1", "--version", "HEAD", "--missing")
Commit = Callable[[str, str], str]


@pytest.fixture
def commit(here: Here, tmp_path: Path) -> Commit:
    """Commits what the projects `svc/one` and `svc/two` cost."""
    bias = tmp_path / "bias"
    bias.write_text("1.0")
    here.commit("Plugin", **{"plugin.py": PLUGIN.format(bias=str(bias)), ".perfcore.yml": NAMED})
    here.perf("config", "trust", "--yes")
    for name in ("one", "two"):
        (here.path / "svc" / name).mkdir(parents=True)
    return lambda one, two: here.commit(f"{one} and {two}", **{"svc/one/cost.txt": one, "svc/two/cost.txt": two})


@pytest.fixture
def both(here: Here, commit: Commit) -> Here:
    """The first project becomes 10 % slower; each is measured from its folder."""
    commit("1e6", "3e6")
    commit("1.1e6", "3e6")
    for name in ("one", "two"):
        here.perf(*COLLECT, *VERSIONS, *COMMAND, cwd=here.path / "svc" / name)
    return here


def test_each_folder_has_a_history_of_its_own(both: Here) -> None:
    changes = both.perf("check", "--json", code=1).json["changes"]
    found = {change["label"].partition(": ")[0]: change["kind"] for change in changes if change["primary"]}
    assert found == {"svc/one": "degradation", "svc/two": "same"}
    history = both.perf("history").out
    assert "cpu of svc/one: " in history
    assert "cpu of svc/two: " in history


def test_what_one_folder_measured_the_other_one_lacks(both: Here) -> None:
    for name in ("one", "two"):
        done = both.perf(*COLLECT, *VERSIONS, *COMMAND, cwd=both.path / "svc" / name)
        assert "every version has its profiles" in done.err
    assert len(both.repository.entries(both.head)) == 2


def test_a_stored_command_runs_in_its_folder_wherever_the_user_stands(both: Here, commit: Commit) -> None:
    (change,) = (c for c in both.perf("check", "--confirm", "--json", code=1).json["changes"] if c["fails"])
    assert change["reason"].startswith("confirmed: +")
    commit("2e6", "3e6")
    changes = both.perf("check", "--collect", "--json", code=1, cwd=both.path / "svc/two").json["changes"]
    assert [c["label"].partition(": ")[0] for c in changes if c["fails"]] == ["svc/one"]


def test_a_command_may_run_in_the_folder_where_it_was_measured_only(both: Here) -> None:
    """The same words run another program in another folder."""
    profile = both.repository.store.load(both.repository.entries(both.head)[0].profile)
    elsewhere = replace(profile, header=replace(profile.header, cmd=profile.header.cmd.replace("svc/one", "vendor")))
    digests = {profile_digest(both.repository.home, each) for each in (profile, elsewhere)}
    assert len(digests) == 2


def test_a_folder_of_a_stored_command_stays_on_its_line(here: Here) -> None:
    """What an imported profile holds must not look like words of perf."""
    done = here.perf("collect", "time", "--cwd", "a\nperf: all is well", "--", "true", code=2)
    assert "there is no folder a\\nperf: all is well in" in done.err
