"""Many series on shared machines: what moves all of them is not the code."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

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


@pytest.mark.parametrize("series", [2, 3, 4, 5])
def test_few_series_are_enough_to_tell_the_machine_from_the_code(series: int) -> None:
    """Each of them alone shows the machine's two steps as well."""
    steps = {0: (40, 1.08)}
    right = wrong = 0
    for seed in range(4):
        for number, places in _places(detect_many(_suite(seed, series, steps=steps))).items():
            hits = sum(number == 0 and abs(place - 40) <= 3 for place in places)
            right, wrong = right + hits, wrong + len(places) - hits
    assert right >= 3
    assert wrong <= 2


def test_a_step_that_most_of_few_series_show_is_told_once() -> None:
    machine = detect_many(_suite(2, 3, steps={})).machine
    assert [change.index for change in machine.changes] == pytest.approx(sorted(REPLACED), abs=1)
    assert all(2 * len(moved) > count == 3 for moved, count in zip(machine.moved, machine.measured, strict=True))


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


def test_one_series_is_looked_at_by_itself() -> None:
    suite = _suite(series=1)
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


def _small(
    factors: Callable[[int, int], float], series: int = 10, seed: int = 1, versions: int = 24
) -> list[list[list[float]]]:
    """Commands of which one differs from the next by little, each run five times: `factors(series, version)`."""
    random = np.random.default_rng(seed)
    return [
        [random.normal((100 + 10 * number) * factors(number, version), 1, 5).tolist() for version in range(versions)]
        for number in range(series)
    ]


def _ratios(suite: Suite) -> dict[int, list[float]]:
    ratios = [[c.after / c.before if c.before else math.inf for c in changes] for changes in suite.changes]
    return {number: of_series for number, of_series in enumerate(ratios) if of_series}


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize(("slower", "series"), [(3, 10), (4, 10), (3, 7), (2, 6)])
def test_where_most_series_stay_nothing_is_the_machine(slower: int, series: int, seed: int) -> None:
    found = detect_many(_small(lambda i, v: 1.2 if i < slower and v >= 12 else 1, series, seed))
    assert _places(found) == {number: [12] for number in range(slower)}
    assert [*_ratios(found).values()] == [[pytest.approx(1.2, abs=0.02)]] * slower
    assert found.machine.changes == ()


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize(("slower", "series"), [(5, 10), (3, 6), (10, 20)])
def test_what_half_of_a_suite_shows_at_once_is_one_step(slower: int, series: int, seed: int) -> None:
    """It may be a machine that measures these, so it is no change of each; another change in that half stays."""
    found = detect_many(
        _small(lambda i, v: (1.1 if i < slower and v >= 12 else 1) * (1.2 if i == 0 and v >= 6 else 1), series, seed)
    )
    assert _places(found) == {0: [6]}
    assert [change.index for change in found.machine.changes] == [12]
    assert (found.machine.moved, found.machine.measured) == ((tuple(range(slower)),), (series,))


def test_changes_in_neighbouring_versions_are_several() -> None:
    found = detect_many(_small(lambda i, v: 1.2 if i < 3 and v >= 11 + i else 1))
    assert _places(found) == {0: [11], 1: [12], 2: [13]}
    assert found.machine.changes == ()


@pytest.mark.parametrize("factors", [(1.5, 1.5), (1.5, 1.3)])
@pytest.mark.parametrize(("still", "second"), [(0, 22), (0, 25), (1, 21), (1, 22), (1, 25)])
def test_what_comes_with_one_version_and_the_next_is_no_step_of_the_machine(
    still: int, second: int, factors: tuple[float, float]
) -> None:
    """Two benchmarks of two or three, each of which one version made slower, were "the machine" within three versions
    of each other, and no regression."""
    right = 0
    for seed in range(10):
        noise = 0.01 * np.random.default_rng([seed, 41]).standard_normal((2 + still, 40))
        levels = [np.where(np.arange(40) < at, 100.0, 100.0 * f) for at, f in zip((20, second), factors, strict=True)]
        suite = detect_many((np.array([*levels, *[np.full(40, 100.0)] * still]) * np.exp(noise)).tolist())
        right += _places(suite) == {0: [20], 1: [second]}
    assert right >= 7


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_what_a_series_moves_by_beyond_the_machine_is_its_own(seed: int) -> None:
    """All by 10 %, three of them by another 20 %."""
    found = detect_many(_small(lambda i, v: (1.1 if v >= 12 else 1) * (1.2 if i < 3 and v >= 12 else 1), seed=seed))
    assert _places(found) == {number: [12] for number in range(3)}
    assert [*_ratios(found).values()] == [[pytest.approx(1.2, abs=0.02)]] * 3
    (change,) = found.machine.changes
    assert change.index == 12
    assert change.after / change.before == pytest.approx(1.1, abs=0.01)
    assert (found.machine.moved, found.machine.measured) == ((tuple(range(10)),), (10,))


