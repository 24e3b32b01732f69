"""What is told while a command works: how far it is, medians until now, and failures as they happen."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from perfcore.cli import console as consoles
from perfcore.cli import progress_line
from perfcore.cli.console import Console
from perfcore.cli.progress_line import ProgressLine
from perfcore.errors import PerfError
from tests.cli.conftest import Here


@pytest.fixture
def seconds(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, which stands still until it is set."""
    now = [100.0]
    monkeypatch.setattr(progress_line, "time", SimpleNamespace(monotonic=lambda: now[0]))
    return now


def on_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)


def test_a_log_has_a_line_each_half_minute(seconds: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    line = ProgressLine()
    for done in range(100):
        line.show(done, 1_000, "sort", 80)
        seconds[0] += 1
    line.clear()
    assert capsys.readouterr().err == (
        "1/1000 sort\n31/1000 sort, 16 min left\n61/1000 sort, 16 min left\n91/1000 sort, 15 min left\n"
    )


def test_on_a_terminal_one_line_is_written_again_and_fits(
    seconds: list[float], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    on_terminal(monkeypatch)
    line = ProgressLine()
    for done in range(5):
        line.show(done, 10, "x" * 100, 40)
        seconds[0] += 2
    line.clear()
    shown = capsys.readouterr().err.split("\r\x1b[K")[1:]
    assert shown[-1] == ""
    assert all(len(text) <= 39 for text in shown)
    assert [text.partition(", ")[2] for text in shown[:5]] == ["", "", "16 s left", "14 s left", "12 s left"]


def test_a_new_stage_is_estimated_anew(seconds: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    line = ProgressLine()
    for total, each in ((10, 60.0), (20, 40.0)):
        for done in range(4):
            line.show(done, total, "x", 80)
            seconds[0] += each
    told = capsys.readouterr().err.splitlines()
    assert told[3] == "4/10 x, 7 min left"
    assert [", " in text for text in told[4:6]] == [False, False], "nothing is known of the second stage yet"
    assert told[7] == "4/20 x, 11 min left"


def test_a_short_command_tells_no_progress(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Console(directory=tmp_path).progress(0, 10, "x")
    assert capsys.readouterr() == ("", "")


def test_a_long_one_tells_the_median_until_now(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consoles, "_PATIENCE_OF_LOGS", 0)
    monkeypatch.setattr(progress_line, "_LOG_INTERVAL", 0)
    err = here.perf("collect", "time", "--repeat", "7", "--warmup", "0", "--", "sleep", "0.4").err
    assert f"1/7 sleep 0.4 at {here.head[:10]}\n" in err
    assert re.search(rf"^measured sleep 0.4 at {here.head[:10]}: \w+ [0-9.]+ .?s$", err, re.M), err
    assert re.search(rf"^7/7 sleep 0.4 at {here.head[:10]}: \w+ [0-9.]+ .?s, [0-9]+ s left$", err, re.M), err


def test_a_version_that_does_not_build_is_told_before_the_others_are_measured(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And once: the end says only how many there were."""
    here.write(".perfcore.yml", "execute: {pre_run: [cat good]}\n")
    here.perf("config", "trust", "--yes")
    bad, good, ran = here.commit("Bad"), here.commit("Good", good="x"), here.path / "ran"
    told = []
    tell = Console.failed

    def failed(console: Console, subject: str, error: PerfError) -> None:
        told.append((subject, ran.exists()))
        tell(console, subject, error)

    monkeypatch.setattr(Console, "failed", failed)
    done = here.perf("collect", "time", "-v", bad, "-v", good, "--repeat", "2", "--", "touch", str(ran), code=None)
    assert done.code != 0
    assert told == [(f"version {bad[:10]}", False)]
    assert ran.exists()
    assert done.err.count("cat: good: No such file") == 1, done.err
    assert "perf: 1 failure; what was measured otherwise is kept" in done.err
