"""Slow drift and growing noise, from the history to the exit code: `check`, `log`, `history`, `check ack`."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from perfcore_testing import profiles

from perfcore.profile.table import column, table

if TYPE_CHECKING:
    from perfcore.model import Profile

    from .conftest import Here

FLAT, GROWING = 10, 24
PACE = 1.01  # the growth of each version: none of them is more than its noise


def _profile(number: int, level: float, spread: float = 0.01) -> Profile:
    draw = random.Random(number)
    amounts = [int(level * draw.lognormvariate(0, spread)) for _ in range(6)]
    columns = [
        column("run", list(range(6)), role="order"),
        column("wall", [2 * amount for amount in amounts], unit="ns", role="value"),
        column("cpu", amounts, unit="ns", role="value"),
    ]
    return profiles.profile({"resources": table("resources", columns)})


def _commit(here: Here, number: int, level: float, spread: float = 0.01) -> None:
    here.commit(f"Change {number}")
    here.register(_profile(number, level, spread), created=profiles.CREATED + number)


def _level(number: int) -> float:
    return 5e6 * PACE ** max(0, number - FLAT + 1)


@pytest.fixture(scope="module")
def drifting(made: Callable[..., Here]) -> Here:
    """Ten versions alike, and then each slower by 1 % than the one before."""
    here = made()
    for number in range(FLAT + GROWING):
        _commit(here, number, _level(number))
    return here


@pytest.fixture
def history(drifting: Here, copied: Callable[[Here], Here]) -> Here:
    return copied(drifting)


def _drifts(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [change for change in document["changes"] if change["kind"] == "drift"]


def _cpu(here: Here, *words: str, code: int = 1) -> dict[str, Any]:
    (drift,) = [change for change in _drifts(here.perf("check", *words, "--json", code=code).json) if change["primary"]]
    return drift


def test_a_drift_is_one_change_that_fails_the_check_of_the_history(history: Here) -> None:
    drift = _cpu(history, "all")
    assert drift["fails"]
    assert drift["pace"] == pytest.approx(PACE, abs=0.002)
    assert drift["low"] <= PACE**GROWING <= drift["high"]
    assert drift["until"] == history.head
    assert "a version over" in drift["evidence"]
    begins = [history.perf("log", "--json", "--last", str(GROWING + 4)).lines]
    assert any(drift["earliest"] in line for line in begins[0])


def test_the_table_says_how_fast_and_since_when(history: Here) -> None:
    lines = history.perf("check", "all", code=1).lines
    (row,) = [line for line in lines if line.startswith("drifts  cpu")]
    assert "% a version since" in row
    assert history.head[:10] in row
    assert lines[-1].endswith("0 regressions, 0 improvements, 1 drift")


def test_the_check_of_the_head_shows_the_drift_that_it_is_a_part_of(history: Here) -> None:
    """The comparison with the version before sees 1 %, which is the same."""
    drift = _cpu(history)
    assert drift["id"] == _cpu(history, "all")["id"]
    assert "1 drift" in history.perf("check", code=1).out
    assert not _drifts(history.perf("check", f"HEAD~{GROWING + 1}", "--json").json)


def test_a_drift_can_be_let_pass(history: Here) -> None:
    history.perf("check", "all", "--fail-on", "never", "--fail-on", "degradation")
    history.perf("check", "all", "--fail-on", "never")
    history.perf("check", "all", "--fail-on", "never", "--fail-on", "drift:wall", code=1)
    history.perf("check", "--fail-on", "never", "--fail-on", "drift:wall", code=1)


def test_an_accepted_drift_fails_no_check_while_it_goes_on(history: Here) -> None:
    drift = _cpu(history, "all")
    history.perf("check", "ack", drift["id"], "--why", "more features")
    assert _cpu(history, "all", code=0)["accepted"]["why"] == "more features"
    for number in range(FLAT + GROWING, FLAT + GROWING + 3):
        _commit(history, number, _level(number))
    assert _cpu(history, "all", code=0)["until"] == history.head
    assert not _cpu(history, code=0)["fails"]


def test_a_drift_that_a_later_step_undid_fails_nothing(history: Here) -> None:
    for number in range(FLAT + GROWING, FLAT + GROWING + 6):
        _commit(history, number, 5e6)
    drift = _cpu(history, "all", code=0)
    assert drift["undone"]
    assert not drift["fails"]
    assert not _drifts(history.perf("check", "--json").json)


def test_log_and_history_show_where_a_drift_began(history: Here) -> None:
    drift = _cpu(history, "all")
    marked = [line for line in history.perf("log", "--short").lines if "drifts" in line]
    assert [line[:10] for line in marked] == [drift["target"][:10]]
    assert "% a version" in marked[0]
    lines = history.perf("history").lines
    assert lines[2].index("/") == lines[-1].index("/") or "/" in lines[2]
    assert "drifts" in lines[-1]
    (series,) = history.perf("history", "--json").json["series"]
    assert [change["until"] for change in series["changes"]] == [history.head]


def test_runs_that_differ_by_more_have_a_row_and_fail_only_on_demand(made: Callable[..., Here]) -> None:
    here = made()
    for number in range(30):
        _commit(here, number, 5e6, 0.01 if number < 20 else 0.05)
    done = here.perf("check", "all")
    (row,) = [line for line in done.lines if line.startswith("noise  cpu")]
    assert done.lines[-1].endswith("1 of the noise")
    (change,) = [
        c for c in here.perf("check", "all", "--json").json["changes"] if c["kind"] == "variance" and c["primary"]
    ]
    assert change["target"][:10] in row
    assert change["ratio"] == pytest.approx(5, rel=0.5)
    here.perf("check", "all", "--fail-on", "noise", code=1)
    here.perf("check", "all", "--fail-on", "noise:wall", code=1)
    assert "noise" in here.perf("log", "--short").out
