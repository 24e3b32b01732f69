"""From a series cut up to changes with sizes, intervals and p-values."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from statistics import NormalDist

import numpy as np
from msgspec.structs import replace

from perfcore_check_changepoint import wander
from perfcore_check_changepoint.model import Fit
from perfcore_check_changepoint.partition import Floats
from perfcore_check_changepoint.points import ChangePoint
from perfcore_check_changepoint.run_spread import SpreadChange
from perfcore_check_changepoint.series import NORMAL, Points, median

# The trimmed mean with its winsorised variance: K. K. Yuen, 1974, Biometrika 61(1).
_TRIMMED = 0.2  # share of the points on either side that a level does not follow
_LIKELY = 1.92  # nats: half of the 95 % quantile of chi-squared with one degree of freedom
_ENOUGH = 20  # points whose noise is estimated from themselves alone
_BESIDE = 5  # points within which another noise comes with another level
_FEW = 30  # changes that are compared one by one in less time than with arrays
_TAKEN_BACK = 0.1  # of what a drift grows by, from which on a step against it divides it
_SHORTEST_PART = 4  # points of a drift between steps against it, below which it is none of its own
_GAP = 3  # points between two parts of a drift, at most
_LATER = 1000  # changes after which none is undone any more
_ROUNDING = 1e-9  # of the amount in the middle of a series, under which a level is the rounding of 0
_LARGEST = 1.7e308  # below the largest float, so that no size is infinite


def changes(
    points: Points,
    fit: Fit,
    of_runs: Sequence[SpreadChange],
    penalty: float,
    confidence: float,
    needed: Callable[[int], float] = lambda index: 0.0,
) -> list[ChangePoint]:
    """All changes of a series, in order: `of_runs` are those of the spread of its runs. Those of the noise have to
    explain as much as those of the level. `needed` is what a step at an index has to explain, in nats."""
    noisier = [shift for shift in fit.shifts if all(abs(shift - start) > _BESIDE for start in fit.starts)]
    between = [c for c in _noise_changes(points, fit, noisier, confidence) if c.gain >= penalty]
    steps = set(wander.lasting(points, fit, penalty))
    changed = _level_changes(points, fit, confidence)
    if sum(change.gain < needed(change.index) for change in changed) > 1:  # one alone makes no other stronger
        fit = _without_weak(points, fit, needed)
        changed = _level_changes(points, fit, confidence)
    levels = [
        change
        for change, start in zip(changed, fit.starts, strict=True)
        if start in steps and not change.low <= 0 <= change.high
    ]
    noise = _strongest([*between, *_run_noise(points, of_runs, confidence)])
    all_changes = [*levels, *_drifts(points, fit, confidence), *noise]
    return sorted(all_changes, key=lambda change: change.index)


def _without_weak(points: Points, fit: Fit, needed: Callable[[int], float]) -> Fit:
    """The fit without the steps that explain too little, the weakest first, where another that did explains enough
    without them: a version on the way, that is near neither level, may take half of a step."""
    fitted, weak = fit, set(fit.starts)
    while weak:
        evidence = _evidence(fitted, [0, *fitted.starts, len(points)])
        excess = {
            start: gain - needed(points.indexes.item(start))
            for start, (gain, _, _) in zip(fitted.starts, evidence, strict=True)
        }
        if fitted is not fit and any(excess[start] >= 0 for start in weak):
            return fitted
        weak = {start for start in weak if excess[start] < 0}
        if weak:
            weakest = min(weak, key=lambda start: excess[start])
            weak.remove(weakest)
            fitted = fitted.keeping([start for start in fitted.starts if start != weakest])
    return fit


def _level_changes(points: Points, fit: Fit, confidence: float) -> list[ChangePoint]:
    if not fit.starts:
        return []
    bounds = [0, *fit.starts, len(points)]
    trend = fit.trend(len(points))
    flat = points.centers - (trend if fit.wave is None else trend + fit.wave)
    stretches = [flat[start:end] for start, end in pairwise(bounds)]
    levels = [_trimmed_mean(stretch) for stretch in stretches]
    noise = points.noise
    residuals = np.concatenate([stretch - level for stretch, level in zip(stretches, levels, strict=True)])
    residuals = residuals if points.machine is None else residuals / noise
    changes = []
    for segment, (gain, earliest, latest) in enumerate(_evidence(fit, bounds)):
        start, index, end = bounds[segment : segment + 3]
        if points.machine is None:  # each has noise of 1
            means = (index - start) / (index - start) ** 2 + (end - index) / (end - index) ** 2
        else:
            means = sum(float(noise[a:b] @ noise[a:b]) / (b - a) ** 2 for a, b in ((start, index), (index, end)))
        error = _half_interval(residuals, start, end, means, fit.memory, confidence)
        size, base = levels[segment + 1] - levels[segment], levels[segment] + trend[index]
        changes.append(
            ChangePoint(
                index=points.indexes.item(index),
                earliest=points.indexes.item(earliest),
                latest=points.indexes.item(latest),
                before=amount(base, points),
                after=amount(base + size, points),
                low=bounded((size - error) * points.unit),
                high=bounded((size + error) * points.unit),
                gain=gain,
                p_value=p_value(gain, len(points)),
            )
        )
    return changes


def _drifts(points: Points, fit: Fit, confidence: float) -> Iterator[ChangePoint]:
    """Drifts from the level at their beginning to that level with all of their growth: each of its parts between steps
    in the other direction, after which it goes on."""
    count = len(points)
    expected = points.centers - fit.point_residuals(points) if fit.ramps else points.centers
    for ramp in fit.ramps:
        against = [
            start
            for start in fit.starts
            if ramp.start < start < ramp.end
            and (expected[start - 1] - expected[start]) * math.copysign(1.0, ramp.height)
            > _TAKEN_BACK * abs(ramp.height)
        ]
        bounds = [ramp.start, *against, ramp.end + 1]
        growth = ramp.height / (ramp.end - ramp.start)
        error = NormalDist().inv_cdf((1 + confidence) / 2) * ramp.error / abs(ramp.height or 1.0)
        for start, end in pairwise(bounds):
            if against and end - start < _SHORTEST_PART:
                continue
            is_first, height = start == ramp.start, growth * (end - 1 - start)
            base = float(expected[start]) - (float(ramp.trend(count)[start]) if is_first else 0.0)
            yield ChangePoint(
                index=int(points.indexes[start + 1]),
                kind="drift",
                earliest=int(points.indexes[ramp.earliest + 1 if is_first else start + 1]),
                latest=int(points.indexes[min(ramp.latest, end - 2) + 1 if is_first else start + 1]),
                until=int(points.indexes[end - 1]),
                before=amount(base, points),
                after=amount(base + height, points),
                low=bounded((height - error * abs(height)) * points.unit),
                high=bounded((height + error * abs(height)) * points.unit),
                gain=ramp.gain,
                p_value=p_value(ramp.gain, count),
            )


def _evidence(fit: Fit, bounds: list[int]) -> list[tuple[float, int, int]]:
    """For every change its gain in likelihood over one level for both segments, and the first and last index at which
    its likelihood is not clearly less."""
    sums = np.add.reduceat(fit.costs, bounds[:-1], axis=0)
    evidence = []
    for segment, index in enumerate(fit.starts):
        level_before, level_after = fit.chosen[segment], fit.chosen[segment + 1]
        apart = sums[segment, level_before] + sums[segment + 1, level_after]
        together = sums[segment] + sums[segment + 1]
        gain = max(float(together[together.argmin()] - apart), 0.0)
        start, end = bounds[segment], bounds[segment + 2]
        moved = np.add.accumulate(fit.costs[start:end, level_before] - fit.costs[start:end, level_after])[:-1]
        likely = (moved <= moved.item(index - start - 1) + _LIKELY).nonzero()[0]
        evidence.append((gain, likely.item(0) + start + 1, likely.item(-1) + start + 1))
    return evidence


def p_value(gain: float, count: int) -> float:
    """Twice the gain is chi-squared with one degree of freedom at one place (Wilks, 1938); with any of `count` places
    there are as many chances (Bonferroni)."""
    return min(1.0, count * math.erfc(math.sqrt(gain)))


def _trimmed_mean(values: Floats) -> float:
    ordered = values.copy()
    ordered.sort()
    cut = int(_TRIMMED * len(ordered))
    return float(np.add.reduce(ordered[cut : len(ordered) - cut])) / (len(ordered) - 2 * cut)  # .mean() takes longer


def _half_interval(left: Floats, start: int, end: int, means: float, memory: float, confidence: float) -> float:
    """Half the interval of a difference of two trimmed means (Tukey and McLaughlin, 1963, Sankhya A 25): their
    variance is that of the winsorised values times that of two `means` of values with variance 1. Few points borrow the
    noise of the whole series. Memory makes every point tell less: the variance of a mean is (1 + m) / (1 - m) times as
    large."""
    ordered = (left[start:end] if end - start >= _ENOUGH else left).copy()
    ordered.sort()
    count, cut = len(ordered), int(_TRIMMED * len(ordered))
    ordered[:cut] = ordered[cut]
    ordered[count - cut :] = ordered[count - cut - 1]
    freedom = max(count - 2 * cut - 2, 1)
    ordered -= float(np.add.reduce(ordered)) / count
    squares = float(ordered.dot(ordered)) / max(count - 2, 1)
    variance = squares / (1 - 2 * _TRIMMED) ** 2 * means
    return student(confidence, freedom) * math.sqrt(variance * (1 + memory) / (1 - memory))


@functools.lru_cache(maxsize=1024)
def student(confidence: float, freedom: int) -> float:
    """The quantile of Student's t, by its expansion (Abramowitz and Stegun, 26.7.5)."""
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    terms: tuple[float, ...] = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
    )
    return z + math.fsum(term / freedom**power for power, term in enumerate(terms, 1))


