"""How a series without changes would look: noise around a level, perhaps with memory, perhaps on a slope or a wave.

The series is cut up under every one of a few such models, and the one is believed that describes it in the fewest
nats: the negative log likelihood of all values, a penalty for every change, and one for what the model has more than
independent noise (minimum description length; Davis, Lee and Rodriguez-Yam, 2006, JASA 101(473), do the same with
autoregressive stretches). So drift is not taken for a staircase, nor a slow neighbour or a slow night for a regression,
unless changes explain them better.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import NormalDist

import msgspec
import numpy as np
from msgspec.structs import replace

from perfcore_check_changepoint import noise
from perfcore_check_changepoint.noise import Density
from perfcore_check_changepoint.partition import Floats, partition_at, starts_of_rows, stretch_means
from perfcore_check_changepoint.runs import Indexes
from perfcore_check_changepoint.series import (
    NORMAL,
    Points,
    distinct,
    in_logarithms,
    median,
    read_rows,
    running_medians,
    within,
)
from perfcore_check_changepoint.spread import spread_shifts, spreads
from perfcore_check_changepoint.waves import bounded, wave

# Two outlying points cost 1.5 penalties, and a level of their own costs two changes: so they stay outliers.
BOUND = 0.75  # share of the penalty that one point costs at most: one at the end is no new level, nor two within
# Minimum description length charges half the logarithm of n for a parameter: 3.1 nats in a window of 512 points. A
# slope has one parameter, a wave three. A memory is one of three models (none, 0.5, 0.75), about ln 3 nats.
SLOPE = 4.0  # nats for a slope
# A level that grows by many spreads has steps more often than a slope: the price of a slope grows as that of a normal
# value does, up to what three steps cost.
_STEEP = 2.5  # spreads that a slope grows by over the whole series, as a standard deviation
_STEEPEST = 20.0  # nats
STAIRCASE = 6.0  # nats more for a drift where steps would do
MEMORY = 1.0  # nats for memory
WAVE = 10.0  # nats for a wave: its period, height and place
_MEMORIES = (0.5, 0.75)  # autocorrelations at lag 1 that are tried
# The difference of two normal values has variance 2: 18 is three standard deviations of it, squared.
_FAR = 18.0  # squared difference, in spreads, above which neighbours are on two levels
_LARGE = 2.0  # spreads from which on a change is no part of a slope
_NEAR = 0.05  # share by which noise differs from the expected without another attempt
_ELSEWHERE = 10.0  # spreads from a level that a point has nothing to do with
_STRAYS = 0.25  # share of points far from the only level, above which it is none
_SELDOM = 30  # points for every change, below which changes are many
_NARROWER = 0.3  # of the noise before
_PROMISING = 4.0  # nats by which a slope may be dearer than none and still be tried again
_CLEARLY = 3.0  # standard errors of growth
_LITTLE = 0.3  # spreads by which another slope changes the growth of the whole series; below it is the same
_AGAIN = 3  # times at most that a wave is fitted again
_OTHER = 0.1  # spreads by which a wave that is fitted again differs from the first at least
_CLOSE = 4.0  # spreads from the median beyond which a value is no farther
_ALIKE = 2.5  # standard deviations of an autocorrelation that independent values seldom have (0.6 %)
# A few versions of a level that is undone can be no more alike than that. With 8 and 12 versions, independent values
# seem ordered in 12 and 8 % of histories, and few of these show a change: of two modes 18 and 20 % instead of 15 and
# 17. Three versions, 30 % higher in noise of 3 %, are told in 65 and 67 % instead of 5 and 4.
_ALIKE_BY_CHANCE = 1.0  # histories of so many versions that may seem ordered
_PERHAPS_ALIKE = 1.0  # deviations from which on memory is tried beside what hardly varies
_TINY = 1e-300  # so that no logarithm is infinite
_END = 8  # points at either end of the series, where stretches are short
# Alarms that vanish come with a model that is hardly shorter than another. With 0, 2 and 4 nats, 3.17 (2.18 to 4.45),
# 2.11 (1.32 to 3.20) and 1.63 (0.95 to 2.62) of 1,000 versions show one (benchmarks/growing.py, seeds 2041 to 2043),
# and F1 is 0.933 (0.922 to 0.944), the same, and 0.929 (0.918 to 0.939) (benchmarks/compare.py, seeds 61 to 65).
_RIVAL = 2.0  # nats by which a model may be longer and still be as likely
_BEHIND = 6.0  # nats by which a model may be longer without others like it being given up
_TELLING = 30  # points: of fewer, every model explains nearly as much as the others
_BESIDE = 3  # points by which two models may place one change differently
_GROWTH = 1.5  # levels this far apart have noise of their own: below, that of all does for both


class Ramp(msgspec.Struct, frozen=True, eq=False):
    """A drift: the level grows by `height` from the point `start`, which has none of it, to `end`, which has all.
    `error` is the standard error of the height. `gain` is what the drift explains beyond a random walk, and `price`
    what it costs as a part of the model, both in nats. The last point without growth may be any from `earliest` to
    `latest`."""

    start: int
    end: int
    height: float
    error: float
    gain: float
    price: float
    earliest: int
    latest: int

    def trend(self, count: int) -> Floats:
        """The growth at each of so many points."""
        shape: Floats = ramp_shapes(count, np.array([self.start]), np.array([self.end]))[0]
        return self.height * shape


def ramp_shapes(count: int, starts: Indexes, ends: Indexes) -> Floats:
    """Ramps (rows) over so many points, from 0 to 1."""
    shapes: Floats = np.arange(count, dtype=float) - starts[:, None]
    shapes /= (ends - starts)[:, None]
    np.maximum(shapes, 0.0, out=shapes)
    return np.minimum(shapes, 1.0, out=shapes)


class Fit(msgspec.Struct, frozen=True, eq=False):
    """A series cut up under one model.

    `starts` are the first points of the stretches but the first one, `chosen` the columns of their levels in `costs`,
    which holds the cost of every point at every level where it is. `residuals` are those of the runs. `memory` is the
    share of a point's residual that the next one inherits, `slope` is per point. `shifts` are the first points with
    other noise, `wave` is what comes and goes with a period, `ramps` are drifts. `growth` is the noise of every point
    relative to the typical one, where it is in proportion to the level. `rivals` are the starts under other models
    that explain nearly as much. `total` is in nats.
    """

    starts: list[int]
    chosen: list[int]
    costs: Floats
    residuals: Floats
    total: float
    memory: float = 0.0
    slope: float = 0.0
    shifts: Sequence[int] = ()
    wave: Floats | None = None
    ramps: tuple[Ramp, ...] = ()
    growth: Floats | None = None
    rivals: tuple[Sequence[int], ...] = ()

    def keeping(self, starts: list[int]) -> Fit:
        """The fit with these of its starts alone."""
        if len(starts) == len(self.starts):
            return self
        levels = np.add.reduceat(self.costs, [0, *starts], axis=0).argmin(axis=1)
        return replace(self, starts=starts, chosen=levels.tolist())

    def agreed(self) -> Fit:
        """The fit without the changes that a rival does not have."""
        return self.keeping([start for start in self.starts if all(_is_beside(start, rival) for rival in self.rivals)])

    def point_residuals(self, points: Points) -> Floats:
        """That of the median of the runs of every point: a mean would follow each run that was disturbed."""
        if points.single:
            return self.residuals
        expected = points.values[points.first] - self.residuals[points.first]
        return points.centers - expected

    def standard_residuals(self, points: Points) -> Floats:
        """The same in the noise of the machine."""
        residuals = self.point_residuals(points)
        return residuals if points.machine is None else residuals / points.noise

    def steps(self, points: Points) -> list[float]:
        """The sizes of its steps beside the slope, in spreads."""
        first = np.array(self.starts, dtype=np.intp)
        expected = points.centers - self.point_residuals(points)
        sizes: list[float] = (expected[first] - expected[first - 1] - self.slope).tolist()
        return sizes

    def trend(self, count: int) -> Floats:
        """What the level of each point grows by without a change: the slope and the drifts."""
        trend: Floats = self.slope * _times(count)
        for ramp in self.ramps:
            trend = trend + ramp.trend(count)
        return trend


def waving(points: Points, best: Fit, penalty: float) -> Fit:
    """The same with a wave taken away, if there is one and that is the shorter account. Steps that followed the wave
    hid a part of it: it is fitted again beside the steps that are left."""
    fitted_wave = wave(bounded(best.point_residuals(points)), best.starts)
    if fitted_wave is None:
        return best
    waved = _without_wave(points, fitted_wave, penalty)
    for _ in range(_AGAIN):
        refitted_wave = wave(bounded(waved.point_residuals(points)) + fitted_wave, waved.starts)
        if refitted_wave is None or float(np.abs(refitted_wave - fitted_wave).max()) < _OTHER:
            break
        refitted = _without_wave(points, refitted_wave, penalty)
        if refitted.total >= waved.total:
            break
        waved, fitted_wave = refitted, refitted_wave
    return _shortest([waved, best])


def _without_wave(points: Points, fitted_wave: Floats, penalty: float) -> Fit:
    """The best of the models of what is left beside this wave."""
    fitted = calm(points.minus(fitted_wave), penalty)
    return replace(fitted, wave=fitted_wave, total=fitted.total + WAVE)


def calm(points: Points, penalty: float) -> Fit:
    """The best of the models without a wave. Where even independent normal noise needs no change, none is looked at
    further."""
    centers = level_candidates(points)
    plain = _plain(points, penalty)
    first = independent(points, centers, plain, penalty)
    shifts = spread_shifts(first.standard_residuals(points), points.quantum)
    if shifts:
        points = points.spread_by(spreads(first.standard_residuals(points), shifts))
        first = replace(independent(points, centers, plain, penalty), shifts=shifts)
    elif (grown := _growing(points, centers, penalty)) is not None:
        return grown
    if not first.starts:
        return first
    best = _best(points, centers, first, points.run_noise, penalty)
    best = replace(best, shifts=shifts) if shifts else best
    if not shifts or points.spread is None or len(best.starts) < 2 or _is_ordered(points):
        return best
    # The noise around levels that are none can seem to change.
    unchanged = _unchanged(points.spread_by(None), penalty)
    by_shifts = points.spread if points.machine is None else points.spread / points.machine
    wider = float(points.weight @ np.log(by_shifts))  # of every run, so that both totals are of the same values
    return unchanged if unchanged.total < best.total + wider else best


def _growing(points: Points, centers: Floats, penalty: float) -> Fit | None:
    """The best of the models if the noise is in proportion to the level; None where it is not, or nothing changes."""
    levels = _levels_with_noise(points, centers, penalty)
    if levels is None:
        return None
    # Of few points the noise that is known is that of either level: here it is that of all, as a share of each.
    of_runs = points.per_run(levels)
    share = median(np.abs(points.values - points.zero - of_runs) / of_runs) * NORMAL
    growth = levels * share if share else levels / median(levels)
    points = points.spread_by(growth)
    centers = np.concatenate([centers, distinct(levels) + points.zero])
    first = independent(points, centers, noise.normal(1.0, BOUND * penalty), penalty)
    best = _best(points, centers, first, 1.0, penalty) if first.starts else first
    return replace(best, growth=growth) if best.starts else None


def _levels_with_noise(points: Points, centers: Floats, penalty: float) -> Floats | None:
    """The level of every point, in units above an amount of 0, if the noise is in proportion to it: then it is alike
    everywhere in the logarithms, in which the levels are found. None where it is not, or no level is far from the
    others."""
    logarithms = in_logarithms(points) if _spans(points, centers) else None
    if logarithms is None:
        return None
    bounds = [0, *quick(logarithms, penalty), len(points)]
    amounts = points.centers - points.zero
    levels = np.array([median(amounts[start:end]) for start, end in pairwise(bounds)])
    if levels.max() < _GROWTH * levels.min():
        return None
    levels = np.repeat(levels, np.diff(bounds))
    expected = points.per_run(levels)
    residuals = np.abs(points.values - points.zero - expected)
    if points.machine is not None:
        residuals /= points.machine
    # Laplace's law of either noise: the logarithm of its scale for every run, and of what that is multiplied by.
    alike = math.log(float(points.weight @ residuals) + _TINY)
    wider = float(points.weight @ np.log(expected)) / points.total_weight
    proportional = math.log(float(points.weight @ (residuals / expected)) + _TINY) + wider
    return levels if proportional < alike else None


def _spans(points: Points, centers: Floats) -> bool:
    """Whether neighbours have levels that are a multiple of those of others, all of them amounts above 0."""
    zero = points.zero
    if not math.isfinite(zero) or points.values.item(points.values.argmin()) <= zero:
        return False
    # Of differences from one number the greatest is that of the greatest, rounded alike.
    return centers.item(centers.argmax()) - zero >= _GROWTH * (centers.item(centers.argmin()) - zero)


def _best(points: Points, centers: Floats, first: Fit, deviation: float, penalty: float) -> Fit:
    """The best of the models, of which the first was fitted with normal noise of this deviation."""
    density = density_of(points, first.residuals, penalty)
    expected = density.deviation is not None and abs(density.deviation / deviation - 1) <= _NEAR
    refitted = first if expected else independent(points, centers, density, penalty)
    if density.deviation is None:
        refitted = _refined(points, centers, refitted, density, penalty)
    best = refitted
    if len(refitted.starts) > 1 and not _is_ordered(points):
        best = min(refitted, _unchanged(points, penalty), key=_total)
    if not best.starts:
        return first if _is_elsewhere(points, best) else best
    others = list(_others(points, centers, best, penalty))
    sloping = min((other for other in others if other.slope), key=_total, default=None)
    if sloping is not None and sloping.total < best.total + _PROMISING:
        others += _resloped(points, sloping, penalty)
    return _shortest([best, *(other for other in others if not _is_elsewhere(points, other))])


def _shortest(fits: Sequence[Fit]) -> Fit:
    """The fit that is the shortest account, with its rivals."""
    best = min(fits, key=_total)
    rivals = [fitted.starts for fitted in fits if fitted is not best and rivals_with(fitted, best)]
    return replace(best, rivals=(*best.rivals, *rivals)) if rivals else best


def rivals_with(fitted: Fit, best: Fit) -> bool:
    """Whether chance may decide which of them is shorter: a few more points would make it the other one."""
    return len(fitted.costs) >= _TELLING and fitted.total < best.total + _RIVAL


def _is_beside(start: int, starts: Sequence[int]) -> bool:
    return any(abs(start - other) <= _BESIDE for other in starts)


def _is_elsewhere(points: Points, fitted: Fit) -> bool:
    """Whether a fit without a change has a level that a quarter of the points has nothing to do with: that is none,
    however well it explains the others."""
    if fitted.starts:
        return False
    residuals = fitted.residuals if points.spread is None else fitted.residuals / points.spread
    far = np.count_nonzero(np.abs(points.means(residuals)) > _ELSEWHERE)
    return bool(far / len(points) > _STRAYS)


def _resloped(points: Points, fitted: Fit, penalty: float) -> Iterator[Fit]:
    """The fit with the slope that is within the stretches of this one, if it is another."""
    more, _ = _slope_within(points, fitted, _times(len(points)))
    if abs(more) * len(points) >= _LITTLE:
        yield _sloping(points, fitted, fitted.slope + more, penalty)


@functools.lru_cache(maxsize=256)
def _times(count: int) -> Floats:
    """The numbers of so many points, around 0."""
    times: Floats = np.arange(count, dtype=float) - (count - 1) / 2
    times.flags.writeable = False
    return times


def _slope_within(points: Points, fitted: Fit, time: Floats) -> tuple[float, bool]:
    """The slope that a fit leaves within its stretches, and whether it is more than chance."""
    residuals = within(fitted.point_residuals(points), 3.0)
    inside = time - stretch_means(time, fitted.starts)
    lever = float(inside.dot(inside))
    slope = float(inside.dot(residuals)) / lever if lever else 0.0
    return slope, slope * slope * lever > float(residuals.dot(residuals)) / len(points)


def _refined(points: Points, centers: Floats, fitted: Fit, density: Density, penalty: float) -> Fit:
    """The fit with the density of its own residuals, which those of normal noise had told only roughly. If it is far
    narrower, half of the series does not vary, and the rest would be strays."""
    refined = density_of(points, fitted.residuals, penalty)
    if refined.step < density.step * _NARROWER:
        return fitted
    return min(fitted, independent(points, centers, refined, penalty), key=_total)


def quick(points: Points, penalty: float) -> list[int]:
    """The first points of the stretches if noise is independent and normal."""
    return independent(points, level_candidates(points), _plain(points, penalty), penalty).starts


def _plain(points: Points, penalty: float) -> Density:
    """Normal noise of the runs, before more of it is known."""
    return noise.normal(points.run_noise, BOUND * penalty)


def quick_of_rows(rows: Floats, penalty: float) -> dict[int, list[int]]:
    """The same of series (rows) of one run for each point, by their numbers; without those that are not as most."""
    read = read_rows(rows)
    if read is None:
        return {}
    ends = (running_medians(read.centers[:, part], 3) for part in (slice(_END), slice(-_END, None)))
    plain = noise.normal(1.0, BOUND * penalty)
    grids = [plain.grid(row, None) for row in np.concatenate((read.medians, *ends), axis=1)]
    sizes = list(map(len, grids))
    levels = np.zeros((len(grids), max(sizes)))
    for padded, grid in zip(levels, grids, strict=True):
        padded[: len(grid)] = grid
    starts = starts_of_rows(plain.cost(read.centers, levels), sizes, penalty, read.cuts)
    return dict(zip(read.numbers.tolist(), starts, strict=True))


def _is_ordered(points: Points) -> bool:
    """Whether neighbours are alike: then the values are no noise around one level, however well they could be."""
    near = within(points.centers if points.machine is None else points.centers / points.noise, _CLOSE)
    near -= float(np.add.reduce(near)) / len(near)
    return _are_alike(near, min(_ALIKE, -NormalDist().inv_cdf(min(_ALIKE_BY_CHANCE / len(near), 0.5))))


def _are_alike(values: Floats, deviations: float) -> bool:
    """Whether the autocorrelation of values around their mean is this many standard deviations above that of
    independent ones, which is -1 / n with a variance of (n - 2)² / (n² (n - 1)) (P. A. P. Moran, 1948, Biometrika
    35)."""
    count, squares = len(values), float(values.dot(values))
    deviation = (count - 2) / (count * math.sqrt(count - 1))
    return bool(float(values[1:].dot(values[:-1])) > (deviations * deviation - 1 / count) * squares)


def _total(fitted: Fit) -> float:
    return fitted.total


def density_of(points: Points, residuals: Floats, penalty: float) -> Density:
    scaled = residuals if points.spread is None else residuals / points.spread
    if points.varying is not None:  # what never varies would make all others strays
        scaled = scaled[points.varying]
    return noise.estimate(scaled, points.quantum, BOUND * penalty)


def _unchanged(points: Points, penalty: float) -> Fit:
    """The series as noise around one level. Two modes, taken at random, look like many changes at first."""
    level = np.array([median(points.values)])
    residuals = points.values - level
    density = density_of(points, residuals, penalty)
    costs = _costs(points, density, density.cost(points.values, level, points.spread))
    return Fit([], [0], costs, residuals, float(costs.sum()) + density.floor * points.total_weight)


def independent(points: Points, centers: Floats, density: Density, penalty: float) -> Fit:
    """Every point has noise of its own."""
    grid = density.grid(centers, points.spread)
    costs = _costs(points, density, density.cost(points.values, grid, points.spread))
    return _cut(points, grid, costs, None, density, penalty)


def _others(points: Points, centers: Floats, best: Fit, penalty: float) -> Iterator[Fit]:
    """The other models, those of them that a glance at the series does not exclude. A longer memory is not tried where
    a shorter one explains much less than none, nor a slope where memory explains much more with few changes: many of
    them may be a slope that bends."""
    shortest = best
    if _may_remember(points, best):
        for memory in _MEMORIES:
            remembering = _remembering(points, centers, best, memory, penalty)
            yield remembering
            if remembering.total > best.total + _BEHIND:
                break
            shortest = min(shortest, remembering, key=_total)
    is_told_by_memory = shortest.total < best.total - _BEHIND and len(shortest.starts) * _SELDOM < len(points)
    sloping = []
    for slope in [] if is_told_by_memory else _slopes(points, best):
        sloping.append(_sloping(points, best, slope, penalty))
        yield sloping[-1]
    if all(fitted.starts for fitted in sloping):
        for slope in _steady(points):
            fitted = _sloping(points, best, slope, penalty)
            against = [abs(size) for size in fitted.steps(points) if size * slope < 0]
            # Small ones would only make up for a slope that is too steep.
            if not fitted.starts or min(against, default=0.0) > _LARGE:
                yield fitted


def _steady(points: Points) -> Iterator[float]:
    """The median growth over an eighth of the series, if it is clear. Steps in the other direction hide a slope from
    the medians of halves; few of them, however large, hardly touch this."""
    lag = max(len(points) // 8, 4)
    if len(points) < 4 * lag:
        return
    differences = points.centers[lag:] - points.centers[:-lag]
    growth = median(differences)
    spread = median(np.abs(differences - growth)) * NORMAL
    # A median has 1.25 times the standard error of a mean, and differences that overlap tell little more than one.
    if abs(growth) > _CLEARLY * 1.25 * spread * math.sqrt(lag / len(differences)):
        yield growth / lag


def _may_remember(points: Points, best: Fit) -> bool:
    """Whether second neighbours differ by more than first ones do, or changes are suspiciously many. With memory m
    the mean squares of those differences are as 1 - m² to 1 - m, and a few steps hardly touch them."""
    if points.varying is not None and not points.single:  # what hardly varies is no memory, though all of it is alike
        return _are_alike(best.standard_residuals(points)[points.varying[points.first]], _PERHAPS_ALIKE)
    if len(best.starts) * _SELDOM >= len(points):
        return True
    squares = (np.minimum((points.centers[lag:] - points.centers[:-lag]) ** 2, _FAR) for lag in (1, 2))
    first, second = (float(np.add.reduce(near)) / len(near) for near in squares)
    return second > 1.2 * first


def _remembering(points: Points, centers: Floats, best: Fit, memory: float, penalty: float) -> Fit:
    """A point is predicted from the one before, unless it is the first of a stretch, which starts afresh."""
    residuals = best.point_residuals(points)
    innovations = best.residuals - points.per_run(memory * _previous(residuals))
    density = density_of(points, innovations, penalty)
    grid = density.grid(centers, points.spread)
    fresh = math.sqrt(1 - memory**2)
    move = _costs(points, density, density.cost(points.values * fresh, grid * fresh, points.spread))
    narrower = math.log(fresh)  # of every run, as far as it counts
    move -= narrower if points.single else (narrower * np.bincount(points.point, points.weight))[:, None]
    predicted = points.per_run(memory * _previous(points.centers))
    stay = _costs(points, density, density.cost(points.values - predicted, grid * (1 - memory), points.spread))
    stay[0] = move[0]
    fitted = _cut(points, grid, stay, move, density, penalty)
    return replace(fitted, memory=memory, total=fitted.total + MEMORY)


def _slopes(points: Points, best: Fit) -> Iterator[float]:
    """Slopes to try: that of the series without its large changes, which small changes may have been taken for, and
    the one within the stretches, which no change touches, if it is more than chance. The first one is the median
    growth from half of the series to the other, then improved by least squares of what is left, of which no point
    counts for much (one step of an M-estimate: P. Bickel, 1975, JASA 70(350))."""
    time, half = _times(len(points)), len(points) // 2
    expected, flat = points.centers - best.point_residuals(points), points.centers.copy()
    for start in best.starts:
        size = expected[start] - expected[start - 1]
        flat[start:] -= size if abs(size) >= _LARGE else 0.0
    across = median(flat[half:] - flat[: len(points) - half]) / half
    left = flat - across * time
    across += float(time.dot(within(left - median(left), 3.0))) / float(time.dot(time))
    # A slope that grows by s spreads over n points explains n s^2 / 24 nats.
    if across**2 * len(points) ** 3 / 24 > SLOPE:
        yield across
    inside, is_clear = _slope_within(points, best, time)
    if is_clear:
        yield inside


def _sloping(points: Points, best: Fit, slope: float, penalty: float) -> Fit:
    """What is left when the slope is taken away has independent noise."""
    time = _times(len(points))
    trend, added = slope * time, (slope - best.slope) * time
    level = points.minus(trend)
    residuals = best.residuals - points.per_run(added - stretch_means(added, best.starts))
    fitted = independent(level, level_candidates(level), density_of(points, residuals, penalty), penalty)
    return replace(fitted, slope=slope, total=fitted.total + slope_price(slope * len(points)))


def slope_price(height: float) -> float:
    """What growth by so many spreads costs, in nats."""
    return SLOPE + min((height / _STEEP) ** 2 / 2, _STEEPEST)


def _cut(points: Points, grid: Floats, stay: Floats, move: Floats | None, density: Density, penalty: float) -> Fit:
    cut = partition_at(stay, move, penalty, points.cuts)
    lengths = [end - start for start, end in pairwise([0, *cut.starts, len(points)])]
    expected = grid.take(cut.levels).repeat(lengths)
    residuals = points.values - points.per_run(expected)
    if move is not None:
        stay[cut.starts] = move[cut.starts]
    return Fit(cut.starts, cut.levels, stay, residuals, cut.cost + density.floor * points.total_weight)


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
    previous = np.empty(len(centers))
    previous[0], previous[1:] = 0.0, centers[:-1]
    return previous


def level_candidates(points: Points) -> Floats:
    """Where levels may be: medians of five neighbours, and of three near the ends, where stretches are short, or the
    middle of the two at an end."""
    values = points.centers
    first, last = values[:_END].tolist(), values[-_END:].tolist()
    ends = [*_medians_of_three(first), *_medians_of_three(last), *(sum(two) / 2 for two in (first[:2], last[-2:]))]
    return np.concatenate((points.medians, ends))


def _medians_of_three(values: list[float]) -> list[float]:
    """Those of neighbours, of values so few that arrays would take longer."""
    return [sorted(near)[1] for near in zip(values, values[1:], values[2:], strict=False)] or [median(np.array(values))]
