"""Loops and values, with a clock of the test's own: nothing is measured here."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from perfcore_collect_bench.worker.speed import loop_time
from perfcore_collect_bench.worker.timing import (
    DROPPED,
    MOST_LOOPS,
    VALUE_TIME,
    VALUES,
    Plan,
    Value,
    calibrate,
    fits,
    plan,
    values,
)

MS = 1_000_000


def takes(call: float, cpu: float | None = 1.0, seen: list[int] | None = None) -> Callable[[int], Value]:
    """A benchmark of which a call takes so many ns of wall time, and this share of it as CPU time."""

    def take(loops: int) -> Value:
        if seen is not None:
            seen.append(loops)
        return Value(call * loops, None if cpu is None else cpu * call * loops)

    return take


@pytest.mark.parametrize("call", [20, 300, 5_000, 1 * MS, 1.5 * MS])
def test_a_value_takes_two_milliseconds(call: float) -> None:
    made = calibrate(takes(call), value_time=VALUE_TIME)
    assert made.loops * call == pytest.approx(VALUE_TIME, rel=0.5)
    assert (made.dropped, made.values) == (DROPPED, VALUES)
    assert made.wall == pytest.approx(call)


@pytest.mark.parametrize(
    ("milliseconds", "dropped", "values"),
    [(6, 2, 10), (90, 2, 9), (150, 1, 5), (300, 1, 2), (900, 1, 1), (5000, 1, 1)],
)
def test_slow_benchmarks_have_less_values(milliseconds: int, dropped: int, values: int) -> None:
    made = calibrate(takes(milliseconds * MS), value_time=VALUE_TIME)
    assert made[:3] == (1, dropped, values)


def test_a_slow_setup_counts_for_the_number_of_values() -> None:
    assert plan(1000, Value(5000.0, None), elapsed=400 * MS).values == 1


def test_a_suite_may_give_loops_and_values() -> None:
    seen: list[int] = []
    assert calibrate(takes(1000, seen=seen), value_time=VALUE_TIME, loops=7, values=3)[:3] == (7, DROPPED, 3)
    assert seen == [7]


def test_a_clock_that_stands_ends_the_calibration() -> None:
    assert calibrate(takes(0), value_time=VALUE_TIME).loops <= MOST_LOOPS * VALUE_TIME


def test_calibration_ends_soon() -> None:
    seen: list[int] = []
    calibrate(takes(20, seen=seen), value_time=VALUE_TIME)
    assert len(seen) <= 9


@pytest.mark.parametrize(
    ("ratio", "expected"), [(1, True), (3.9, True), (0.26, True), (4.1, False), (0.24, False), (1000, False)]
)
@pytest.mark.parametrize("cpu", [None, 1.0, 0.01])
def test_a_plan_fits_a_call_of_up_to_four_times_the_length(ratio: float, expected: bool, cpu: float | None) -> None:
    made = calibrate(takes(1000, cpu), value_time=VALUE_TIME)
    assert fits(takes(1000 * ratio, cpu), made) is expected


def test_a_plan_fits_what_only_waits_for_a_cpu() -> None:
    made = calibrate(takes(1000), value_time=VALUE_TIME)
    assert fits(takes(8000, cpu=1 / 8), made)


def test_a_call_that_is_far_too_slow_is_not_repeated_by_a_plan() -> None:
    seen: list[int] = []
    made = Plan(loops=5000, dropped=2, values=5, wall=1000.0, cpu=1000.0)
    assert not fits(takes(100 * MS, seen=seen), made)
    assert seen == [1, 1]


def test_a_relative_time_is_that_of_the_loop_just_before_and_after(monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine is half as fast from the second value on, and what is measured is as well."""
    speeds = iter([1000.0, 1000.0, 2000.0, 2000.0])
    lasted: list[float] = []

    def loop_time(value_time: float) -> float:
        lasted.append(value_time)
        return next(speeds)

    monkeypatch.setattr("perfcore_collect_bench.worker.timing.loop_time", loop_time)
    totals = iter([Value(50.0, 40.0), Value(100.0, 80.0), Value(150.0, 120.0), Value(200.0, 160.0)])
    given = Plan(2, 1, 3, 25.0, 20.0)._asdict()
    measured = values(lambda loops: next(totals), given, adapt=False, calibrated=lambda: Plan.of(given))
    assert measured["cpu"] == [40.0, 60.0, 80.0]
    assert measured["relative"] == [0.04, 0.04, 0.04]
    assert lasted == [50.0] * 4


def test_a_time_without_cpu_time_is_relative_to_nothing() -> None:
    given = Plan(1, 0, 2, 5.0, None)
    measured = values(lambda loops: Value(5.0, None), given._asdict(), adapt=False, calibrated=lambda: given)
    assert measured["relative"] == [None, None]


def test_the_loop_takes_time() -> None:
    assert 0 < loop_time(VALUE_TIME) < 1e9
