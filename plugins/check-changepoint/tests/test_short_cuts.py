"""A short cut gives the answer of the long way, to the last digit."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from perfcore_check_changepoint import ChangePoint, drift, machine, model, noise, partition, position, sizes, spread
from perfcore_check_changepoint.partition import Floats
from perfcore_check_changepoint.runs import Runs
from perfcore_check_changepoint.series import Points, median, middle_of_ordered, read, running_medians

from .histories import NOISES, history, normal, with_memory

PENALTY = 6.5


def _points(values: list[float]) -> Points:
    points = read(Runs.of(values))
    assert points is not None
    return points


@pytest.mark.parametrize("count", [2, 3, 7, 8, 9, 60])
def test_candidates_are_running_medians(count: int) -> None:
    points = _points(np.random.default_rng(count).normal(size=count).tolist())
    for given in (points, points.minus(np.linspace(0, 5, count))):
        values = given.centers
        ends = [values[:2].mean(), values[-2:].mean()]
        parts = (running_medians(values, 5), running_medians(values[:8], 3), running_medians(values[-8:], 3), ends)
        assert model.level_candidates(given).tolist() == np.concatenate(parts).tolist()
        assert given.values.tolist() == values.tolist()


@pytest.mark.parametrize("count", [1, 2, 7, 60, 511, 512, 513, 514])
def test_a_median_is_the_middle_of_the_values_in_order(count: int) -> None:
    values = np.random.default_rng(count).normal(size=count)
    assert middle_of_ordered(np.sort(values)) == median(values)


@pytest.mark.parametrize("seed", range(20))
def test_few_changes_are_undone_by_the_same_ones_as_many(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(seed)
    levels = [100.0]
    while len(levels) < 30:  # many return to a level, or nearly so
        levels.append(float(random.choice(levels[-4:]) + random.choice([0.0, 0.3, 1.0, 5.0])))
    changes = [
        ChangePoint(
            index=10 * (number + 1),
            earliest=10 * (number + 1),
            latest=10 * (number + 1),
            before=before,
            after=after,
            low=after - before - error,
            high=after - before + error,
            gain=9.0,
            p_value=0.01,
        )
        for number, (before, after) in enumerate(pairwise(levels))
        for error in [float(random.choice([0.0, 0.2, 1.5]))]
    ]
    few = sizes.undone(changes)
    monkeypatch.setattr(sizes, "_FEW", 1)
    assert any(change.undone for change in few)
    assert few == sizes.undone(changes)


def test_places_are_those_of_noise_of_one() -> None:
    values = np.random.default_rng(1).normal(size=300)
    values[120:] += 3.0
    assert partition.places(values).tolist() == partition.places(values, np.ones(300)).tolist()


def test_the_evidence_of_a_slope_is_that_of_its_ramp() -> None:
    amounts = np.random.default_rng(2).normal(size=90) + np.linspace(0, 4, 90)
    assert drift._slope_evidence(amounts) == drift._evidence(amounts, np.arange(90.0))[0]


@pytest.mark.parametrize("rounded", [0, 1, 9])
def test_ranks_are_those_of_pairs(rounded: int) -> None:
    sizes = np.abs(np.random.default_rng(3).normal(size=40)).round(rounded)
    below = (sizes[:, None] > sizes).sum(axis=1) - (sizes[:, None] < sizes).sum(axis=1)
    assert spread._ranks(sizes).tolist() == (below / 2).tolist()


@pytest.mark.parametrize("count", [30, 61, 200, 700])
def test_ramps_that_are_tried_are_those_of_a_grid(count: int) -> None:
    """Around the best of the coarse ones, and over the whole series."""
    amounts = np.random.default_rng(count).normal(size=count) + np.linspace(0, 9, count)
    begin, stop, height = drift._best_ramp(amounts)
    shape = model.ramp_shapes(count, np.array([begin]), np.array([stop]))[0]
    centered = shape - shape.mean()
    assert height == pytest.approx(float(centered @ amounts / (centered @ centered)))
    assert 0 <= begin < begin + drift.FEWEST <= stop < count


def _summed(costs: Floats) -> Floats:
    least = costs.min(axis=1)
    summed: Floats = np.log(np.exp(least[:, None] - costs).sum(axis=1)) - least
    return summed


@pytest.mark.parametrize("noise_of", NOISES)
def test_a_change_is_where_the_sum_over_all_levels_is_greatest(noise_of: str) -> None:
    """However few of the points the levels are summed for."""
    for seed in range(5):
        points = _points(history(NOISES[noise_of], seed, 90, [(45, 2.0)]))
        fitted = model.waving(points, model.calm(points, PENALTY), PENALTY)
        if len(fitted.starts) != 1:
            continue
        amounts = points.centers - fitted.trend(90) - (0.0 if fitted.wave is None else fitted.wave)
        levels = median(amounts[: fitted.starts[0]]), median(amounts[fitted.starts[0] :])
        far = [np.log(np.maximum(np.abs(amounts - level) / position._FAR, 1.0)) for level in levels]
        sums = fitted.costs.cumsum(axis=0)
        evidence = _summed(sums[:-1]) + _summed(sums[-1] - sums[:-1]) - position._TAIL * (far[0] - far[1]).cumsum()[:-1]
        chances = np.exp(evidence - evidence.max())
        around = np.convolve(chances, np.ones(2 * position._AROUND + 1), mode="same")
        likeliest = int(np.where(around >= position._AS_GOOD * around.max(), chances, -1.0).argmax())
        assert position.likeliest(points, fitted).starts == [likeliest + 1]


def test_a_density_is_that_of_the_normal_law_or_of_the_kernel() -> None:
    """The likeliest of six, whose costs are of all cells though only the occupied ones were compared."""
    skewed = np.random.default_rng(5).gamma(1.0, 1.0, 200)
    density = noise.estimate(skewed - 1.0, 0.0, 5.0)
    assert density.deviation is None
    assert math.isclose(float(density.excess.min()), 0.0, abs_tol=1e-12)
    assert len(density.excess) == len(noise._CELLS)
    alike = noise.estimate(np.random.default_rng(5).normal(size=200), 0.0, 5.0)
    assert alike.deviation == pytest.approx(1.0, abs=0.1)


def test_models_that_another_one_excludes_are_not_fitted() -> None:
    """Slopes are not tried where memory explains much more, nor a long memory where a short one explains much less."""
    points = _points(history(with_memory, 4, 150))
    first = model.independent(points, model.level_candidates(points), noise.normal(1.0, 5.0), PENALTY)
    others = list(model._others(points, model.level_candidates(points), first, PENALTY))
    assert [other.memory for other in others] == [0.5, 0.75]
    assert list(model._slopes(points, first))
    steps = _points(history(normal, 2, 90, [(30, 9.0), (60, -9.0), (75, 9.0)]))
    levels = model.level_candidates(steps)
    fitted = model.independent(steps, levels, noise.normal(1.0, 5.0), PENALTY)
    assert [other.memory for other in model._others(steps, levels, fitted, PENALTY) if other.memory] == [0.5]


@pytest.mark.parametrize("moving", [False, True])
def test_a_beginning_moves_to_where_it_costs_least(moving: bool) -> None:
    for seed in range(20):
        random = np.random.default_rng(seed)
        stay = random.random((30, 2))
        move = random.random((30, 2)) if moving else None
        start = int(random.integers(10, 20))
        starts = [start]
        fresh = stay if move is None else move
        near = range(start - 8, start + 9)
        costs = [float(stay[:place, 0].sum() + fresh[place, 1] + stay[place + 1 :, 1].sum()) for place in near]
        saved = partition._moved(starts, [0, 1], stay, move)
        assert starts == [near[int(np.argmin(costs))]]
        assert saved == pytest.approx(costs[8] - min(costs))


@pytest.mark.parametrize("seed", range(40))
def test_the_levels_of_all_series_are_those_of_each(seed: int) -> None:
    """Among them are series that have to be looked at one by one: with gaps, constant ones, and very large amounts."""
    random = np.random.default_rng(seed)
    rows = random.normal(size=(int(random.integers(1, 12)), int(random.integers(4, 600))))
    for row in rows:
        for place in random.integers(0, len(row), size=int(random.integers(0, 4))):
            row[place:] += float(random.choice([1.0, -3.0, 10.0]))
    rows[0] *= [1.0, 1e120, 0.0, 1e-120][seed % 4]
    rows = np.round(rows, 1) if seed % 5 == 0 else rows
    rows[random.random(rows.shape) < [0.0, 0.001, 0.1][seed % 3]] = math.nan
    together = machine.levels_of(rows, PENALTY)
    assert np.array_equal(together, [machine._levels(row, PENALTY) for row in rows], equal_nan=True)


@pytest.mark.parametrize("seed", range(20))
def test_the_shares_of_all_series_are_those_of_each(seed: int) -> None:
    random = np.random.default_rng(seed)
    factor = np.where(random.random(200) < 0.05, random.normal(size=200), 0.0).cumsum()
    rows = factor * random.uniform(0, 2, size=(8, 1)) + random.normal(size=(8, 200)) * 0.1
    rows[random.random(rows.shape) < [0.0, 0.001][seed % 2]] = math.nan
    others = factor + random.normal(size=rows.shape) * 0.01 * (seed % 3)
    each = [machine._shares(row[None], other[None]) for row, other in zip(rows, others, strict=True)]
    assert np.array_equal(machine._shares(rows, others), np.concatenate(each, axis=1))
