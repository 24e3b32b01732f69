"""How a series without changes would look: noise around a level, perhaps with memory, perhaps on a slope or a wave.

Every one of a few such models has a likelihood of the whole series, summed over all ways to cut it up, and the one is
believed that describes the series in the fewest nats: the negative logarithm of that, and a price for what the model
has more than independent noise (minimum description length; Davis, Lee and Rodriguez-Yam, 2006, JASA 101(473), do the
same with autoregressive stretches). So drift is not taken for a staircase, nor a slow neighbour or a slow night for a
regression, unless changes explain them better.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise

import attrs
import numpy as np

from perfcore_check_changepoint import noise
from perfcore_check_changepoint.noise import Density
from perfcore_check_changepoint.posterior import Account, Floats, Passage, passage, places, stretch_means
from perfcore_check_changepoint.series import Points, median, running_medians
from perfcore_check_changepoint.spread import spread_shifts, spreads
from perfcore_check_changepoint.waves import bounded, wave

# Three outlying points cost 2.1 penalties, and a level of their own costs two changes: so they stay outliers.
BOUND = 0.7  # share of the penalty that one point costs at most: one at the end is no new level, nor three within
# Minimum description length charges half the logarithm of n for a parameter: 3.1 nats in a window of 512 points. A
# slope has one parameter, a wave three, a second mode three as well. A memory is one of four models (none, 0.3, 0.5,
# 0.7), about ln 4 nats.
_MOST = 30.0  # nats that it costs whatever the penalty, so that likelihoods of a block of points are numbers
SLOPE = 2.0  # nats for a slope by which the series moves little
STEEP = 4.0  # nats more for every time that its logarithm grows by one beyond that, four times over
_STEEPEST = 13.0  # nats at most, those of two more changes
_SLOW = 4.5  # spreads by which a series drifts as a rule at most: what moves by more has mostly changed instead
MEMORY = 1.0  # nats for memory
WAVE = 10.0  # nats for a wave: its period, height and place
MODES = 10.0  # nats for noise of which a second mode explains what changes would
_MEMORIES = (0.3, 0.5, 0.7)  # autocorrelations at lag 1 that are tried
_SELDOM = 30  # points for every change, below which changes are many
_SPARED = 10.0  # nats that a model spares at most for every change that it explains away
_ALIKE = 0.5  # spreads over the whole series by which slopes differ
_LARGE = 2.0  # spreads from which on a change is no part of a slope
_NEAR = 0.1  # share by which noise differs from the expected without another attempt
_NOTHING = 0.05  # probability of a change below which it is not looked for under other models
_ELSEWHERE = 10.0  # spreads from a level that a point has nothing to do with
_STRAYS = 0.25  # share of points far from the only level, above which it is none
_ATTEMPTS = 2  # at a wave
_AGAIN = 3  # times that noise of another shape is estimated anew from what its own levels leave


@attrs.frozen(eq=False)
class Fit:
    """A series cut up under one model.

    `starts` are the first points of the stretches but the first one, `chosen` the columns of their levels in `costs`,
    which holds the cost of every point at every level where it is. `residuals` are those of the runs, `likely` is the
    probability of the likeliest change, and `so_far` the level at each point as far as the points up to it tell.
    `memory` is the share of a point's residual that the next one inherits, `slope` is per point. `shifts` are the first
    points with other noise, `wave` is what comes and goes with a period. `total` is in nats.
    """

    starts: list[int]
    chosen: list[int]
    costs: Floats
    residuals: Floats
    total: float
    likely: float = 0.0
    told: Passage | None = None
    grid: Floats | None = None
    memory: float = 0.0
    slope: float = 0.0
    shifts: Sequence[int] = ()
    wave: Floats | None = None

    def point_residuals(self, points: Points) -> Floats:
        """The mean residual of the runs of every point."""
        return points.means(self.residuals)


@attrs.frozen(eq=False)
class _Model:
    """One model of the points, which are without the slope: its levels, what it says of every point at each of them,
    and its price in nats."""

    points: Points
    grid: Floats
    account: Account
    price: float
    memory: float = 0.0
    slope: float = 0.0


def fit(points: Points, penalty: float) -> Fit:
    """The best of the models."""
    calm = _calm(points, penalty)
    return calm if calm.slope else _waving(points, calm, penalty)


def _waving(points: Points, best: Fit, penalty: float) -> Fit:
    """The same with a wave taken away, if there is one and that is the shorter account. Levels that follow a wave hide
    a part of it: it is looked for again in what those of the first attempt leave."""
    residuals, starts = bounded(best.point_residuals(points)), best.starts
    for _ in range(_ATTEMPTS):
        fitted_wave = wave(residuals, starts)
        if fitted_wave is None:
            break
        level = attrs.evolve(
            points, values=points.values - fitted_wave[points.point], centers=points.centers - fitted_wave
        )
        fitted = _calm(level, penalty)
        if fitted.total + WAVE < best.total:
            best = attrs.evolve(fitted, wave=fitted_wave, total=fitted.total + WAVE)
        if fitted.starts == starts:
            break
        residuals, starts = bounded(fitted.point_residuals(level)) + fitted_wave, fitted.starts
    return best


def _calm(points: Points, penalty: float) -> Fit:
    """The best of the models without a wave. Where even independent normal noise needs no change, and the noise is
    normal, none is looked at further."""
    centers = _centers(points.centers)
    plain = noise.normal(1.0, _bound(penalty))
    first = _cut(_independent(points, centers, plain), penalty)
    shifts = spread_shifts(first.point_residuals(points), points.quantum)
    if shifts:
        points = attrs.evolve(points, spread=spreads(first.point_residuals(points), shifts)[points.point])
        first = attrs.evolve(_cut(_independent(points, centers, plain), penalty), shifts=shifts)
    density = _density(points, first.residuals, penalty)
    if first.likely < _NOTHING and density.deviation is not None:
        return first
    return attrs.evolve(_best(points, centers, first, density, penalty), shifts=shifts)


def _best(points: Points, centers: Floats, first: Fit, density: Density, penalty: float) -> Fit:
    expected = density.deviation is not None and abs(density.deviation - 1) <= _NEAR
    best = first if expected else _cut(_independent(points, centers, density), penalty)
    for _ in range(_AGAIN if density.deviation is None else 0):
        density = _density(points, best.residuals, penalty)
        again = _cut(_independent(points, centers, density), penalty)
        if again.total >= best.total:
            break
        best = again
    if len(best.starts) > 1:
        best = min(best, _unchanged(points, penalty), key=_total)
    if not best.starts:
        # A level that a quarter of the points has nothing to do with is none, however well it explains the others.
        far = np.abs(best.point_residuals(points)) > _ELSEWHERE
        return first if points.spread is None and far.mean() > _STRAYS else best
    others = [(model, passage(model.account, penalty)) for model in _others(points, centers, best, penalty)]
    model, told = min(others, key=lambda other: other[0].price + other[1].cost, default=(None, None))
    if model is None or told is None or best.total <= model.price + told.cost:
        return best
    return _fitted(model, told)


def quick(points: Points, penalty: float) -> list[int]:
    """The first points of the stretches if noise is independent and normal."""
    plain = noise.normal(1.0, _bound(penalty))
    return _cut(_independent(points, _centers(points.centers), plain), penalty).starts


def _bound(penalty: float) -> float:
    """The most that one point costs, in nats."""
    return min(BOUND * penalty, _MOST)


def _total(fitted: Fit) -> float:
    return fitted.total


def _density(points: Points, residuals: Floats, penalty: float) -> Density:
    scaled = residuals if points.spread is None else residuals / points.spread
    return noise.estimate(scaled, points.quantum, _bound(penalty))


def _unchanged(points: Points, penalty: float) -> Fit:
    """The series as noise around one level. Two modes, taken at random, look like many changes at first."""
    level = np.array([median(points.values)])
    residuals = points.values - level
    density = _density(points, residuals, penalty)
    costs = _costs(points, density, density.cost(points.values, level, points.spread))
    return Fit([], [0], costs, residuals, float(costs.sum()) + density.floor * points.total_weight + MODES)


def _independent(points: Points, centers: Floats, density: Density, price: float = 0.0, slope: float = 0.0) -> _Model:
    """Every point has noise of its own."""
    grid = density.grid(centers)
    account = Account(_costs(points, density, density.cost(points.values, grid, points.spread)))
    return _Model(points, grid, account, density.floor * points.total_weight + price, slope=slope)


def _others(points: Points, centers: Floats, best: Fit, penalty: float) -> Iterator[_Model]:
    """The other models, those of them that a glance at the series does not exclude."""
    if best.told is not None and best.grid is not None and _may_remember(points, best):
        so_far = best.told.levels(best.grid)
        for memory in _MEMORIES:
            yield _remembering(points, centers, best, so_far, memory, penalty)
    time = np.arange(len(points), dtype=float) - (len(points) - 1) / 2
    tried: list[float] = []
    for slope in _slopes(points, best, time):
        price = SLOPE + min(STEEP * math.log1p((slope * len(points) / _SLOW) ** 4), _STEEPEST)
        alike = any(abs(slope - other) * len(points) < _ALIKE for other in (0.0, *tried))
        if not alike and price < _SPARED * max(len(best.starts), 1):
            tried.append(slope)
            yield _sloping(points, best, slope, time, price, penalty)


def _may_remember(points: Points, best: Fit) -> bool:
    """Whether neighbours are more alike than chance makes them in two of three series, or changes are many: levels
    follow what memory there is."""
    residuals = np.clip(best.point_residuals(points), -3, 3)
    alike = float(residuals[1:] @ residuals[:-1])
    return alike * alike > float(residuals @ residuals) ** 2 / len(points) or len(best.starts) * _SELDOM >= len(points)


def _remembering(points: Points, centers: Floats, best: Fit, so_far: Floats, memory: float, penalty: float) -> _Model:
    """A point is predicted from the one before. Where the level changes, what was off before still is:
    the level before is not known in this model, but `so_far`, that of independent noise, is about the same."""
    residuals = best.point_residuals(points)
    innovations = best.residuals - memory * _previous(residuals)[points.point]
    density = _density(points, innovations, penalty)
    grid = density.grid(centers)
    predicted = memory * _previous(points.centers)[points.point]
    stay = _costs(points, density, density.cost(points.values - predicted, grid * (1 - memory), points.spread))
    carried = memory * _previous(points.centers - so_far)[points.point]
    move = _costs(points, density, density.cost(points.values - carried, grid, points.spread))
    fresh = math.sqrt(1 - memory**2)  # the first point of all has no predecessor
    first = _costs(points, density, density.cost(points.values * fresh, grid * fresh, points.spread))[0]
    stay[0] = move[0] = first - math.log(fresh) * points.weight[points.point == 0].sum()
    return _Model(points, grid, Account(stay, move), density.floor * points.total_weight + MEMORY, memory=memory)


def _slopes(points: Points, best: Fit, time: Floats) -> Iterator[float]:
    """Slopes to try: the one from half of the series to the other, which is what all of the changes may have been taken
    for; the one within the stretches, which no change touches, if it is more than chance; and the one that small
    changes may have been taken for, that is the one within the stretches between the large changes."""
    half = len(points) // 2
    yield median(points.centers[half:] - points.centers[: len(points) - half]) / half
    residuals = np.clip(best.point_residuals(points), -3, 3)
    inside = time - stretch_means(time, best.starts)
    lever = float(inside @ inside)
    within = float(inside @ residuals) / lever if lever else 0.0
    clear = within * within * lever > float((residuals**2).mean())
    if clear:
        yield within
    expected = points.centers - best.point_residuals(points)
    large = [start for start in best.starts if abs(expected[start] - expected[start - 1]) >= _LARGE]
    if len(best.starts) - len(large) < (1 if clear else 2):
        return
    inside = time - stretch_means(time, large)
    yield float(inside @ (expected + residuals)) / float(inside @ inside)


def _sloping(points: Points, best: Fit, slope: float, time: Floats, price: float, penalty: float) -> _Model:
    """What is left when the slope is taken away has independent noise."""
    trend = slope * time
    level = attrs.evolve(points, values=points.values - trend[points.point], centers=points.centers - trend)
    residuals = best.residuals - (trend - stretch_means(trend, best.starts))[points.point]
    return _independent(level, _centers(level.centers), _density(points, residuals, penalty), price, slope)


def _cut(model: _Model, penalty: float) -> Fit:
    return _fitted(model, passage(model.account, penalty))


def _fitted(model: _Model, told: Passage) -> Fit:
    """The series cut where its level changed more likely than not, each stretch at the level that suits it best."""
    probabilities = told.probabilities()
    starts = places(probabilities)
    costs, chosen = _levels(model, starts)
    moved = _outlying(model, starts, costs, chosen)
    if moved != starts:
        starts = moved
        costs, chosen = _levels(model, starts)
    expected = np.repeat(model.grid[chosen], np.diff([0, *starts, len(costs)]))
    return Fit(
        starts,
        chosen,
        costs,
        model.points.values - expected[model.points.point],
        told.cost + model.price,
        likely=float(probabilities.max()),
        told=told,
        grid=model.grid,
        memory=model.memory,
        slope=model.slope,
    )


def _levels(model: _Model, starts: list[int]) -> tuple[Floats, list[int]]:
    """The costs of all points where the stretches are these, and the best level of each."""
    costs, bounds = model.account.stay, [0, *starts]
    if model.account.move is not None:
        costs = costs.copy()
        costs[bounds] = model.account.move[bounds]
    return costs, np.add.reduceat(costs, bounds, axis=0).argmin(axis=1).tolist()


def _outlying(model: _Model, starts: list[int], costs: Floats, chosen: list[int]) -> list[int]:
    """The starts, moved past the points beside them that are outliers of both levels, which tell nothing, and nearer to
    the level on the other side."""
    moved: list[int] = []
    for start, end, (before, after) in zip(starts, [*starts, len(costs)][1:], pairwise(chosen), strict=True):
        first, off = max([0, *moved]) + 2, np.abs(model.points.centers[:, None] - model.grid[[before, after]])
        tells_nothing = costs[:, before] == costs[:, after]
        while start > first and tells_nothing[start - 1] and off[start - 1, 1] < off[start - 1, 0]:
            start -= 1
        while start < end - 2 and tells_nothing[start] and off[start, 0] < off[start, 1]:
            start += 1
        moved.append(start)
    return moved


def _costs(points: Points, density: Density, costs: Floats) -> Floats:
    """The costs of points from those of runs. They are bounded alike, above what a point costs at the best level: else
    one version that was disturbed in all its runs would be a level of its own."""
    if points.single:
        return costs
    summed = np.add.reduceat(costs * points.weight[:, None], points.first)
    least = summed.min(axis=1, keepdims=True)
    bounded: Floats = np.minimum(summed, least + density.excess.max())
    return bounded


def _previous(centers: Floats) -> Floats:
    return np.concatenate([[0.0], centers[:-1]])


def _centers(values: Floats) -> Floats:
    """Where levels may be: medians of five neighbours, and of three near the ends, where stretches are short."""
    return np.concatenate([running_medians(values, 5), running_medians(values[:8], 3), running_medians(values[-8:], 3)])
