"""Help, versions, wrong usage, and how commands end."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from perfcore import __version__
from perfcore.cli.verbs import VERBS
from perfcore.errors import PerfError
from perfcore.plugins.installed import COMMANDS

if TYPE_CHECKING:
    from .conftest import Here

SHIPPED = [name for name in COMMANDS if "." not in name]
GROUPS = {
    "config": ("get", "set", "unset", "edit", "trust"),
    "plugins": ("list", "show"),
    "collect": ("time",),
}


def test_the_version_is_told_with_any_other_option(bare: Here) -> None:
    for words in (("--version",), ("-V",), ("--debug", "--version"), ("-C", ".", "--version"), ("--version", "log")):
        assert bare.perf(*words).out == f"perfcore {__version__}\n"


def test_help_lists_every_verb_under_its_chapter(bare: Here) -> None:
    out = bare.perf("--help").out
    for name, verb in VERBS.items():
        assert f"  {name} " in out
        assert f"{verb.chapter}:" in out
    ours, _, others = out.partition("\nFrom plugins:\n")
    for name in SHIPPED:
        assert f"\n  {name} " in ours
        assert f"\n  {name} " not in others
    assert bare.perf("-h").out == out


@pytest.mark.parametrize("verb", sorted({*VERBS, *SHIPPED}))
def test_every_verb_explains_itself_outside_of_a_repository(bare: Here, verb: str) -> None:
    for words in ((verb,), *((verb, sub) for sub in GROUPS.get(verb, ()))):
        out = bare.perf(*words, "--help").out
        assert out.startswith(f"Usage: perf {' '.join(words)} ")
        assert "--help" in out
        assert max(map(len, out.splitlines())) <= 120


def test_without_a_verb_the_help_is_shown_and_it_is_wrong_usage(bare: Here) -> None:
    done = bare.perf(code=2)
    assert "Usage: perf" in done.err
    assert done.out == ""


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("sttaus",), "did you mean 'status'?"),
        (("nonsense-verb-xyz",), "`perf --help` lists them"),
        (("status", "--jsno"), "did you mean '--json'?"),
        (("--debgu", "status"), "did you mean '--debug'?"),
        (("log", "--head", "1"), "`perf log --help` explains"),
        (("log", "--last"), "requires an argument"),
        (("log", "--last", "x"), "invalid value for '--last' / '-n': 'x' is not a whole number"),
        (("log", "a", "b"), "unexpected"),
        (("rm",), "missing argument 'PROFILE...'"),
        (("run", "martix"), "did you mean 'matrix'?"),
        (("config", "gett"), "did you mean 'get'?"),
        (("\x1b[31m",), "\\x1b"),
    ],
)
def test_wrong_usage_is_one_message_with_what_to_do(here: Here, words: tuple[str, ...], says: str) -> None:
    done = here.perf(*words, code=2)
    assert says in done.err.replace("Did you mean", "did you mean")
    assert done.err.count("perf: ") == 1
    assert "\x1b" not in done.err
    assert done.out == ""


def test_a_traceback_is_shown_with_debug_only(here: Here) -> None:
    assert "Traceback" not in here.perf("show", "9@i", code=3).err
    assert "Traceback" in here.perf("--debug", "show", "9@i", code=3).err
    assert "Traceback" in here.perf("show", "9@i", env={"PERF_DEBUG": "1"}, code=3).err
    assert "Traceback" not in here.perf("collect", "time", "--", "no-such-program", "--debug", code=6).err


def test_the_module_and_both_names_are_the_same_command(here: Here) -> None:
    assert here.real.perf("--version").out == f"perfcore {__version__}\n"
    for name in ("perf", "perfcore"):
        script = f"import sys; from importlib.metadata import entry_points as e; sys.argv = [{name!r}, '--version'];"
        script += (
            f"sys.exit([p for p in e(group='console_scripts', name={name!r}) if 'perfcore' in p.value][0].load()())"
        )
        assert here.real.run(sys.executable, "-c", script).out == f"perfcore {__version__}\n"


def test_a_standard_output_that_is_full_or_closed_is_a_failure(here: Here) -> None:
    for redirect in (">/dev/full", ">&-"):
        done = here.real.run("sh", "-c", f'"$0" -m perfcore status {redirect}', sys.executable)
        assert done.code not in (0, 1)
        assert "Traceback" not in done.err


def test_results_are_for_standard_output_and_talk_for_standard_error(here: Here) -> None:
    here.save()
    done = here.perf("add", "--all")
    assert done.out.count("\n") == 1
    assert here.perf("fsck").out == ""
    assert here.perf("gc").out == ""
    assert here.perf("collect", "time", "-r", "1", "--json", "--", "sh", "-c", "echo out; echo err >&2").json


def test_everything_that_is_listed_can_be_read_by_a_program(here: Here) -> None:
    here.register()
    for words in (
        ("status",),
        ("log", "--count-only"),
        ("log", "--branches"),
        ("fsck",),
        ("gc",),
        ("tag",),
        ("check", "--allow-empty"),
        ("plugins", "list"),
        ("plugins", "show", "time"),
        ("config", "get"),
        ("run", "job", "--command", "true", "--repeat", "1"),
        ("collect", "time", "--repeat", "1", "--", "true"),
    ):
        end = words.index("--") if "--" in words else len(words)
        document = json.loads(here.perf(*words[:end], "--json", *words[end:]).out)
        assert document["schema"] == 1, words


def test_a_version_that_cannot_be_written_is_an_error_in_one_line(bare: Here) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "perfcore", "--version"], env=bare.env, stdout=full, stderr=-1, check=False
        )
    assert (done.returncode, done.stderr) == (PerfError.exit_code, b"perf: input or output: No space left on device\n")
