"""How often comparisons that are looked at while they grow are wrong, and how soon they see a change, on synthetic
noise of many kinds. The seeds are fixed, so a failure is a change of the code and never bad luck.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import pytest
from perfcore_check_pair import PairCheck, PairSettings
from perfcore_check_pair.verdict import Question, decide
from perfcore_command_compare.sequential import looks, settles, shares
from perfcore_testing.check import measured, noisy, pairing

from perfcore.model import Change
from perfcore.model.record import replace

TRIALS, MOST = 1000, 42
SETTINGS = PairSettings(resamples=400)
Noise: TypeAlias = Callable[[np.random.Generator, int], np.ndarray]


def _normal(random: np.random.Generator, runs: int) -> np.ndarray:
    return random.normal(0, 0.01, runs)


def _skewed(random: np.random.Generator, runs: int) -> np.ndarray:
    return np.log1p(random.lognormal(-4, 1.2, runs))


def _spiky(random: np.random.Generator, runs: int) -> np.ndarray:
    return random.normal(0, 0.01, runs) + np.where(random.random(runs) < 0.15, 1.0, 0.0)


def _correlated(random: np.random.Generator, runs: int) -> np.ndarray:
    """A machine that drifts by 1 % a run, on which both sides stand."""
    return np.cumsum(random.normal(0, 0.01, runs)) + random.normal(0, 0.01, runs)


def _comparisons(noise: Noise, *, trials: int, band: float, factor: float = 1.0) -> Counter[tuple[str, int]]:
    """How many trials ended with which verdict at which number of pairs."""
    random = np.random.default_rng(7)
    runs = [5e6 * np.exp(noise(random, 2 * MOST)) for _ in range(trials)]
    found: Counter[tuple[str, int]] = Counter()
    planned = looks(MOST)
    for pairs, share in zip(planned, shares(len(planned)), strict=True):
        settings = replace(SETTINGS, alpha=SETTINGS.alpha * share, confidence=1 - 0.05 * share)
        going = []
        for amounts in runs:
            sides = _in_turn(amounts[: 2 * pairs])
            verdict = decide(
                Question(baseline=sides[0], target=sides[1] * factor, paired=True, threshold=band), settings
            )
            change = Change(id="", metric="cpu", kind=verdict.kind, low=verdict.low, high=verdict.high)
            if pairs == MOST or settles(change, band):
                found[verdict.kind, pairs] += 1
            else:
                going.append(amounts)
        runs = going
    return found


def _in_turn(amounts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """ABBA."""
    blocks = amounts.reshape(-1, 2).copy()
    blocks[1::2] = blocks[1::2, ::-1]
    return blocks[:, 0], blocks[:, 1]


@pytest.mark.parametrize("noise", [_normal, _skewed, _spiky, _correlated])
def test_false_alarms_of_all_looks_together_stay_below_alpha_even_without_a_band(noise: Noise) -> None:
    found = _comparisons(noise, trials=TRIALS, band=0.0)
    wrong = sum(count for (kind, _), count in found.items() if kind in ("degradation", "optimization"))
    assert found.total() == TRIALS
    assert 0 < wrong <= 0.05 * TRIALS


def test_looking_without_sharing_would_be_wrong_too_often() -> None:
    """What the rule is there for: at 5 % each, the same looks at the same noise alarm more often than allowed."""
    random = np.random.default_rng(7)
    settings = PairSettings(resamples=400)
    wrong = 0
    for _ in range(300):
        amounts = 5e6 * np.exp(_normal(random, 2 * MOST))
        questions = [
            Question(baseline=sides[0], target=sides[1], paired=True, threshold=0.0)
            for sides in (_in_turn(amounts[: 2 * pairs]) for pairs in looks(MOST))
        ]
        wrong += any(decide(question, settings).kind in ("degradation", "optimization") for question in questions)
    assert wrong > 0.065 * 300


def test_equal_programs_are_called_the_same_and_different_ones_never() -> None:
    same = _comparisons(_normal, trials=200, band=0.01)
    assert sum(count for (kind, _), count in same.items() if kind == "same") >= 0.9 * 200
    apart = _comparisons(_normal, trials=200, band=0.01, factor=1.02)
    assert sum(count for (kind, _), count in apart.items() if kind == "same") == 0
    assert sum(count for (kind, _), count in apart.items() if kind == "degradation") >= 0.95 * 200


def test_a_large_difference_needs_the_fewest_pairs() -> None:
    assert _comparisons(_normal, trials=100, band=0.01, factor=1.1) == {("degradation", 12): 100}


def test_a_part_of_the_chance_makes_the_verdict_surer() -> None:
    sides = [measured(noisy(center, seed, runs=12), session="s") for seed, center in ((1, 5e6), (2, 5.05e6))]
    whole = PairCheck(PairSettings()).compare(pairing(*sides))[0]
    part = PairCheck(PairSettings()).compare(replace(pairing(*sides), share=0.1))[0]
    assert whole.p_value == part.p_value
    assert part.confidence == pytest.approx(0.995)
    assert whole.low is not None
    assert whole.high is not None
    assert part.low is not None
    assert part.high is not None
    assert part.low < whole.low
    assert part.high > whole.high


def test_it_says_how_many_pairs_would_tell() -> None:
    sides = [measured(noisy(5e6, seed, runs=12, spread=0.05), session="s") for seed in (1, 2)]
    change = PairCheck(PairSettings()).compare(pairing(*sides))[0]
    assert change.kind == "cannot tell"
    assert change.needed is not None
    assert f"about {change.needed:,} interleaved pairs would tell" in change.evidence
    more = [measured(noisy(5e6, seed, runs=4 * change.needed, spread=0.05), session="s") for seed in (1, 2)]
    decided = PairCheck(PairSettings()).compare(pairing(*more))[0]
    assert (decided.kind, decided.needed) == ("same", None)


def test_the_metric_that_the_user_chose_decides() -> None:
    sides = [measured({"cpu": noisy(5e6, s), "pages": [7.0 * s] * 20}, session="s") for s in (1, 2)]
    assert {c.metric: c.primary for c in PairCheck(PairSettings()).compare(pairing(*sides))} == {
        "cpu": True,
        "pages": False,
    }
    chosen = PairCheck(PairSettings()).compare(replace(pairing(*sides), metric="pages"))
    assert {c.metric: c.primary for c in chosen} == {"cpu": False, "pages": True}
    assert chosen[1].ratio == pytest.approx(2)
    assert not math.isnan(chosen[1].ratio or math.nan)
