"""`perf bisect` runs what the user measured or typed, and nothing that a file says."""

from __future__ import annotations

import json
import os
import pty
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from perfcore_testing import profiles
from perfcore_testing.processes import PATIENCE

from perfcore.model import Header
from perfcore.model.record import replace

if TYPE_CHECKING:
    from perfcore.model import Profile

    from .conftest import Here

QUICK = ("--max-runs", "8")


@pytest.fixture
def canary(tmp_path: Path) -> Path:
    """A file that is there once something ran that should not."""
    return tmp_path / "canary"


@pytest.fixture
def versions(here: Here) -> Here:
    """A repository of three versions."""
    for number in range(2):
        here.commit(f"version {number}", number__txt=f"{number}\n")
    return here


def journal(here: Here) -> Path:
    return here.path / ".perf" / "bisect.json"


def plant(here: Here, **changes: Any) -> None:
    """A journal of somebody else, of two versions."""
    ids = [here.git("rev-parse", revision).out.strip() for revision in ("HEAD~2", "HEAD")]
    command = {"argv": ["true"], "cmd": "true", **changes}
    journal(here).write_text(json.dumps({"format": 1, "versions": ids, "command": command}))


def touching(canary: Path) -> dict[str, Any]:
    return {"argv": ("/bin/sh", "-c", f"touch {canary}"), "cmd": "true"}


def foreign(canary: Path, **collector: Any) -> Profile:
    """A profile of somebody else whose command or options leave a canary."""
    made = profiles.timed()
    command = {"argv": ("true",), "cmd": "true"} if collector else touching(canary)
    return replace(made, header=Header(type="time", **command), collector=replace(made.collector, params=collector))


def test_a_journal_of_somebody_else_runs_nothing(versions: Here, canary: Path) -> None:
    for parts in (touching(canary), {"params": {"setup": f"touch {canary}"}}, {"env": {"LD_PRELOAD": "/evil.so"}}):
        plant(versions, **parts)
        done = versions.perf("bisect", code=7)
        assert not canary.exists()
        assert "holds a command that you have not measured on this machine" in done.err
        assert "hint: read the command above; to run it, type it yourself: perf bisect --reset " in done.err
    assert "variable: LD_PRELOAD=/evil.so" in done.err


def test_the_real_command_is_shown(versions: Here, canary: Path) -> None:
    plant(versions, **touching(canary))
    done = versions.perf("bisect", code=7)
    assert f"command: /bin/sh -c 'touch {canary}'" in done.err
    assert f"-- /bin/sh -c 'touch {canary}'" in done.err


@pytest.mark.parametrize("collector", [{}, {"setup": "touch {canary}"}, {"cleanup": "touch {canary}"}])
@pytest.mark.parametrize("words", [("HEAD~1", "HEAD"), ("--auto",)])
def test_a_profile_of_somebody_else_runs_nothing(
    slowed: Here, canary: Path, collector: dict[str, Any] | dict[str, str], words: tuple[str, ...]
) -> None:
    made = foreign(canary, **{name: value.format(canary=canary) for name, value in collector.items()})
    for revision, wall in (("HEAD~1", 100_000_000), ("HEAD", 200_000_000)):
        version = slowed.git("rev-parse", revision).out.strip()
        tables = profiles.timed(runs=12, wall=wall).tables
        slowed.save(made, origin=version, tables=tables, config_id="theirs")
        slowed.perf("add", "--all")
    done = slowed.perf("bisect", *words, code=7)
    assert not canary.exists()
    assert "was not measured by you on this machine" in done.err
    assert not journal(slowed).exists()


def test_what_the_user_measured_is_bisected_without_a_question(versions: Here) -> None:
    for revision in ("HEAD~2", "HEAD"):
        versions.perf("collect", "time", "--repeat", "2", "--add", "--version", revision, "--", "true")
    done = versions.perf("bisect", *QUICK, "HEAD~2", "HEAD", code=None)
    assert done.code in (0, 8), done
    assert "note: measuring the same command as before: true" in done.err
    assert versions.perf("bisect", *QUICK, code=None).code in (0, 8), "and goes on"


@pytest.mark.parametrize("option", ["--setup", "--cleanup"])
def test_what_the_user_measured_with_options_is_bisected_with_them(versions: Here, canary: Path, option: str) -> None:
    for revision in ("HEAD~2", "HEAD"):
        words = ("--repeat", "1", "--add", "--version", revision, option, f"touch {canary}", "--", "true")
        versions.perf("collect", "time", *words)
    canary.unlink()
    assert versions.perf("bisect", *QUICK, "HEAD~2", "HEAD", code=None).code in (0, 8)
    assert canary.exists()


def test_what_was_measured_in_another_repository_is_a_command_of_that_one(versions: Here, tmp_path: Path) -> None:
    versions.perf("collect", "time", "--repeat", "1", "--add", "--", "true")
    theirs = Path(shutil.copytree(versions.path, tmp_path / "theirs"))
    assert versions.perf("bisect", "HEAD~2", "HEAD", code=7, cwd=theirs).code == 7


def test_what_the_user_types_runs_whatever_a_journal_says(versions: Here, canary: Path) -> None:
    plant(versions, **touching(canary))
    assert versions.perf("bisect", *QUICK, "HEAD~2", "HEAD", "--", "true", code=None).code in (0, 8)
    assert not canary.exists()


def test_a_journal_for_other_versions_is_not_the_one_that_was_begun(versions: Here) -> None:
    versions.perf("bisect", *QUICK, "HEAD~2", "HEAD", "--", "true", code=None)
    document = json.loads(journal(versions).read_text())
    other = {"versions": document["versions"][1:], "readings": [], "contains": [], "prior": [], "programs": {}}
    journal(versions).write_text(json.dumps({**document, **other}))
    versions.perf("bisect", code=7)


def test_a_list_that_cannot_be_written_stops_no_measurement(versions: Here) -> None:
    (versions.home / "data" / "perfcore" / "commands").mkdir(parents=True)
    done = versions.collect("true")
    assert "will ask before it runs the same command again" in done.err


@pytest.mark.parametrize("answer", ["y", "n"])
def test_on_a_terminal_the_user_is_shown_what_runs_and_asked(versions: Here, canary: Path, answer: str) -> None:
    plant(versions, **touching(canary))
    master, terminal = pty.openpty()
    process = subprocess.Popen(
        (sys.executable, "-m", "perfcore", "bisect", *QUICK),
        cwd=versions.path,
        env=versions.real.env,
        stdin=terminal,
        stderr=terminal,
        stdout=subprocess.DEVNULL,
    )
    os.close(terminal)
    shown = read_until(master, b"run it? [y/N]")
    os.write(master, answer.encode() + b"\n")
    read_until(master, None)
    assert process.wait() in ((0, 8) if answer == "y" else (7,))
    os.close(master)
    assert f"command: /bin/sh -c 'touch {canary}'".encode() in shown
    assert canary.exists() == (answer == "y")
    if answer == "y":
        assert versions.perf("bisect", *QUICK, code=None).code in (0, 8), "what was confirmed is known"


def read_until(master: int, words: bytes | None) -> bytes:
    text, until = b"", time.monotonic() + PATIENCE
    while time.monotonic() < until and (words is None or words not in text):
        try:
            more = os.read(master, 4096)
        except OSError:
            break
        if not more:
            break
        text += more
    return text
