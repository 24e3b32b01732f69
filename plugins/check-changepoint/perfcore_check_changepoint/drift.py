"""Slow drift: a level that grows or shrinks a little with each of many versions.

A drift is a ramp between two flat parts, either of which may be empty. It is believed if three things hold. It is a
shorter account of the series than steps are (minimum description length, as for the other models). It explains more
than a wandering level would: under the null hypothesis the level is a random walk of any size, under the alternative
the same walk and the ramp (the local level model: A. Harvey, 1989, *Forecasting, Structural Time Series Models and the
Kalman Filter*). And it takes at least eight points. The second condition keeps autocorrelated noise, random walks
and irregular staircases from being drifts, as robust tests for a trend do (T. Vogelsang, 1998, Econometrica 66(1)).

The cosine transform makes a random walk with noise independent at every frequency, so that the likelihoods are sums.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from itertools import pairwise

import msgspec
import numpy as np
from msgspec.structs import replace

from perfcore_check_changepoint import model
from perfcore_check_changepoint.cosines import cosines, frequencies
from perfcore_check_changepoint.curves import without_curves
from perfcore_check_changepoint.model import Fit, Ramp
from perfcore_check_changepoint.partition import Floats
from perfcore_check_changepoint.position import likeliest
from perfcore_check_changepoint.runs import Indexes
from perfcore_check_changepoint.series import Points, distinct, median, within
from perfcore_check_changepoint.spread import spreads

FEWEST = 8  # points that a drift takes at least: fewer are as well a step
_ROUNDS = 2  # of the ramp and the steps beside it in turn
_TALL = 5.0  # spreads that a level goes through, from which on it may rise and fall
_MOST = 3  # drifts in a window; bounds the time
_BLOCKS = 48  # means of neighbours among which a ramp is looked for first
_GRID = 12  # places there where it may begin or end
_FINE = 7  # places around the best of them that are tried next
_CLIP = 3.0  # spreads beyond which a residual counts no more
_LIKELY = 1.92  # nats: half of the 95 % quantile of chi-squared with one degree of freedom
# Variances of the steps of the random walk, in those of the noise: from none to all of the variation, in half decades.
_WALKS = np.concatenate([[0.0], 10.0 ** np.arange(-4, 2.1, 0.5)])
_LEAST = 0.01  # variance of noise in squared spreads; below it the series has none, and no sum can be its estimate
# Minimum description length charges about half the logarithm of n for a parameter, as for a slope.
_KNOT = model.SLOPE  # nats for a beginning or an end within the series
_SAME = 2.0  # nats by which a drift over the whole series may be dearer than a slope, which is the same model
# A ramp over the whole series explains as much as a change does, the best of many beginnings and ends more. Simulated
# random walks set the amount: of 1,000 histories without a drift fewer than five may have one.
_SEARCHED = 4.0  # nats more for a beginning, an end or a step that is searched for within the series


def fit(points: Points, penalty: float) -> Fit:
    """The best model of a series, with its drifts."""
    calm = model.calm(points, penalty)
    waving = model.waving(points, calm, penalty)
    fitted = _ramped(points, waving, penalty)
    if waving.wave is not None and not fitted.ramps:  # half of a long wave is near to a level that falls and rises
        without_wave = _ramped(points, calm, penalty)
        fitted = without_wave if without_wave.ramps and without_wave.total < fitted.total else fitted
    return likeliest(points, without_curves(points, fitted.agreed()))


def _ramped(points: Points, fitted: Fit, penalty: float) -> Fit:
    """The fit with its drifts."""
    for _ in range(_MOST):
        # One step is a shorter account than a ramp; memory can hide one.
        if not fitted.slope and not fitted.memory and len(fitted.starts) < 2:
            break
        # A slope is the same model as a drift over the whole series.
        limit = fitted.total + (_SAME if fitted.slope else 0.0)
        ramped = _with_ramp(points, fitted, penalty, limit)
        if ramped is None:
            break
        rivals = (fitted.starts,) if model.rivals_with(fitted, ramped) else ()
        fitted = replace(ramped, rivals=rivals)
    return fitted


def _with_ramp(points: Points, fitted: Fit, penalty: float, limit: float, others: int = 1) -> Fit | None:
    """The fit with one more drift, or with another beside it, where it is shorter than the limit: of a level that falls
    and rises neither half is a shorter account by itself."""
    flat = _without(points, fitted)
    expected = flat.centers - fitted.point_residuals(points)
    regions = list(_regions(fitted, flat, expected, penalty))
    if not regions:
        return None
    history = _History(flat, flat.without_outliers(), fitted, expected, _steps_against(fitted, expected), penalty)
    candidates = sorted(
        filter(None, (history.ramped(start, end) for start, end in regions)), key=lambda candidate: candidate.total
    )
    if candidates and candidates[0].total < limit:
        return candidates[0]
    beside = (_with_ramp(points, candidate, penalty, limit, others - 1) for candidate in candidates if others)
    return next(filter(None, beside), None)


def _without(points: Points, fitted: Fit) -> Points:
    """The points without the wave and the drifts of the fit, with the noise that it found."""
    if fitted.shifts:
        points = points.spread_by(spreads(fitted.standard_residuals(points), list(fitted.shifts)))
    elif fitted.growth is not None:
        points = points.spread_by(fitted.growth)
    if fitted.wave is None and not fitted.ramps:
        return points
    gone = np.zeros(len(points)) if fitted.wave is None else fitted.wave
    return points.minus(sum((ramp.trend(len(points)) for ramp in fitted.ramps), gone))


def _regions(fitted: Fit, flat: Points, expected: Floats, penalty: float) -> Iterator[tuple[int, int]]:
    """The parts of a series that may hold one drift each: those in which no step is against the direction of the slope,
    and where there is none those with several steps in one direction, also before and after the largest of them."""
    count, starts = len(expected), fitted.starts
    first = np.array(starts, dtype=np.int64)
    jumps = expected[first] - expected[first - 1] - fitted.slope
    bounds = [0, *starts, count]
    if fitted.slope:
        against = [start for start, jump in zip(starts, jumps, strict=True) if jump * fitted.slope < 0]
        regions = {(0, count), *pairwise([0, *against, count])}
    elif fitted.memory:  # it hides growth between steps, so that small steps may be anywhere in a drift
        largest_step = starts[int(np.abs(jumps).argmax())] if starts else 0
        low, high = flat.medians.argmin().item(), flat.medians.argmax().item()
        extremes = (low, high) if flat.medians.item(high) - flat.medians.item(low) > _TALL else ()
        regions = {(0, count)}.union(*(((0, turn), (turn, count)) for turn in (largest_step, *extremes)))
    elif not starts:
        regions = set()
    else:
        signs = np.sign(jumps).tolist()
        turns = [0, *(number for number in range(1, len(signs)) if signs[number] != signs[number - 1]), len(starts)]
        runs = [(first, last) for first, last in pairwise(turns)]
        largest = [first + int(np.abs(jumps[first:last]).argmax()) for first, last in runs]
        parts = [
            part for (first, last), top in zip(runs, largest, strict=True) for part in ((first, top), (top + 1, last))
        ]
        regions = {
            (bounds[first], bounds[last + 1])
            for first, last in (*runs, *parts)
            if last - first > 1 and _may_be_drift(jumps[first:last], np.diff(starts[first:last]), penalty)
        }
    free = {_beside(region, fitted.ramps) for region in regions}
    yield from sorted(region for region in free if region[1] - region[0] > FEWEST)


def _beside(region: tuple[int, int], ramps: Sequence[Ramp]) -> tuple[int, int]:
    """The longer part of a region before or behind the drifts that there are: one within another would only bend it.
    Where two of them meet is uncertain, and they may overlap there."""
    start, end = region
    for ramp in ramps:
        first, last = ramp.start + FEWEST, ramp.end - FEWEST
        if start < last and first < end:
            start, end = (start, first) if first - start > end - last else (last, end)
    return start, end


def _steps_against(fitted: Fit, expected: Floats) -> Floats:
    """What steps in the other direction than the slope add to the level of each point: a drift goes on behind them."""
    steps = np.zeros(len(expected))
    for start in fitted.starts if fitted.slope else ():
        jump = expected[start] - expected[start - 1] - fitted.slope
        steps[start:] += jump if jump * fitted.slope < 0 else 0.0
    return steps


def _may_be_drift(jumps: Floats, lengths: Indexes, penalty: float) -> bool:
    """Whether steps are no shorter account than a ramp, to a first approximation. Between two steps a ramp is off by
    half a step at most, which has a twelfth of the variance of the step."""
    heights = (jumps[1:] + jumps[:-1]) / 2
    loss = float(lengths @ np.log1p(heights**2 / 12)) / 2
    return loss < penalty * len(jumps) - model.SLOPE


class _History(msgspec.Struct, frozen=True, eq=False):
    """A series to which a drift is fitted: its points, their `amounts` without outliers, and its present fit, with the
    level of that at every point, and the part of it that is steps against its slope."""

    points: Points
    amounts: Floats
    fitted: Fit
    expected: Floats
    against: Floats
    penalty: float

    def ramped(self, start: int, end: int) -> Fit | None:
        """The fit with a drift in this part of the series; None where that is no more than chance."""
        count, region = len(self.points), slice(start, end)
        amounts = self.amounts - self.against
        if self.fitted.slope or self.fitted.memory:
            slope = self._slope_evidence(region) if self.fitted.slope else _slope_evidence(self.amounts[region])
            if slope < self.penalty / 2:
                return None
        inside = (self.points.point >= start) & (self.points.point < end)
        values = self.points.values - self.points.per_run(self.against)
        residuals, before = np.where(inside, values, self.fitted.residuals), np.zeros(count)
        for _ in range(_ROUNDS):
            begin, stop, height = _best_ramp(amounts[region])
            shape = model.ramp_shapes(count, np.array([start + begin]), np.array([start + stop]))[0]
            knots = (start + begin > 0) + (start + stop < count - 1)
            needed = self.penalty + knots * _SEARCHED
            trend = height * shape
            # Steps beside the drift hide some of it, but not most.
            if (
                self._steps_are_likelier(region, amounts - trend)
                or _evidence(amounts[region], shape[region])[0] < needed / 2
            ):
                return None
            # The noise is that around one level in the region of the drift, and as it was elsewhere.
            left = (residuals + self.points.per_run(before - trend))[inside]
            residuals[inside] = left - median(left)
            refitted = self._without(trend, residuals)
            amounts = within(refitted.point_residuals(self.points), _CLIP) + trend
            residuals, before = refitted.residuals.copy(), trend
            if not any(start < first < end for first in refitted.starts):
                break
        gain, height, error = _evidence(amounts[region], shape[region])
        # Steps within the ramp take a part of a random walk away, which the evidence no longer sees.
        steps = sum(start + begin < first < start + stop for first in refitted.starts)
        if gain < needed + steps * _SEARCHED:
            return None
        earliest, latest = _beginnings(amounts[region], begin, stop)
        price = model.slope_price(height) if self.fitted.slope else model.SLOPE + model.STAIRCASE
        price += knots * _KNOT
        ramp = Ramp(
            start=start + begin,
            end=start + stop,
            height=height,
            error=error,
            gain=gain,
            price=price,
            earliest=start + earliest,
            latest=start + latest,
        )
        ramps = (*self.fitted.ramps, ramp)
        total = refitted.total + sum(drift.price for drift in ramps)
        total += 0.0 if self.fitted.wave is None else model.WAVE
        return replace(
            refitted,
            total=total,
            shifts=self.fitted.shifts,
            wave=self.fitted.wave,
            ramps=ramps,
            growth=self.fitted.growth,
        )

    def _slope_evidence(self, region: slice) -> float:
        """That of the slope alone, without the steps beside it."""
        left = within((self.points.centers - self.expected)[region], _CLIP)
        return _slope_evidence(left + self.fitted.slope * np.arange(len(left)))

    def _without(self, trend: Floats, residuals: Floats) -> Fit:
        """The fit of levels alone without this growth, with the noise of these residuals."""
        flat = self.points.minus(trend)
        density = model.density_of(flat, residuals, self.penalty)
        return model.independent(flat, model.level_candidates(flat), density, self.penalty)

    def _steps_are_likelier(self, region: slice, left: Floats) -> bool:
        """Whether what a drift leaves is so much more than what steps leave that they are the shorter account."""
        if self.fitted.slope or self.fitted.memory:
            return False
        stepped = within((self.points.centers - self.expected)[region], _CLIP)
        ratio = max(float(left[region].var()), _LEAST) / max(float((stepped**2).mean()), _LEAST)
        steps = sum(region.start < first < region.stop for first in self.fitted.starts)
        return bool(0.5 * len(stepped) * math.log(ratio) > self.penalty * steps)


def _slope_evidence(amounts: Floats) -> float:
    return _evidence_of(cosines(amounts), *_slope(len(amounts)))[0]


def _best_ramp(amounts: Floats) -> tuple[int, int, float]:
    """Where the likeliest ramp begins and ends, and its height: from means of neighbours, then around the best."""
    count = len(amounts)
    blocks = min(count, _BLOCKS)
    edges = np.arange(blocks + 1) * count // blocks
    means = np.add.reduceat(amounts, edges[:-1]) / np.diff(edges)
    pairs, shapes, squares = _coarse(blocks)
    rough = edges[pairs[_likeliest(means, count / blocks, pairs, shapes, squares)[0]]]
    begin, end = rough.tolist()
    step = -(-count // (_GRID - 1))
    while True:  # a knot of a steep ramp that is off by one point would leave a step there
        near = _around(step)
        # Distinct, in order and within the series.
        begins, ends = (
            sorted({0, count - 1, *(min(max(knot + distance, 0), count - 1) for distance in near)})
            for knot in (begin, end)
        )
        pairs = np.array([(begin, end) for end in ends for begin in begins if end - begin >= FEWEST])
        best, height = _likeliest(amounts, 1.0, pairs, *_shapes(count, pairs))
        begin, end = pairs[best].tolist()
        if step <= _FINE // 2:
            return begin, end, height
        step = -(-2 * step // (_FINE - 1))


@functools.lru_cache(maxsize=64)
def _around(step: int) -> list[int]:
    """Distances of up to this many points in either direction."""
    return sorted(set(np.linspace(-step, step, _FINE).astype(np.int64).tolist()))


@functools.lru_cache(maxsize=64)
def _coarse(count: int) -> tuple[Indexes, Floats, Floats]:
    """Ramps over so many points that begin and end at places of a grid."""
    grid = distinct(np.linspace(0, count - 1, min(_GRID, count)).astype(np.int64))
    pairs = _pairs(grid, grid)
    return pairs, *_shapes(count, pairs)


def _pairs(begins: Indexes, ends: Indexes) -> Indexes:
    pairs: Indexes = np.stack([grid.ravel() for grid in np.meshgrid(begins, ends)], axis=1)
    return pairs[pairs[:, 1] > pairs[:, 0]]


def _shapes(count: int, pairs: Indexes) -> tuple[Floats, Floats]:
    """Ramps around a mean of 0, and their sums of squares."""
    shapes = model.ramp_shapes(count, pairs[:, 0], pairs[:, 1])
    shapes -= np.add.reduce(shapes, axis=1, keepdims=True) / count
    return shapes, np.add.reduce(shapes * shapes, axis=1)


def _likeliest(amounts: Floats, weight: float, pairs: Indexes, shapes: Floats, squares: Floats) -> tuple[int, float]:
    """The number of the likeliest ramp, each knot within the series at its price, and its height. Every amount is the
    mean of `weight` points."""
    centered = amounts - float(np.add.reduce(amounts)) / len(amounts)
    products = shapes @ centered
    left = np.maximum(centered.dot(centered) - products * products / squares, _LEAST)
    knots = (pairs[:, 0] > 0).astype(float) + (pairs[:, 1] < len(amounts) - 1)
    best = int((0.5 * weight * len(amounts) * np.log(left) + _KNOT * knots).argmin())
    return best, float(products[best] / squares[best])


def _beginnings(amounts: Floats, begin: int, stop: int) -> tuple[int, int]:
    """The first and the last place where the ramp may begin, by its likelihood."""
    places = np.arange(0, stop - FEWEST + 1)
    shapes = model.ramp_shapes(len(amounts), places, np.full(len(places), stop))
    shapes -= shapes.mean(axis=1, keepdims=True)
    centered = amounts - amounts.mean()
    squares = centered @ centered - (shapes @ centered) ** 2 / (shapes * shapes).sum(axis=1)
    variance = max(float(squares[begin]) / len(amounts), _LEAST)
    likely = np.flatnonzero(squares <= squares[begin] + 2 * _LIKELY * variance)
    return int(likely[0]), int(likely[-1])


def _evidence(amounts: Floats, shape: Floats) -> tuple[float, float, float]:
    """What the ramp adds to the likelihood of a random walk with noise, and its height with the standard error."""
    weights, _ = _walks(len(amounts))
    ramp = cosines(shape)
    return _evidence_of(cosines(amounts), ramp, weights @ (ramp * ramp))


@functools.lru_cache(maxsize=256)
def _slope(count: int) -> tuple[Floats, Floats]:
    """The cosines of a slope of one for each of so many points, and their squares for every walk."""
    ramp = cosines(np.arange(count, dtype=float))
    return ramp, _walks(count)[0] @ (ramp * ramp)


def _evidence_of(observed: Floats, ramp: Floats, squares: Floats) -> tuple[float, float, float]:
    """The same of the cosines of both, where the squares of the ramp are known for every walk."""
    count = len(observed)
    weights, logarithms = _walks(count + 1)
    flat, products = weights @ (observed * observed), weights @ (observed * ramp)
    sloping = np.maximum(flat - products * products / squares, 0.0)  # by rounding it may be less
    least = _LEAST * count
    null, alternative = (-0.5 * (count * np.log(sums + least) + logarithms) for sums in (flat, sloping))
    best = int(alternative.argmax())
    error = math.sqrt((float(sloping[best]) + least) / max(count - 1, 1) / float(squares[best]))
    return float(alternative[best] - null[null.argmax()]), float(products[best] / squares[best]), error


@functools.lru_cache(maxsize=256)
def _walks(count: int) -> tuple[Floats, Floats]:
    """For every size of the walk 1 over its variance at each frequency, that of the noise being 1, and the sum of the
    logarithms of the variances."""
    variances = 1 + _WALKS[:, None] / frequencies(count)
    return 1 / variances, np.log(variances).sum(axis=1)
