"""A console is what engines report to."""

from pathlib import Path

import pytest

from perfcore.cli.console import Console
from perfcore.errors import PerfError
from perfcore.model.listener import Listener


def test_a_console_tells_people_what_engines_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    listener: Listener = Console(directory=tmp_path)
    listener.progress(0, 2, "the first")
    listener.saved("time-sort.perf")
    listener.note("the machine was loaded")
    listener.failed("./sort at 0123456789", PerfError("exited with 1"))
    assert capsys.readouterr() == ("", "note: the machine was loaded\nperf: ./sort at 0123456789: exited with 1\n")


def test_a_console_says_a_note_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    console = Console(directory=tmp_path)
    console.note("the machine was loaded")
    console.note("the machine was loaded")
    assert capsys.readouterr().err == "note: the machine was loaded\n"


def test_names_in_reports_of_engines_are_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Console(directory=tmp_path).failed("\x1b[2J", PerfError("\x1b[31m"))
    assert "\x1b" not in capsys.readouterr().err