def _noise_changes(points: Points, fit: Fit, shifts: list[int], confidence: float) -> list[ChangePoint]:
    if not shifts:
        return []
    sizes = np.abs(fit.standard_residuals(points))
    bounds = [0, *shifts, len(points)]
    return [
        _noise_change(points, sizes[start:end], start, index, confidence)
        for start, index, end in zip(bounds, shifts, bounds[2:], strict=False)
    ]


def _noise_change(points: Points, sizes: Floats, start: int, index: int, confidence: float) -> ChangePoint:
    """The noise of both sides from median absolute deviations, whose logarithms have a variance of 1.35 / n for normal
    noise (0.37 is their efficiency; Huber, 1981)."""
    offset = index - start
    tiny = 1e-9 * float(sizes.sum()) + 1e-300
    before = np.arange(1, len(sizes))
    firsts, total = sizes.cumsum()[:-1], float(sizes.sum())
    costs = before * np.log((firsts + tiny) / before)
    costs += (len(sizes) - before) * np.log((total - firsts + tiny) / (len(sizes) - before))
    gain = max(len(sizes) * math.log((total + tiny) / len(sizes)) - float(costs[offset - 1]), 0.0)
    likely = before[costs <= costs[offset - 1] + _LIKELY]
    low, high = (max(median(side) * NORMAL, 1e-9) for side in (sizes[:offset], sizes[offset:]))
    unit = points.unit * float(points.noise[index])
    error = NormalDist().inv_cdf((1 + confidence) / 2) * math.sqrt(1.35 * (1 / offset + 1 / (len(sizes) - offset)))
    return ChangePoint(
        index=int(points.indexes[index]),
        kind="noise",
        earliest=int(points.indexes[start + min(offset, int(likely[0]))]),
        latest=int(points.indexes[start + max(offset, int(likely[-1]))]),
        before=bounded(low * unit),
        after=bounded(high * unit),
        low=bounded((high * math.exp(-error) - low) * unit),
        high=bounded((high * math.exp(error) - low) * unit),
        gain=gain,
        p_value=p_value(gain, len(points)),
    )