def test_a_series_that_the_machine_leaves_alone_did_not_change() -> None:
    """Of ten suites one may have a change by chance, of 100 six have: 5 % of what is reported are false."""
    suites = [detect_many(_small(lambda i, v: 1.1 if i < 8 and v >= 12 else 1, seed=seed)) for seed in range(1, 11)]
    assert sum(_places(found) != {} for found in suites) <= 1
    for found in suites:
        assert (found.machine.moved, found.machine.measured) == ((tuple(range(8)),), (10,))


def test_one_that_moves_against_the_machine_changed_by_all_of_that() -> None:
    found = detect_many(_small(lambda i, v: 1 if v < 12 else 0.5 if i == 7 else 1.1, series=8))
    assert _places(found) == {7: [12]}
    assert _ratios(found)[7] == [pytest.approx(0.5, abs=0.01)]
    assert found.machine.moved == ((0, 1, 2, 3, 4, 5, 6),)


def test_exact_amounts_do_not_move_with_the_machine() -> None:
    """Instructions of eight programs, all of them 10 % more from one version on: other flags of the compiler."""
    for single in (True, False):
        counts = [[(100.0 + i) * (1.1 if v >= 12 else 1) for v in range(24)] for i in range(8)]
        found = detect_many([[value if single else [value] * 3 for value in values] for values in counts])
        assert _places(found) == {number: [12] for number in range(8)}
        assert found.machine.changes == ()


def test_what_has_no_part_in_the_machine_changes_by_all_of_it_beside_a_step() -> None:
    """Exact amounts, and such that were zero."""
    suite = _small(lambda i, v: 1.1 if v >= 12 else 1, series=8)
    counts = [[7.0 + (v >= 12)] * 5 for v in range(24)]
    nothing = [[0.0] * 5 if v < 12 else values for v, values in enumerate(suite[7])]
    found = detect_many([*suite[:7], counts, nothing])
    assert _places(found) == {7: [12], 8: [12]}
    assert _ratios(found)[7] == [pytest.approx(8 / 7)]
    assert _ratios(found)[8][0] == math.inf
    assert found.changes[8][0].before == pytest.approx(0, abs=1e-6)
    assert found.machine.moved == ((0, 1, 2, 3, 4, 5, 6),)


def test_times_beside_exact_amounts_still_tell_the_machine() -> None:
    suite = _small(lambda i, v: 1.1 if v >= 12 else 1, series=7)
    found = detect_many([*suite, [[7.0] * 5] * 24, *[[[8.0 + (v >= 6)] * 5 for v in range(24)]] * 3])
    assert _places(found) == {8: [6], 9: [6], 10: [6]}
    assert (found.machine.moved, found.machine.measured) == ((tuple(range(7)),), (7,))


@pytest.mark.parametrize("series", [6, 8])
@pytest.mark.parametrize("place", [12, 13, 14])
def test_the_machine_is_told_where_a_series_has_gaps(series: int, place: int) -> None:
    """The last one was measured in every third version only."""
    suite = _small(lambda i, v: 1.1 if v >= place else 1, series)
    suite[-1] = [values if v % 3 == 0 else [] for v, values in enumerate(suite[-1])]
    found = detect_many(suite)
    assert _places(found) == {}
    assert [change.index for change in found.machine.changes] == [place]
    assert found.machine.measured == (series,)


def test_where_too_few_were_measured_the_machine_is_as_before_and_after() -> None:
    """One command in every version, the others in every third: what is between two of these is not known."""
    suite = _small(lambda i, v: (1.1 if v >= 14 else 1) * (1.2 if i == 0 and v >= 22 else 1), versions=36)
    suite[1:] = [[run if v % 3 == 0 else [] for v, run in enumerate(values)] for values in suite[1:]]
    found = detect_many(suite)
    assert _places(found) == {0: [22]}
    assert [change.index for change in found.machine.changes] == [15]
    assert [version for version, factor in enumerate(found.machine.factor) if math.isnan(factor)] == [13, 14]


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
