"""Shares of two releases: what changed, what only moved, and what cannot be said."""

from __future__ import annotations

import random

import pytest
from perfcore_check_pair.inference import student_quantile
from perfcore_fleet_kit.shares import Cell, Sample, ShareChange, compare


def sample(
    shares: dict[str, float], *, cells: int, size: int, seed: int, spread: float = 0.15, neighbours: str = ""
) -> Sample:
    """Cells whose shares differ by more than chance, as those of hosts do."""
    numbers = random.Random(seed)
    made = Sample()
    for cell in range(cells):
        weights = {name: share * numbers.lognormvariate(0, spread) for name, share in shares.items()}
        total = int(size * numbers.uniform(0.5, 2))
        drawn = numbers.choices(list(weights), list(weights.values()), k=total)
        made.cells[f"web{cell}", 0] = Cell(total, {name: drawn.count(name) for name in weights})
    for name in neighbours:
        made.neighbours[name] = set(neighbours) - {name}
    return made


def verdicts(before: Sample, after: Sample) -> dict[str, str]:
    return {change.function: change.verdict for change in compare(before, after, student_quantile)}


SHARES = {"a": 0.4, "b": 0.3, "c": 0.2, "d": 0.1}


def test_a_function_that_takes_more_is_a_degradation() -> None:
    before = sample(SHARES, cells=20, size=2_000, seed=1, spread=0.05)
    after = sample({**SHARES, "d": 0.25}, cells=20, size=2_000, seed=2, spread=0.05)
    assert verdicts(before, after)["d"] == "degradation"
    assert verdicts(after, before)["d"] == "optimization"


def test_a_cost_that_only_moved_is_a_shift() -> None:
    before = sample(SHARES, cells=40, size=4_000, seed=1, spread=0.02, neighbours="cd")
    after = sample({**SHARES, "c": 0.1, "d": 0.2}, cells=40, size=4_000, seed=2, spread=0.02)
    changes = {change.function: change for change in compare(before, after, student_quantile, threshold=0.02)}
    assert (changes["d"].verdict, changes["d"].moved_to) == ("shift", ("c",))
    assert (changes["c"].verdict, changes["c"].moved_to) == ("shift", ("d",))
    strangers = sample(SHARES, cells=40, size=4_000, seed=1, spread=0.02)
    assert verdicts(strangers, after)["d"] == "degradation"


def test_shares_that_fall_because_another_rises_make_up_for_nothing() -> None:
    """All functions call each other, and one of them takes three times as long."""
    before = sample(SHARES, cells=40, size=4_000, seed=1, spread=0.02, neighbours="abcd")
    after = sample({**SHARES, "d": 0.3}, cells=40, size=4_000, seed=2, spread=0.02, neighbours="abcd")
    assert verdicts(before, after)["d"] == "degradation"
    assert verdicts(after, before)["d"] == "optimization"


def test_a_function_of_one_release_alone() -> None:
    before = sample(SHARES, cells=20, size=2_000, seed=1, spread=0.05)
    after = sample({**SHARES, "new": 0.2}, cells=20, size=2_000, seed=2, spread=0.05)
    assert verdicts(before, after)["new"] == "degradation"


@pytest.mark.parametrize(("cells", "size"), [(1, 100_000), (2, 100_000), (4, 20)])
def test_too_few_cells_or_samples_decide_nothing(cells: int, size: int) -> None:
    before = sample(SHARES, cells=cells, size=size, seed=1)
    after = sample({**SHARES, "d": 0.12}, cells=cells, size=size, seed=2)
    assert set(verdicts(before, after).values()) == {"not enough samples"}


def test_the_same_release_is_the_same_given_many_samples() -> None:
    before, after = (sample(SHARES, cells=60, size=3_000, seed=seed, spread=0.01) for seed in (1, 2))
    assert set(verdicts(before, after).values()) == {"same"}


def test_intervals_of_a_release_and_itself_hold_no_difference_too_rarely_to_see() -> None:
    """Of 200 pairs of equal releases with hosts that differ, at most 5 % have an interval without 0. If it is 5 %, more
    than 18 pairs have one with a probability of 0.5 %."""
    misses = 0
    for seed in range(200):
        pair = [sample(SHARES, cells=8, size=150, seed=2 * seed + side) for side in (0, 1)]
        changes = compare(pair[0], pair[1], student_quantile)
        misses += any(is_beyond(change) for change in changes)
    assert misses <= 18


def is_beyond(change: ShareChange) -> bool:
    return change.low > 0 or change.high < 0