def _run_noise(points: Points, of_runs: Sequence[SpreadChange], confidence: float) -> Iterator[ChangePoint]:
    """The changes of the spread of the runs of a version, but those that are in proportion to the level."""
    for change in of_runs:
        ratio = math.exp(change.after - change.before)
        before = math.exp(change.before)
        error = NormalDist().inv_cdf((1 + confidence) / 2) * change.error
        low, high = (before * (ratio * math.exp(sign * error) - 1) for sign in (-1, 1))
        yield ChangePoint(
            index=int(points.indexes[change.index]),
            kind="noise",
            earliest=int(points.indexes[change.earliest]),
            latest=int(points.indexes[change.latest]),
            before=bounded(before * points.unit),
            after=bounded(before * ratio * points.unit),
            low=bounded(low * points.unit),
            high=bounded(high * points.unit),
            gain=change.gain,
            p_value=p_value(change.gain, len(points)),
        )


def _strongest(noise: Sequence[ChangePoint]) -> list[ChangePoint]:
    """Of changes of the noise side by side, of the runs and of the versions, that with the strongest evidence."""
    selected: list[ChangePoint] = []
    for change in sorted(noise, key=lambda change: (-change.gain, change.index)):
        if all(abs(change.index - other.index) > _BESIDE for other in selected):
            selected.append(change)
    return selected


def amount(level: float, points: Points) -> float:
    """That of a level in the units of the points, exactly 0 where the difference is what rounding left of 0."""
    value = float(level) * points.unit + points.origin
    return bounded(value) if abs(value) > _ROUNDING * abs(points.origin) else 0.0


def bounded(value: float) -> float:
    """The value, or the largest one that there is, so that no size is infinite."""
    return min(max(value, -_LARGEST), _LARGEST)


