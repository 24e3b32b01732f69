"""What is told of the runs of a profile, by runs whose summary is known."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from perfcore_testing import profiles

from perfcore.measure.collect_result import Summary, disturbed, per_run, summarize
from perfcore.model import Profile
from perfcore.profile.recording import RUNS
from perfcore.profile.table import ColumnSpec, TableBuilder


def measured(*values: float | None, runs: list[int] | None = None) -> Profile:
    """One row of `wall` a run, or rows of these runs."""
    table = TableBuilder(
        "resources", (ColumnSpec("run", "i64", role="order"), ColumnSpec("wall", "f64", "ns", "value"))
    )
    for run, value in zip(runs or range(len(values)), values, strict=True):
        table.add(run=run, wall=value)
    return profiles.profile({"resources": table.build()})


def summary(*values: float | None, runs: list[int] | None = None) -> Summary:
    (found,) = summarize(measured(*values, runs=runs))
    return found


def test_the_middle_the_spread_and_the_ends() -> None:
    assert summary(30, 10, 20, 50, 40) == Summary(
        metric="wall", unit="ns", runs=5, median=30, low=10, high=50, spread=20 / 30, outliers=0
    )


def test_an_outlier_lies_three_quartile_ranges_beyond_the_quartiles() -> None:
    assert summary(10, 10, 12, 14, 14, 27, -3).outliers == 2
    assert summary(10, 10, 12, 14, 14, 26, -2).outliers == 0


def test_four_runs_have_no_outliers() -> None:
    assert summary(10, 10, 10, 1000).outliers == 0
    assert summary(10, 10, 10, 10, 1000).outliers == 1


def test_one_run_has_no_spread_to_speak_of() -> None:
    assert summary(7) == Summary(metric="wall", unit="ns", runs=1, median=7, low=7, high=7, spread=0, outliers=0)


def test_a_median_of_zero_has_no_relative_spread() -> None:
    assert summary(0, 0, 0, 5).spread is None


def test_rows_of_one_run_are_added_up() -> None:
    found = summary(1, 2, 30, 4, runs=[0, 0, 1, 0])
    assert (found.runs, found.low, found.high) == (2, 7, 30)


def test_missing_is_never_zero() -> None:
    found = summary(None, 10, None, 12)
    assert (found.runs, found.low, found.median) == (2, 10, 11)
    assert summarize(measured(None, None)) == []


def test_what_is_no_number_is_no_value() -> None:
    """Among others it would also spoil their order, and with it the median."""
    nan = float("nan")
    assert summary(3, nan, 1, nan, 2) == summary(3, 1, 2)
    assert summarize(measured(nan, nan)) == []


def test_every_value_column_is_summed_up_and_no_other() -> None:
    assert [found.metric for found in summarize(profiles.timed(runs=3))] == ["wall", "cpu", "max_rss", "switches"]


def test_a_profile_without_resources_has_nothing_to_tell() -> None:
    assert summarize(profiles.profile({})) == []
    assert disturbed(profiles.profile({})) == (0, 0)


def test_a_column_without_runs_counts_by_rows() -> None:
    table = TableBuilder("resources", (ColumnSpec("wall", "f64", "ns", "value"),))
    for value in (1.0, None, 3.0):
        table.add(wall=value)
    built = table.build()
    assert per_run(built, built["wall"]) == [1.0, 3.0]


@pytest.mark.parametrize(
    ("runs", "expected"),
    [
        ([], (0, 0)),
        ([(False, False), (True, False)], (1, 2)),
        ([(True, True), (True, False), (False, False)], (1, 2)),
    ],
    ids=["none", "one of two", "warm-ups do not count"],
)
def test_disturbed_runs_among_those_that_count(runs: list[tuple[bool, bool]], expected: tuple[int, int]) -> None:
    table = TableBuilder("runs", RUNS)
    for number, (bothered, warmup) in enumerate(runs):
        table.add(run=number, disturbed=bothered, warmup=warmup)
    assert disturbed(profiles.profile({"runs": table.build()})) == expected


@given(st.lists(st.integers(1, 2**40), min_size=1, max_size=40), st.randoms())
def test_the_order_of_runs_changes_nothing(values: list[int], random: object) -> None:
    shuffled = list(values)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    found = summary(*values)
    assert found == summary(*shuffled)
    assert found.low <= found.median <= found.high
    assert 0 <= found.outliers < len(values)
