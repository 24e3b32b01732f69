"""Amounts that all runs of a version agree on: their levels need no noise to be told apart."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from msgspec.structs import replace
from perfcore_check_changepoint import ChangepointCheck, ChangepointSettings, exact
from perfcore_check_changepoint.runs import Runs

from perfcore.model import Change

from .histories import series

RUNS = 6


def _scan(amounts: Sequence[float]) -> list[Change]:
    given = [[amount] * RUNS for amount in amounts]
    return list(ChangepointCheck(ChangepointSettings()).scan(series(given), None)[0])


def _levels(*parts: tuple[int, float]) -> list[float]:
    return [amount for versions, amount in parts for _ in range(versions)]


def _steps(amounts: Sequence[float]) -> list[int]:
    changes = _scan(amounts)
    assert {change.kind for change in changes} <= {"degradation", "optimization"}
    return [int(change.target[:8]) for change in changes]


@pytest.mark.parametrize("amounts", [(3, 5, 7), (100, 101, 103), (343, 374, 360), (48, 352, 953), (2**60, 2**61, 2**9)])
def test_every_step_of_two_versions_or_more_is_found(amounts: tuple[float, float, float]) -> None:
    for first in (2, 6, 10, 20):
        for second in (2, 3, 5, 20):
            for third in (2, 3, 5, 12):
                given = _levels(*zip((first, second, third), amounts, strict=True))
                if len(given) >= 8:
                    assert _steps(given) == [first, first + second]


def test_steps_stay_when_versions_are_added() -> None:
    given = _levels((20, 3), (5, 5), (12, 7))
    for count in range(22, len(given) + 1):
        assert _steps(given[:count]) == ([20, 25] if count >= 27 else [20])


def test_the_levels_are_exact() -> None:
    (change,) = _scan(_levels((10, 3), (4, 5)))
    assert (change.ratio, change.low, change.high) == pytest.approx((5 / 3,) * 3, rel=1e-12)
    assert "level 3 ns → 5 ns" in change.evidence


def test_a_level_that_comes_back_is_undone() -> None:
    slower, back = _scan(_levels((12, 100), (6, 120), (8, 100)))
    assert (int(slower.target[:8]), int(back.target[:8])) == (12, 18)
    assert int(slower.undone[:8]) == 18


@pytest.mark.parametrize("before", [2, 5])
def test_three_versions_of_a_short_history_that_are_undone_are_told(before: int) -> None:
    for after in range(3, 12):
        assert _steps(_levels((before, 65.5), (3, 98.3), (after, 65.5))) == [before, before + 3]


def test_one_version_of_another_amount_is_no_level() -> None:
    """Neither within nor at the end; nor does it part the level around it."""
    amounts = _levels((10, 100), (1, 150), (10, 100), (10, 90), (1, 40), (10, 90), (1, 200))
    assert _steps(amounts) == [21]


def test_modes_in_any_order_are_no_levels() -> None:
    """Every version has one by chance. Of 800 histories at most 16 show any change."""
    alarms = 0
    for count in (12, 20, 40, 80):
        for seed in range(100):
            random = np.random.default_rng([seed, count])
            alarms += bool(_scan(random.choice([100.0, 104.0], count, p=[0.7, 0.3]).tolist()))
            alarms += bool(_scan(random.choice([100.0, 104.0], count, p=[0.9, 0.1]).tolist()))
    assert alarms <= 16


def test_amounts_are_exact_where_runs_agree_in_nearly_all_versions() -> None:
    agreeing = [[float(amount)] * 5 for amount in _levels((20, 100), (20, 110))]
    one_differs = [*agreeing[:7], [100.0, 100.0, 100.0, 100.0, 104.0], *agreeing[8:]]
    two_differ = [*agreeing[:7], [1.0, 2.0, 3.0, 4.0, 5.0], [2.0, 3.0, 4.0, 5.0, 6.0], *agreeing[9:]]
    for given in (agreeing, one_differs):
        found = exact.steps(Runs.of(given), 5.0)
        assert found is not None
        assert [(change.index, change.before, change.after) for change in found] == [(20, 100, 110)]
    assert exact.steps(Runs.of(two_differ), 5.0) is None
    single = exact.steps(Runs.of([[amount] for (amount, *_) in agreeing]), 5.0)
    assert single is not None
    assert [change.index for change in single] == [20]


@pytest.mark.parametrize("machines", [2, 3])
@pytest.mark.parametrize("beside", [False, True])
def test_what_is_the_same_on_all_machines_has_one_history(machines: int, beside: bool) -> None:
    """Also in a suite beside times, which differ between the machines."""
    levels = _levels((8, 3), (3, 5), (2, 7))
    environments = tuple("abc"[number % machines] * 40 for number in range(len(levels)))
    allocations = replace(series([[level] * RUNS for level in levels]), environments=environments)
    if beside:
        random = np.random.default_rng(1)
        slower = [1.0 + ord(environment[0]) for environment in environments]
        times = [(factor * (1 + 0.01 * random.normal(size=RUNS))).tolist() for factor in slower]
        check = ChangepointCheck(ChangepointSettings())
        changes, others = check.scan_many([allocations, replace(series(times), environments=environments)], {})
        assert {change.kind for change in others} == {"machine"}
    else:
        changes = ChangepointCheck(ChangepointSettings()).scan(allocations, None)[0]
    assert [(change.kind, int(change.target[:8])) for change in changes] == [("degradation", 8), ("degradation", 11)]


def test_a_step_that_comes_with_another_machine_may_be_that_of_the_machine() -> None:
    levels = _levels((10, 100), (10, 103))
    environments = tuple("ab"[number >= 10] * 40 for number in range(20))
    allocations = replace(series([[level] * RUNS for level in levels]), environments=environments)
    assert [c.kind for c in ChangepointCheck(ChangepointSettings()).scan(allocations, None)[0]] == ["machine"]