def undone(found: list[ChangePoint]) -> list[ChangePoint]:
    """The same changes, each with the later change in the other direction that brought the old level back: to within a
    quarter of the change, or within half where the sizes are less certain. If the first step of a staircase is undone,
    so is every other step that the level passes on its way back. A change that goes past the old level without that is
    a new one: an improvement elsewhere does not undo a regression. So is one after `_LATER` other changes."""
    levels = [change for change in found if change.kind != "noise"]
    if len({change.after > change.before for change in levels}) < len((True, False)):
        return found  # none without one in the other direction
    undone_by = dict(zip(map(id, levels), _undone(levels), strict=True))
    return [replace(c, undone=_end(levels[undone_by[id(c)]])) if undone_by.get(id(c)) else c for c in found]


def _end(change: ChangePoint) -> int:
    """The first point that shows all of a change."""
    return change.index if change.until is None else change.until


def joined(found: list[ChangePoint]) -> list[ChangePoint]:
    """The same changes, those parts of a drift as one that neighbouring windows show, or that a curve has."""
    changes: list[ChangePoint] = []
    drifts: dict[bool, int] = {}  # the last one in either direction, by its number
    for change in found:
        number = drifts.get(change.size > 0) if change.until is not None else None
        before = None if number is None else changes[number]
        if change.kind == "level":  # a drift that goes on behind a step against it is another one
            drifts.pop(change.size < 0, None)
        if change.until is None or number is None or before is None or change.index > _end(before) + _GAP:
            if change.until is not None:
                drifts[change.size > 0] = len(changes)
            changes.append(change)
        else:
            changes[number] = _continued(before, change)
    return changes


def _continued(drift: ChangePoint, part: ChangePoint) -> ChangePoint:
    if _end(part) <= _end(drift):
        return drift
    size = part.after - drift.before
    error = math.hypot(drift.high - drift.low, part.high - part.low) / 2
    return replace(
        drift,
        until=part.until,
        after=part.after,
        low=size - error,
        high=size + error,
        gain=drift.gain + part.gain,
        p_value=min(drift.p_value, part.p_value),
    )


def _undone(levels: list[ChangePoint]) -> list[int]:
    """The number of the change that undoes each of them, 0 where none does."""
    brought_back = _returns(levels, exactly=True)
    if not any(brought_back):
        return brought_back
    behind = _returns(levels, exactly=False)
    last = {True: 0, False: 0}  # the last return to a level that was left in this direction
    for index, change in enumerate(levels):
        up = change.after > change.before
        if not brought_back[index] and behind[index] <= last[up]:
            brought_back[index] = behind[index]
        last[up] = max(last[up], brought_back[index])
    return brought_back


def _returns(levels: list[ChangePoint], *, exactly: bool) -> list[int]:
    """The number of the change in the other direction that first brings back the level before each of them, or goes
    behind it; 0 where none does. All are compared with the next one, those that are left with the one after it, and so
    on."""
    if len(levels) <= _FEW:
        return [_return(levels, number, exactly) for number in range(len(levels))]
    before, after, low, high = (
        np.array([getattr(change, name) for change in levels]) for name in ("before", "after", "low", "high")
    )
    with np.errstate(over="ignore"):
        size, error = after - before, (high - low) / 2
        returns, pending = np.zeros(len(levels), dtype=np.int64), np.arange(len(levels))
        for lag in range(1, min(_LATER + 1, len(levels))):
            pending = pending[: np.searchsorted(pending, len(levels) - lag)]
            candidates, sizes = pending + lag, np.abs(size[pending])
            near = np.minimum(sizes / 4 + np.hypot(error[pending], error[candidates]), sizes / 2)
            short = np.sign(size[pending]) * (
                after[candidates] - before[pending]
            )  # how far from the old level it remains
            is_return = (
                ((size[candidates] > 0) != (size[pending] > 0)) & (short <= near) & ((short >= -near) | (not exactly))
            )
            returns[pending[is_return]] = candidates[is_return]
            pending = pending[~is_return]
    return [int(index) for index in returns]


def _return(levels: Sequence[ChangePoint], number: int, exactly: bool) -> int:
    """The same for one of few changes, compared with every later one."""
    change = levels[number]
    size, error = change.after - change.before, (change.high - change.low) / 2
    half = abs(size) / 2
    for index in range(number + 1, len(levels)):
        later = levels[index]
        if (later.after > later.before) == (size > 0):
            continue
        short = later.after - change.before if size > 0 else change.before - later.after if size < 0 else 0.0
        if short > half or (exactly and short < -half):
            continue
        near = min(abs(size) / 4 + float(np.hypot(error, (later.high - later.low) / 2)), half)
        if short <= near and (short >= -near or not exactly):
            return index
    return 0
