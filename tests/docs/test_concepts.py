"""`docs/concepts.md` says what the code does."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from perfcore_executor_local.preparation import MAX_VERSIONS
from perfcore_testing.project import Project

from perfcore import environment, errors
from perfcore.analysis.fail_on import INCONCLUSIVE, NOT_COMPARED
from perfcore.cli.outcome import INTERNAL
from perfcore.errors import PerfError
from perfcore.measure.schedule import Schedule
from perfcore.measure.sessions import DEFAULT_VERSIONS
from perfcore.profile.recording import RUNS

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "concepts.md").read_text(encoding="utf-8")


def test_every_exit_code_is_told() -> None:
    told = {int(code) for code in re.findall(r"^\| (\d+) \|", PAGE, re.MULTILINE)}
    raised = {e.exit_code for e in vars(errors).values() if isinstance(e, type) and issubclass(e, PerfError)}
    assert told == {0, 1, INCONCLUSIVE, NOT_COMPARED, *raised, INTERNAL}


def test_numbers_are_those_of_the_code() -> None:
    told = " ".join(PAGE.split())
    assert f"Up to {DEFAULT_VERSIONS} versions share a session, and up to {MAX_VERSIONS} where their trees" in told
    assert (Schedule().repeat, Schedule().warmup) == (10, 1)
    for words in (
        "ten unless",
        "one by default",
        "begins after it but the first that counts",
        "system, architecture, CPU model, number of CPUs",
    ):
        assert words in told
    assert set(environment.facts()) >= {"system", "arch", "cpu", "cpus", "memory_gib"}
    assert [spec.name for spec in RUNS] == [
        "run",
        "session",
        "block",
        "position",
        "started",
        "warmup",
        "disturbed",
        "exit",
    ]


def test_versions_are_measured_in_trees_of_their_own(project: Project) -> None:
    """Each with its own files, at paths of one length outside of the repository; the user's tree stays as it is."""
    project.commit("Tell", tell__sh="pwd >> $HOME/told; cat version >> $HOME/told\n", version="one\n")
    project.commit("Again", version="two\n")
    project.write("version", "uncommitted\n")
    project.home.mkdir(exist_ok=True)
    project.perf(
        *("collect", "time", "--repeat", "1", "--warmup", "0"),
        *("--since", "HEAD~2", "--add"),
        *("--", "sh", "tell.sh"),
    )
    told = (project.home / "told").read_text().split()
    (first, second), versions = sorted(told[::2]), sorted(told[1::2])
    assert versions == ["one", "two"]
    assert (first != second, len(first)) == (True, len(second))
    assert not Path(first).is_relative_to(project.path)
    assert not Path(first).exists()
    assert (project.path / "version").read_text() == "uncommitted\n"


def test_a_profile_of_uncommitted_changes_is_not_registered(project: Project) -> None:
    project.write("README", "changed\n")
    project.collect("true")
    assert "uncommitted changes" in project.perf("add", "0@p", code=2).err
    project.perf("show", "0@p")


def test_other_content_of_a_workload_is_another_configuration(project: Project) -> None:
    def config_of(content: str) -> str:
        project.commit(content, data__txt=content)
        arguments = ("--workload", "data.txt", "--repeat", "1", "--warmup", "0", "--add", "--", "cat")
        project.perf("collect", "time", *arguments)
        (newest,) = project.perf("log", "--last", "1", "--json").lines
        (entry,) = json.loads(newest)["profiles"]
        return str(entry["config_id"])

    one, other, again = config_of("one"), config_of("other"), config_of("one")
    assert one == again != other


def test_names_are_looked_up_in_the_order_that_is_told(project: Project) -> None:
    """A tag comes before a file, a file before a pending profile; two that fit are an error that lists them."""

    def command_of(name: str) -> str:
        project.perf("export", name, "--output", "exported", "--force")
        return str(json.loads((project.path / "exported").read_text())["header"]["cmd"])

    project.collect("true", repeat=1)
    project.perf("add", "0@p")
    project.perf("tag", "mark", "0@i")
    project.collect("echo", "hello", repeat=1)
    (pending,) = (path.name for path in (project.path / ".perf" / "jobs").glob("*.perf"))
    project.collect("sleep", "0", repeat=1)
    project.perf("export", "1@p", "--output", "mark")
    assert command_of("1@p") == command_of("./mark") == "sleep"
    assert command_of("mark") == "true"
    assert command_of(pending) == "echo"
    project.perf("export", "1@p", "--output", pending)
    assert command_of(pending) == "sleep"
    project.collect("sleep", "0", repeat=1)
    refused = project.perf("show", "sleep", code=3).err
    assert "1@p" in refused
    assert "2@p" in refused


def test_what_a_repository_wants_to_run_is_asked_about_once(project: Project) -> None:
    project.write(".perfcore.yml", "execute: {pre_run: ['touch built']}\n")
    project.collect("true", repeat=1, code=7)
    assert not (project.path / "built").exists()
    project.perf("config", "trust", "--yes")
    project.collect("true", repeat=1)
    assert (project.path / "built").exists()
    project.write(".perfcore.yml", "execute: {pre_run: ['touch other']}\n")
    project.collect("true", repeat=1, code=7)
    for look in (("log",), ("show", "0@p"), ("status",)):
        project.perf(*look)
    assert not (project.path / "other").exists()


@pytest.mark.parametrize("page", ["start.md", "c-project.md", "concepts.md"])
def test_pages_that_make_a_history_say_how_git_clean_spares_it(page: str, project: Project) -> None:
    words = "git clean -fdx -e .perf"
    assert f"`{words}`" in " ".join((DOCS / page).read_text(encoding="utf-8").split())
    project.git(*words.split()[1:])
    assert project.perf("status").code == 0
    project.git(*words.removesuffix(" -e .perf").split()[1:])
    assert not (project.path / ".perf").exists()
