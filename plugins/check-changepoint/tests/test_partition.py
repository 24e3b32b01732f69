"""The partition is the cheapest there is."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from perfcore_check_changepoint.partition import Floats, partition, partition_at, places
from perfcore_check_changepoint.series import medians, running_medians


def _by_hand(stay: Floats, move: Floats, penalty: float) -> float:
    """The least cost over all sequences of levels."""
    count, levels = stay.shape
    best = np.inf
    for path in itertools.product(range(levels), repeat=count):
        cost = float(move[0, path[0]])
        for i in range(1, count):
            moved = float(move[i, path[i]]) + penalty
            cost += min(float(stay[i, path[i]]), moved) if path[i] == path[i - 1] else moved
        best = min(best, cost)
    return best


def _cost_of(starts: list[int], levels: list[int], stay: Floats, move: Floats, penalty: float) -> float:
    bounds = [0, *starts, len(stay)]
    return sum(
        float(move[start, level] + stay[start + 1 : end, level].sum()) + penalty * (start > 0)
        for start, end, level in zip(bounds, bounds[1:], levels, strict=False)
    )


@pytest.mark.parametrize("penalty", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("moving", [False, True])
def test_no_other_partition_is_cheaper(penalty: float, moving: bool) -> None:
    for seed in range(20):
        random = np.random.default_rng(seed)
        stay = random.random((7, 3)) * 2
        move = random.random((7, 3)) * 2 if moving else stay
        if moving:
            stay[0] = move[0]
        found = partition(stay, move if moving else None, penalty)
        assert found.cost == pytest.approx(_by_hand(stay, move, penalty))
        assert _cost_of(found.starts, found.levels, stay, move, penalty) == pytest.approx(found.cost)


def test_one_point_has_one_level() -> None:
    found = partition(np.array([[3.0, 1.0, 2.0]]), None, 5.0)
    assert (found.starts, found.levels, found.cost) == ([], [1], 1.0)


@pytest.mark.parametrize("moving", [False, True])
def test_a_partition_of_a_few_places_is_that_of_all(moving: bool) -> None:
    """Steps of four spreads; a beginning that is none of the places is moved to where it is."""
    for seed in range(10):
        random = np.random.default_rng(seed)
        values = random.normal(size=200) + 4.0 * (np.arange(200) >= 70) - 4.0 * (np.arange(200) >= 130)
        stay = np.minimum((values[:, None] - np.arange(-2, 7)) ** 2 / 2, 5.0)
        move = stay + 0.1 if moving else None
        cuts = places(values, np.ones(len(values)))
        assert len(cuts) < 100
        few, every = partition_at(stay, move, 6.5, cuts), partition(stay, move, 6.5)
        assert few.starts == every.starts
        assert few.cost == pytest.approx(every.cost)


def test_few_points_are_all_places() -> None:
    assert places(np.zeros(40), np.ones(40)).tolist() == list(range(40))


@pytest.mark.parametrize("width", [3, 5])
def test_running_medians_are_those_of_every_window(width: int) -> None:
    random = np.random.default_rng(width)
    for count in (width, width + 1, 40):
        for values in (random.normal(size=count), np.rint(2 * random.normal(size=count))):
            windows = [sorted(values[start : start + width])[width // 2] for start in range(count - width + 1)]
            assert running_medians(values, width).tolist() == windows


@pytest.mark.parametrize("counts", [[5] * 40, [4] * 40, [1] * 40, [5] * 39 + [3], [3, 5] * 20])
def test_medians_of_points_are_those_of_each(counts: list[int]) -> None:
    values = np.random.default_rng(1).normal(size=sum(counts)).round(1)
    ends = np.cumsum(counts, dtype=np.int64)
    runs = np.split(values, ends[:-1])
    found = medians(values, ends - np.array(counts), np.repeat(np.arange(len(counts)), counts))
    assert found.tolist() == [float(np.median(own)) for own in runs]
