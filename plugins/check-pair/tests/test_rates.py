"""How often the check is wrong and how often it sees a change, on synthetic noise of many kinds.

The seeds are fixed, so a failure is a change of the code and never bad luck.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import pytest
from perfcore_check_pair import PairCheck, PairSettings
from perfcore_testing.check import measured, pairing

TRIALS = 250
Generator: TypeAlias = Callable[[np.random.Generator, int], np.ndarray]


def _quiet(random: np.random.Generator, runs: int) -> np.ndarray:
    return 5e6 * np.exp(random.normal(0, 0.01, runs))


def _normal(random: np.random.Generator, runs: int) -> np.ndarray:
    return 5e6 * np.exp(random.normal(0, 0.03, runs))


def _skewed(random: np.random.Generator, runs: int) -> np.ndarray:
    return 5e6 * (1 + random.lognormal(-4, 1.2, runs))


def _drifting(random: np.random.Generator, runs: int) -> np.ndarray:
    """A machine that warms up and cools down: a random walk of 1 % a run on which both sides stand."""
    return 5e6 * np.exp(np.cumsum(random.normal(0, 0.01, runs)) + random.normal(0, 0.01, runs))


def _quantised(random: np.random.Generator, runs: int) -> np.ndarray:
    """A clock of 10 ms that reads 50 or 60 ms."""
    return np.round(random.normal(55e6, 4e6, runs) / 1e7) * 1e7


def _bimodal(random: np.random.Generator, runs: int) -> np.ndarray:
    return 5e6 * np.where(random.random(runs) < 0.4, 1.2, 1.0) * np.exp(random.normal(0, 0.01, runs))


def _spiky(random: np.random.Generator, runs: int) -> np.ndarray:
    return 5e6 * np.exp(random.normal(0, 0.01, runs)) * np.where(random.random(runs) < 0.15, 3.0, 1.0)


def _heavy_tailed(random: np.random.Generator, runs: int) -> np.ndarray:
    """Tails as of Student's t with 2 degrees of freedom."""
    return 5e6 * np.exp(0.01 * random.standard_t(2, runs))


NOISES: list[Generator] = [_normal, _skewed, _drifting, _quantised, _bimodal, _spiky]


def _kinds(
    noise: Generator, *, runs: int = 12, factor: float = 1.0, in_turn: bool = True, threshold: float = 0.02
) -> dict[str, float]:
    """The share of each verdict."""
    check = PairCheck(PairSettings(resamples=600, threshold=threshold))
    random = np.random.default_rng([runs, int(factor * 100), in_turn])
    kinds: list[str] = []
    for _ in range(TRIALS):
        amounts = noise(random, 2 * runs)
        first, second = (amounts[0::2], amounts[1::2]) if in_turn else (amounts[:runs], amounts[runs:])
        later = 0 if in_turn else runs
        sides = [
            measured(list(side), session="s", first_block=block)
            for side, block in ((first, 0), (second * factor, later))
        ]
        kinds.append(check.compare(pairing(*sides))[0].kind)
    return {kind: kinds.count(kind) / TRIALS for kind in ("degradation", "optimization", "same", "cannot tell")}


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("runs", [6, 12, 40])
def test_false_alarms_in_turn_stay_below_alpha_even_without_a_threshold(noise: Generator, runs: int) -> None:
    kinds = _kinds(noise, runs=runs, threshold=0.0)
    assert kinds["degradation"] + kinds["optimization"] <= 0.05 + 3 * (0.05 * 0.95 / TRIALS) ** 0.5
    assert kinds["degradation"] < 0.05


@pytest.mark.parametrize("noise", [_quiet, _skewed, _drifting])
def test_false_alarms_with_the_threshold_are_rare_where_noise_is_moderate(noise: Generator) -> None:
    assert _kinds(noise, runs=20)["degradation"] <= 0.02


@pytest.mark.parametrize("noise", [_normal, _skewed, _bimodal, _spiky])
def test_false_alarms_in_blocks_without_drift_are_rare(noise: Generator) -> None:
    kinds = _kinds(noise, in_turn=False)
    assert kinds["degradation"] <= 0.01


def test_false_alarms_in_blocks_with_drift_are_few() -> None:
    """The machine moves by 5 % from block to block; a rank-sum test alone calls most of that a change."""

    def shifted(random: np.random.Generator, runs: int) -> np.ndarray:
        levels = np.repeat(np.exp(random.normal(0, 0.035, 2)), runs // 2)
        return 5e6 * levels * np.exp(random.normal(0, 0.01, runs))

    kinds = _kinds(shifted, in_turn=False)
    assert kinds["degradation"] <= 0.05


@pytest.mark.parametrize(("factor", "threshold", "least"), [(1.02, 0.0, 0.83), (1.05, 0.02, 0.97), (1.10, 0.02, 1.0)])
def test_power_in_turn(factor: float, threshold: float, least: float) -> None:
    """Noise of 1.5 % a run, 12 pairs, on a drifting machine."""

    def noise(random: np.random.Generator, runs: int) -> np.ndarray:
        return 5e6 * np.exp(np.cumsum(random.normal(0, 0.005, runs)) + random.normal(0, 0.013, runs))

    kinds = _kinds(noise, factor=factor, threshold=threshold)
    assert kinds["degradation"] >= least
    assert kinds["optimization"] == 0


def test_power_in_blocks() -> None:
    """+20 % is seen in spite of the allowance for drift, +5 % never."""

    def noise(random: np.random.Generator, runs: int) -> np.ndarray:
        return 5e6 * np.exp(random.normal(0, 0.015, runs))

    assert _kinds(noise, factor=1.2, in_turn=False)["degradation"] >= 0.97
    assert _kinds(noise, factor=1.05, in_turn=False)["degradation"] == 0


@pytest.mark.parametrize("noise", [*NOISES, _heavy_tailed])
@pytest.mark.parametrize("runs", [4, 5])
def test_few_pairs_are_seldom_called_different_even_without_a_threshold(noise: Generator, runs: int) -> None:
    kinds = _kinds(noise, runs=runs, threshold=0.0)
    # All of 4 runs beyond all of 4 others is one of 35 orders in either direction.
    assert kinds["degradation"] + kinds["optimization"] <= 1 / 35


def test_equal_programs_are_called_same_where_noise_allows() -> None:
    assert _kinds(_quiet)["same"] >= 0.9
    assert _kinds(_quiet, in_turn=False)["same"] >= 0.9
    assert _kinds(_quiet, factor=1.05)["same"] == 0


@pytest.mark.parametrize("runs", [3, 4, 5])
@pytest.mark.parametrize("in_turn", [True, False])
def test_few_runs_show_a_large_change_and_call_no_more_than_5_percent_different(runs: int, in_turn: bool) -> None:
    """Three runs a side have p = 2 / 20 at best, whatever they say."""
    same = _kinds(_normal, runs=runs, in_turn=in_turn)
    assert same.get("degradation", 0) + same.get("optimization", 0) <= 0.05
    slower = _kinds(_normal, runs=runs, factor=1.86, in_turn=in_turn).get("degradation", 0)
    assert slower == (0 if runs == 3 else 1)
