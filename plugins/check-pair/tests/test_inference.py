"""The tests against SciPy's, against counting out every case, and the intervals against the truth."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest
from perfcore_check_pair.inference import (
    Array,
    compare_groups,
    compare_pairs,
    fewest_pairs,
    fewest_runs,
    midmean,
    rank_sum,
    signed_rank,
    student_quantile,
)
from scipy import stats


@pytest.mark.parametrize("size", [1, 2, 5, 6, 12, 30, 50])
def test_signed_rank_is_scipys_where_nothing_is_tied(size: int) -> None:
    random = np.random.default_rng(size)
    for shift in (0.0, 0.3, 1.0):
        differences = random.normal(shift, 1, size)
        assert signed_rank(differences) == pytest.approx(stats.wilcoxon(differences, method="exact").pvalue)


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 5, 12])
def test_quantiles_of_student_are_scipys(freedom: int) -> None:
    for confidence in (0.5, 0.95, 0.999):
        assert student_quantile(confidence, freedom) == pytest.approx(stats.t.ppf((1 + confidence) / 2, freedom))


def test_signed_rank_of_many_pairs_is_close_to_normal() -> None:
    differences = np.random.default_rng(1).normal(0.1, 1, 400)
    expected = stats.wilcoxon(differences, method="asymptotic", correction=True).pvalue
    assert signed_rank(differences) == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(8))
def test_signed_rank_counts_out_ties(seed: int) -> None:
    """Every assignment of signs to the tied ranks is as likely; pairs without a difference are dropped."""
    differences = np.random.default_rng(seed).integers(-3, 4, 9).astype(float)
    ranks = stats.rankdata(np.abs(differences[differences != 0]))
    signs = np.array(list(itertools.product([0, 1], repeat=len(ranks))))
    sums = signs @ ranks
    observed = ranks[differences[differences != 0] > 0].sum()
    expected = min(1.0, 2 * min((sums <= observed).mean(), (sums >= observed).mean()))
    assert signed_rank(differences) == pytest.approx(expected)


@pytest.mark.parametrize(("first", "second"), [(1, 1), (2, 5), (6, 6), (12, 12), (20, 9)])
def test_rank_sum_is_scipys_where_nothing_is_tied(first: int, second: int) -> None:
    random = np.random.default_rng(first)
    baseline, target = random.normal(0, 1, first), random.normal(0.7, 1, second)
    expected = stats.mannwhitneyu(baseline, target, method="exact").pvalue
    assert rank_sum(baseline, target) == pytest.approx(expected)


def test_rank_sum_of_many_runs_is_close_to_normal_also_with_ties() -> None:
    random = np.random.default_rng(2)
    baseline, target = random.integers(0, 9, 300).astype(float), random.integers(0, 10, 200).astype(float)
    expected = stats.mannwhitneyu(baseline, target, method="asymptotic").pvalue
    assert rank_sum(baseline, target) == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(8))
def test_rank_sum_counts_out_ties(seed: int) -> None:
    values = np.random.default_rng(seed).integers(0, 4, 9).astype(float)
    ranks = stats.rankdata(values)
    sums = np.array([ranks[list(chosen)].sum() for chosen in itertools.combinations(range(9), 4)])
    observed = ranks[:4].sum()
    expected = min(1.0, 2 * min((sums <= observed).mean(), (sums >= observed).mean()))
    assert rank_sum(values[:4], values[4:]) == pytest.approx(expected)


def test_without_differences_nothing_is_significant() -> None:
    assert signed_rank(np.zeros(12)) == 1.0
    assert signed_rank(np.zeros(400)) == 1.0
    assert rank_sum(np.ones(12), np.ones(12)) == 1.0
    assert rank_sum(np.ones(400), np.ones(400)) == 1.0


@pytest.mark.parametrize("alpha", [0.05, 0.01, 0.001])
def test_fewest_is_where_significance_begins(alpha: float) -> None:
    pairs, runs = fewest_pairs(alpha), fewest_runs(alpha)
    assert signed_rank(np.arange(1.0, pairs + 1)) < alpha
    assert signed_rank(np.arange(1.0, pairs)) >= alpha
    assert rank_sum(np.arange(runs * 1.0), np.arange(runs * 1.0) + runs) < alpha
    assert rank_sum(np.arange(runs - 1.0), np.arange(runs - 1.0) + runs) >= alpha


def test_midmean_ignores_outliers() -> None:
    assert midmean(np.array([1.0, 2.0, 3.0, 4.0])) == 2.5
    assert midmean(np.array([1.0, 2.0, 3.0, 1e9])) == 2.5
    assert midmean(np.array([7.0])) == 7.0


@pytest.mark.parametrize(("size", "least"), [(6, 0.85), (8, 0.90), (12, 0.91), (30, 0.92)])
@pytest.mark.parametrize("noise", ["normal", "heavy tails", "two modes"])
def test_intervals_of_pairs_hold_the_truth(size: int, least: float, noise: str) -> None:
    """A percentile bootstrap of few pairs is a little too narrow; `least` is what 95 % come to, less 3 sigma."""
    random = np.random.default_rng(size)
    draw: Callable[[], Array] = {
        "normal": lambda: random.normal(0.1, 1, size),
        "heavy tails": lambda: 0.1 + random.standard_t(3, size),
        "two modes": lambda: 0.1 + random.normal(0, 0.3, size) + 3 * (random.choice([-1, 0, 0, 1], size)),
    }[noise]
    estimates = [compare_pairs(draw(), 0.95, 1000) for _ in range(600)]
    assert np.mean([estimate.low <= 0.1 <= estimate.high for estimate in estimates]) > least


@pytest.mark.parametrize(("first", "second", "least"), [(5, 5, 0.83), (6, 9, 0.85), (12, 12, 0.90), (30, 10, 0.88)])
def test_intervals_of_groups_hold_the_truth(first: int, second: int, least: float) -> None:
    random = np.random.default_rng(first)
    estimates = [
        compare_groups(random.normal(0, 1, first), random.normal(0.5, 1, second), 0.95, 1000) for _ in range(600)
    ]
    assert np.mean([estimate.low <= 0.5 <= estimate.high for estimate in estimates]) > least


def test_intervals_mirror_exactly() -> None:
    random = np.random.default_rng(4)
    baseline, target = random.normal(0, 1, 11), random.normal(0.5, 1, 11)
    pairs, mirrored = compare_pairs(target - baseline, 0.95, 500), compare_pairs(baseline - target, 0.95, 500)
    assert (mirrored.low, mirrored.high) == pytest.approx((-pairs.high, -pairs.low), abs=1e-12)
    groups, swapped = compare_groups(baseline, target, 0.95, 500), compare_groups(target, baseline, 0.95, 500)
    assert (swapped.low, swapped.high) == pytest.approx((-groups.high, -groups.low), abs=1e-12)


def test_groups_of_one_size_are_resampled_independently() -> None:
    """The interval of two equal groups is as wide as theory says, not nothing."""
    values = np.random.default_rng(5).normal(0, 1, 40)
    estimate = compare_groups(values, values, 0.95, 4000)
    alone = compare_pairs(values, 0.95, 4000)
    assert estimate.high - estimate.low == pytest.approx(2**0.5 * (alone.high - alone.low), rel=0.1)
