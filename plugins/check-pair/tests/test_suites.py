"""What the benchmarks of a suite share in each pair does not hide what one of them does by itself."""

from __future__ import annotations

import math

import numpy as np
import pytest
from perfcore_check_pair import PairCheck, PairSettings
from perfcore_testing.check import measured, pairing

from perfcore.model import Change, Pairing
from perfcore.model.record import replace

SUITES = range(200, 212)


def _suite(
    seed: int, benchmarks: int = 12, pairs: int = 10, shared: float = 0.1, changed: int = 1, size: float = 0.1
) -> list[Pairing]:
    """The first benchmarks change; all benchmarks of a run share a factor, with a standard deviation of `shared`."""
    random = np.random.default_rng([seed, benchmarks, pairs])
    factor = shared * random.standard_normal((2, pairs))
    suite: list[Pairing] = []
    for number in range(benchmarks):
        logarithms = factor + random.uniform(0.01, 0.03) * random.standard_t(4, (2, pairs)) / math.sqrt(2)
        logarithms[1] += math.log1p(size) if number < changed else 0.0
        sides = (measured(side.tolist(), session="session") for side in 1e5 * (number + 1) * np.exp(logarithms))
        suite.append(replace(pairing(*sides), benchmark=f"benchmark{number}", comparisons=benchmarks))

    def whole() -> list[Pairing]:
        return suite

    return [replace(of_benchmark, suite=whole) for of_benchmark in suite]


def _verdicts(suite: list[Pairing]) -> list[Change]:
    check = PairCheck(PairSettings())
    return [change for of_benchmark in suite for change in check.compare(of_benchmark)]


def _kinds(suite: list[Pairing]) -> list[str]:
    return [change.kind for change in _verdicts(suite)]


def _width(change: Change) -> float:
    return (change.high or math.inf) / (change.low or math.nan)


@pytest.mark.parametrize("shared", [0.05, 0.1])
def test_a_change_of_one_benchmark_shows_though_whole_runs_are_slow(shared: float) -> None:
    suites = [_suite(seed, shared=shared) for seed in SUITES]
    assert sum(_kinds(suite[:1]) == ["degradation"] for suite in suites) >= 0.8 * len(suites)


def test_the_amounts_agree_with_the_ratio_and_the_evidence_says_what_was_taken_out() -> None:
    suite = _suite(201)
    alone, together = _verdicts([replace(suite[0], suite=tuple), suite[0]])
    assert together.baseline_value is not None
    assert together.target_value is not None
    assert together.target_value / together.baseline_value == pytest.approx(together.ratio)
    assert "without what the 12 benchmarks of the suite share in each pair" in together.evidence
    assert _width(together) < _width(alone)
    assert (together.low or 0) < 1.1 < (together.high or 0)


def test_suites_without_a_change_rarely_have_a_verdict() -> None:
    kinds = [set(_kinds(_suite(seed, changed=0, pairs=12))) for seed in SUITES]
    assert sum("degradation" in suite or "optimization" in suite for suite in kinds) <= 2


def test_a_benchmark_is_not_called_unchanged_where_its_whole_suite_may_have_changed() -> None:
    """By themselves they stay, and how the suite moved is not known to within the threshold."""
    verdicts = [change for seed in SUITES for change in _verdicts(_suite(seed, changed=12, size=0.05, pairs=40))]
    assert not [change for change in verdicts if change.kind in ("same", "optimization")]
    assert {change.reason.split(":")[0] for change in verdicts if "whole suite" in change.reason}


def test_a_change_of_the_whole_suite_is_reported_for_its_benchmarks() -> None:
    (suite, *_) = [_suite(seed, changed=12, shared=0.01) for seed in SUITES]
    assert _kinds(suite) == ["degradation"] * 12


@pytest.mark.parametrize("benchmarks", [2, 5])
def test_few_benchmarks_are_compared_as_they_were_measured(benchmarks: int) -> None:
    """The one that changed would be a large part of what they share."""
    suite = _suite(203, benchmarks=benchmarks)
    alone = [replace(of_benchmark, suite=tuple) for of_benchmark in suite]
    assert _verdicts(suite) == _verdicts(alone)


def test_what_the_benchmarks_do_not_share_changes_nothing() -> None:
    suites = [_suite(seed, shared=0.0) for seed in SUITES]
    differing = sum("share in each pair" in change.evidence for suite in suites for change in _verdicts(suite))
    assert differing <= 2 * 12, "in at most 2 of 12 suites"
