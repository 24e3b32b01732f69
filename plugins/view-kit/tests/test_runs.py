"""Intervals of medians."""

from __future__ import annotations

import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st
from perfcore_view_kit.runs import COVERAGE, ENOUGH, band_text, median_interval, range_coverage


def test_few_runs_give_their_range_and_one_gives_none() -> None:
    assert median_interval([]) is None
    assert median_interval([3]) is None
    assert median_interval([3, 1, 2]) == (1, 3)
    assert range_coverage(3) == pytest.approx(0.75)


def test_the_first_number_of_runs_that_is_enough_is_known() -> None:
    assert range_coverage(ENOUGH) >= COVERAGE > range_coverage(ENOUGH - 1)


def test_the_ranks_are_those_of_the_tables() -> None:
    # Conover, Practical Nonparametric Statistics, table A3: for 20 runs the 6th and the 15th cover with 0.9586.
    assert median_interval(range(1, 21)) == (6, 15)
    assert median_interval(range(1, 11)) == (2, 9)


@pytest.mark.parametrize("count", [6, 9, 10, 25])
def test_the_interval_covers_the_median_as_often_as_it_says(count: int) -> None:
    chance = random.Random(count)
    covered = 0
    for _ in range(2000):
        interval = median_interval([chance.expovariate(1) for _ in range(count)])
        assert interval is not None
        covered += interval[0] <= 0.6931471805599453 <= interval[1]
    # Three standard errors of 2,000 draws below the coverage.
    assert covered / 2000 >= COVERAGE - 3 * (0.95 * 0.05 / 2000) ** 0.5


@given(st.lists(st.floats(-1e9, 1e9), min_size=2, max_size=60))
def test_the_interval_holds_the_median(values: list[float]) -> None:
    interval = median_interval(values)
    assert interval is not None
    assert interval[0] <= statistics.median(values) <= interval[1]


def test_the_band_is_named_with_its_coverage() -> None:
    assert band_text([1, 1]) == ""
    assert "at least 95 %." in band_text([8, 9])
    assert "with fewer than 6 runs it is their range (3 runs: 75 %)" in band_text([8, 3, 5])
    assert "less often than 95 % (2 runs: 50 %)" in band_text([2, 3])
