"""Many series on shared machines: what moves all of them is not the code."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pytest
from numpy.typing import NDArray
from perfcore_check_changepoint import Suite, detect, detect_many

STEPS = {0: (40, 1.08), 1: (70, 0.93), 2: (90, 1.05)}
REPLACED, SLOW = {50: 1.1, 85: 0.92}, (12, 13, 33, 61, 77, 101)


def _machine(versions: int) -> NDArray[np.float64]:
    """Replaced twice, and slow now and then."""
    machine = np.ones(versions)
    for place, factor in REPLACED.items():
        machine[place:] *= factor
    machine[list(SLOW)] *= 1.2
    return machine


def _suite(
    seed: int = 1, series: int = 30, versions: int = 110, steps: Mapping[int, tuple[int, float]] = STEPS
) -> list[list[float]]:
    random = np.random.default_rng(seed)
    made = []
    for number in range(series):
        noise = np.exp(random.normal(0, random.uniform(0.004, 0.015), versions))
        amounts = 10 ** random.uniform(-2, 2) * noise * _machine(versions) ** random.uniform(0.8, 1.2)
        if number in steps:
            amounts[steps[number][0] :] *= steps[number][1]
        made.append(amounts.tolist())
    return made


def _places(suite: Suite) -> dict[int, list[int]]:
    return {
        number: [change.index for change in changes if change.kind == "level"]
        for number, changes in enumerate(suite.changes)
        if changes
    }


def _right_and_wrong(suite: Suite) -> tuple[int, int]:
    """How many of the steps were found, and what else."""
    right = wrong = 0
    for number, places in _places(suite).items():
        for place in places:
            hit = number in STEPS and abs(place - STEPS[number][0]) <= 3
            right, wrong = right + hit, wrong + (not hit)
    return right, wrong


def test_changes_of_the_code_stay_and_those_of_the_machine_go() -> None:
    results = [_right_and_wrong(detect_many(_suite(seed))) for seed in range(4)]
    assert sum(right for right, _ in results) >= 11
    assert sum(wrong for _, wrong in results) <= 4


def test_without_the_others_the_machine_is_everywhere() -> None:
    alone = [len(detect(values)) for values in _suite()]
    assert sum(alone) > 40


def test_the_machine_is_told() -> None:
    machine = detect_many(_suite()).machine
    assert [change.index for change in machine.changes] == pytest.approx(sorted(REPLACED), abs=1)
    ratios = [change.after / change.before for change in machine.changes]
    assert ratios == pytest.approx([1.1, 0.92], abs=0.01)
    assert set(SLOW) <= set(machine.disturbed)
    assert len(machine.disturbed) <= len(SLOW) + 2
    assert len(machine.factor) == 110


def test_sizes_are_those_of_the_code() -> None:
    suite = detect_many(_suite())
    for number, (place, factor) in STEPS.items():
        (change,) = [c for c in suite.changes[number] if abs(c.index - place) <= 3]
        assert change.after / change.before == pytest.approx(factor, abs=0.015)
        assert change.before + change.low <= change.after <= change.before + change.high


def test_a_very_exact_series_is_not_taken_for_the_machine() -> None:
    """A counter is hundreds of times as exact as the times beside it, and the machine does not touch it."""
    suite = _suite(steps={})
    random = np.random.default_rng(9)
    suite.append([1e9 * (1 + 1e-6 * random.normal()) * (1.02 if i >= 60 else 1) for i in range(110)])
    found = detect_many(suite)
    assert _places(found).get(30) == [60]
    assert [change.index for change in found.machine.changes] == pytest.approx(sorted(REPLACED), abs=1)


def test_few_series_are_looked_at_one_by_one() -> None:
    suite = _suite(series=3)
    found = detect_many(suite)
    assert [[c.index for c in some] for some in found.changes] == [[c.index for c in detect(s)] for s in suite]
    assert found.machine.changes == ()


def test_what_is_missing_stays_missing() -> None:
    """Every series lacks other versions, some as NaN, some as no runs, and one has two runs of each."""
    suite: list[list[float | list[float]]] = [list(values) for values in _suite()]
    for number, values in enumerate(suite):
        for place in range(number % 7, 110, 7):
            values[place] = math.nan if number % 2 else []
    suite[5] = [[value, value * 1.001] if isinstance(value, float) else value for value in suite[5]]
    right, wrong = _right_and_wrong(detect_many(suite))
    assert right >= 2
    assert wrong <= 2


def test_the_more_series_the_surer_a_change_has_to_be() -> None:
    """Noise alone in 120 series: nearly every credible change is gone."""
    random = np.random.default_rng(3)
    noise = np.exp(random.normal(0, 0.02, (120, 100))).tolist()
    assert sum(map(len, detect_many(noise).changes)) <= 1


def test_amounts_of_zero_and_less_are_told_in_amounts() -> None:
    random = np.random.default_rng(3)
    suite = [
        (random.normal(0, 5, 80) + (30 if number == 2 else 0) * (np.arange(80) >= 40)).tolist() for number in range(8)
    ]
    found = detect_many(suite)
    ((change,),) = [changes for changes in found.changes if changes]
    assert change.index == 40
    assert change.size == pytest.approx(30, abs=5)


@pytest.mark.parametrize(
    "suite", [[], [[]], [[], []], [[1.0]] * 9, [[math.nan] * 9] * 9, [[5.0] * 9] * 9, [[1e308, -1e308] * 5] * 9]
)
def test_hopeless_suites_have_no_changes(suite: list[list[float]]) -> None:
    found = detect_many(suite)
    assert [list(changes) for changes in found.changes] == [[] for _ in suite]
    assert found.machine.changes == ()


def test_series_of_different_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="same length"):
        detect_many([[1.0, 2.0], [1.0]])
