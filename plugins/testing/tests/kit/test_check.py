"""`perf plugins check`: the laws of a kind, tried on what is installed."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from perfcore_testing import hostile, laws
from perfcore_testing.distributions import Site
from perfcore_testing.laws import contract_of
from perfcore_testing.project import Project

from perfcore.hookspecs import KINDS
from perfcore.plugins import Plugins
from perfcore.plugins.installed import HOOK

if TYPE_CHECKING:
    from .conftest import Generated

OURS = {"perfcore-core", *(f"perfcore-{folder.name}" for folder in Path(__file__).parents[4].glob("plugins/*"))}
SOURCE = '''
import attrs
from perfcore.settings import option

@attrs.frozen
class Settings:
    times: int = option(help="How often.", minimum=1)

class Good:
    """Shows the names."""
    def render(self, subject, output):
        if not subject.profiles:
            return
        for profile in subject.profiles:
            output.write(ascii(profile.label) + "\\\\n")

class Bad:
    """Shows the names as they are."""
    def render(self, subject, output):
        for profile in subject.profiles:
            output.write(profile.label)

class Needy(Good):
    """Wants an option."""
    Settings = Settings
    def __init__(self, settings): pass

class Dying(Good):
    """Ends the process."""
    def render(self, subject, output):
        import os
        os._exit(3)

class Slow(Good):
    """Takes its time."""
    def render(self, subject, output):
        import time
        time.sleep(600)

class Lost(Good):
    """Names a contract that is not there."""
    contract = "acme_none:Contract"

def loud(run):
    """Raises."""
    raise RuntimeError("\\x1b[31mloud")
'''


@pytest.fixture
def acme(site: Site) -> Site:
    names = ("Good", "Bad", "Needy", "Dying", "Slow", "Lost")
    points = {
        "perfcore.view": [f"{name.lower()} = acme_laws:{name}" for name in names],
        "perfcore.hooks": ["collector.collect:loud = acme_laws:loud"],
    }
    site.install("acme-laws", points=points, acme_laws=SOURCE.replace("\\\\n", "\\n"))
    return site


def test_a_plugin_that_keeps_the_laws(empty_project: Project, acme: Site) -> None:
    done = empty_project.perf("plugins", "check", "good", env=acme.env)
    assert done.lines[0] == "view 'good' (acme-laws 1.0)"
    assert "passed          hostile names stay text" in done.lines
    assert "failed" not in done.out
    assert list(empty_project.path.iterdir()) == []


def test_a_law_that_is_broken_is_told_with_its_reason(empty_project: Project, acme: Site) -> None:
    done = empty_project.perf("plugins", "check", "bad", env=acme.env, code=5)
    at = done.lines.index("failed          hostile names stay text")
    assert "No escape sequence" in done.lines[at + 1]
    assert "[80]" in done.out
    assert hostile.unsafe(done.out) == set()


def test_it_can_be_read_by_a_program(empty_project: Project, acme: Site) -> None:
    told = empty_project.perf("plugins", "check", "view:bad", "--json", env=acme.env, code=5).json
    assert (told["schema"], told["kind"], told["name"], told["passed"]) == (1, "view", "bad", False)
    states = {law["name"]: law["state"] for law in told["laws"]}
    assert states["test_it_fits_the_kind"] == "passed"
    assert states["test_hostile_names_stay_text"] == "failed"
    assert states["test_no_line_is_wider_than_the_terminal"] == "not applicable"
    (broken,) = (law for law in told["laws"] if law["name"] == "test_hostile_names_stay_text")
    assert broken["failed"][0]["reason"]


def test_options_are_given(empty_project: Project, acme: Site) -> None:
    refused = empty_project.perf("plugins", "check", "needy", env=acme.env, code=2).err
    assert "'times' is required" in refused
    assert "--option" in refused
    empty_project.perf("plugins", "check", "needy", "--option", "times=2", env=acme.env)
    assert "at least 1" in empty_project.perf("plugins", "check", "needy", "-o", "times=0", env=acme.env, code=2).err
    assert "KEY=VALUE" in empty_project.perf("plugins", "check", "needy", "-o", "times", env=acme.env, code=2).err


def test_what_cannot_be_tried_is_an_error(empty_project: Project, acme: Site) -> None:
    dying = empty_project.perf("plugins", "check", "dying", env=acme.env, code=5).err
    assert "ended before its time" in dying
    slow = empty_project.perf("plugins", "check", "slow", "--timeout", "4", env=acme.env, code=5).err
    assert "longer than 4 s" in slow
    lost = empty_project.perf("plugins", "check", "lost", env=acme.env, code=5).err
    assert "acme_none" in lost
    assert "did you mean 'good'?" in empty_project.perf("plugins", "check", "goodd", env=acme.env, code=3).err


def test_an_observer_has_laws_too(empty_project: Project, acme: Site) -> None:
    done = empty_project.perf("plugins", "check", "hook:collector.collect:loud", env=acme.env, code=5)
    assert "failed          it works" in done.out
    assert "RuntimeError" in done.out
    assert hostile.unsafe(done.out) == set()
    assert "passed          it fits what it observes" in done.out


def test_a_user_of_pytest_does_not_disturb_it(empty_project: Project, acme: Site) -> None:
    empty_project.write("conftest.py", "raise RuntimeError('not mine')\n")
    empty_project.write("pytest.ini", "[pytest]\naddopts = --no-such-option\n")
    env = {**acme.env, "PYTEST_ADDOPTS": "--no-such-option"}
    empty_project.perf("plugins", "check", "good", env=env)


def test_without_pytest_it_says_what_is_missing(empty_project: Project) -> None:
    script = "import sys; sys.modules['pytest'] = None; from perfcore.cli import main; sys.exit(main(sys.argv[1:]))"
    done = empty_project.run(sys.executable, "-c", script, "plugins", "check", "table")
    assert done.code == 5
    assert "perfcore-testing" in done.err


def test_two_of_one_name_are_both_tried(empty_project: Project, acme: Site) -> None:
    silent = "class Silent:\n    def notify(self, report):\n        pass\n"
    acme.install("acme-two", points={"perfcore.notifier": ["good = acme_two:Silent"]}, acme_two=silent)
    done = empty_project.perf("plugins", "check", "good", env=acme.env)
    assert [line for line in done.lines if " 'good' (" in line] == [
        "view 'good' (acme-laws 1.0)",
        "notifier 'good' (acme-two 1.0)",
    ]
    assert done.out.count(" laws: ") == 2


def test_two_of_one_name_are_told(empty_project: Project, acme: Site) -> None:
    acme.install("acme-more", points={"perfcore.diff": ["good = acme_more:Diff"]}, acme_more="class Diff:\n    pass")
    told = empty_project.perf("plugins", "check", "good", "--json", env=acme.env, code=3).err
    assert "view:good, diff:good" in told
    assert "lacks diff" in empty_project.perf("plugins", "check", "good", env=acme.env, code=5).err
    assert "lacks diff" in empty_project.perf("plugins", "check", "diff:good", env=acme.env, code=5).err


def test_a_generated_plugin_keeps_the_laws_that_it_names(generated: Generated) -> None:
    for kind in ("view", "notifier"):
        told = generated.perf("plugins", "check", f"{kind}:my-wall2", "--json").json
        states = [law["state"] for law in told["laws"]]
        assert states.count("passed") >= len(states) - 1, told


def ours() -> list[str]:
    return sorted(
        f"{kind}:{found.name}"
        for kind in KINDS
        for found in Plugins().infos(kind)
        if found.distribution in OURS - {"perfcore-testing"}
    )


@pytest.mark.parametrize("named", ours())
def test_every_law_can_be_tried_on_a_plugin_of_ours(named: str, tmp_path: Path) -> None:
    kind, _, name = named.partition(":")
    contract = contract_of(kind, name, {}, tmp_path)
    laws = {law: getattr(contract, law) for law in dir(contract) if law.startswith("test_")}
    assert laws
    left_out = [law for law, test in laws.items() if any(mark.name == "skip" for mark in _marks(test))]
    # The tour starts `perf` processes, which write to the terminal themselves.
    assert left_out == (["test_it_prints_through_the_output_only"] if named == "command:demo" else [])
    if not hasattr(Plugins().load(kind, name)[1], "contract"):
        Plugins().make(kind, name, {}, place=tmp_path / "place" if KINDS[kind].placed else None)


@pytest.mark.parametrize("named", ["view:flamegraph", "postprocessor:filter"])
def test_plugins_of_ours_keep_their_laws(empty_project: Project, named: str) -> None:
    told = empty_project.perf("plugins", "check", named, "--json").json
    assert told["passed"]
    assert not any("only the plugin can tell" in law["reason"] for law in told["laws"])


def _marks(test: object) -> list[pytest.Mark]:
    return list(getattr(test, "pytestmark", []))


@pytest.mark.parametrize("kind", [*KINDS, HOOK])
def test_every_kind_has_laws(kind: str) -> None:
    module = "observer" if kind == HOOK else kind
    contract = getattr(importlib.import_module(f"perfcore_testing.{module}"), f"{module.capitalize()}Contract")
    assert [name for name in dir(contract) if name.startswith("test_")]


def test_one_law_is_tried_alone_under_either_name(empty_project: Project, acme: Site) -> None:
    for law in ("hostile names stay text", "test_hostile_names_stay_text"):
        told = empty_project.perf("plugins", "check", "view:bad", "--law", law, "--json", env=acme.env, code=5).json
        assert [each["name"] for each in told["laws"]] == ["test_hostile_names_stay_text"]
    wrong = empty_project.perf("plugins", "check", "good", "--law", "hostile names", env=acme.env, code=3).err
    assert "hostile_names_stay_text" in wrong


def test_all_plugins_are_tried(empty_project: Project, acme: Site) -> None:
    """But those that are disabled: each one takes a process of its own, and seconds."""
    needed = {"git", "local", "plugins", "plugins.check"}
    tried = {"table", "time", "good", "bad"}
    listed = empty_project.perf("plugins", "list", "--json", env=acme.env).json["plugins"]
    disabled = [f"{each['kind']}:{each['name']}" for each in listed if each["name"] not in needed | tried]
    words = ("plugins", "check", "--all", "--law", "it fits the kind", "--json")
    told = empty_project.perf(*words, env={**acme.env, "PERF_DISABLED_PLUGINS": " ".join(disabled)}).json
    assert {each["name"] for each in told["plugins"]} - needed == tried
    assert "--all" in empty_project.perf("plugins", "check", code=2).err
    assert "--all" in empty_project.perf("plugins", "check", "good", "--all", env=acme.env, code=2).err


def test_a_law_is_printed_before_the_next_one_ends(empty_project: Project, acme: Site) -> None:
    """The first view fits its kind, and then takes its time."""
    done = empty_project.perf("plugins", "check", "slow", "--timeout", "6", env=acme.env, code=5)
    assert "passed          it fits the kind" in done.out
    assert "longer than 6 s" in done.err


def test_both_ends_of_a_long_failure_are_shown() -> None:
    class Crash:
        message = "\n".join(f"line {at}" for at in range(20))

    class Report:
        longrepr = type("Long", (), {"reprcrash": Crash})

    assert laws._reason(Report()).splitlines() == [
        *("line 0", "line 1", "line 2", "… 14 lines …", "line 17", "line 18", "line 19")
    ]
