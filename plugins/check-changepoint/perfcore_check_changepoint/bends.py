"""Growth along a curve.

What bends is no ramp, and steps that follow it are no steps (`curves`). Growth by a share of the level in each version
is straight in logarithms. Any other curve grows all the same where the medians of many neighbouring parts come in
order: that of the next part of a random walk, whatever its size, and of noise is as often less as it is more.
"""

from __future__ import annotations

import math
from itertools import groupby, pairwise
from statistics import NormalDist

import numpy as np
from msgspec.structs import replace

from perfcore_check_changepoint import drift, run_spread, sizes
from perfcore_check_changepoint.partition import Floats
from perfcore_check_changepoint.points import ChangePoint
from perfcore_check_changepoint.runs import Runs
from perfcore_check_changepoint.series import Points, median, read

_CURVED = 0.405  # logarithm of 1.5: growth by a share to as many times the least amount is a curve
# Of 4,253 series of 80 shapes whose growth is told in logarithms, two are still by these; of those whose levels are far
# from each other (benchmarks/generated.py), four in five.
_STILL = 0.05  # logarithms by which the halves of a stretch between steps differ where nothing grows within it
_APART = 0.1  # logarithms by which either end differs from all of it there
_END = 3  # points
_BESIDE = 3  # points by which a step may be elsewhere on the other scale
_PARTS = (24, 14)  # of equal length, in which the series is looked at in turn
_LEAST = 1.0  # spreads by which the levels of its quarters differ, where it may have grown


def with_growth(
    changes: list[ChangePoint], points: Points, runs: Runs, penalty: float, confidence: float
) -> list[ChangePoint]:
    """The changes of a series with its drifts along a curve. `runs` are those of the points."""
    changes = _with_compound(changes, runs, penalty, confidence)
    if all(change.kind == "noise" for change in changes) and (bend := _growth(points, penalty, confidence)):
        changes = sorted([*changes, bend], key=lambda change: change.index)
    return changes


def _with_compound(changes: list[ChangePoint], runs: Runs, penalty: float, confidence: float) -> list[ChangePoint]:
    """The changes with the drifts by a share of the level in each version, where they explain more than those by an
    amount do. They are curves, unless they are small, and straight in logarithms; steps that follow the curve are none
    there."""
    if runs.machines is not None:
        return changes
    try:
        amounts = np.asarray(runs.amounts, dtype=float)
    except OverflowError:  # integers that no float can hold
        return changes
    if amounts.min() <= 0:
        return changes
    logarithms = np.log(amounts)
    if logarithms.max() - logarithms.min() < _CURVED or not _may_grow(changes, runs, logarithms):
        return changes
    points = read(replace(runs, amounts=logarithms))
    if points is None:
        return changes
    of_runs = run_spread.run_spread_changes(points, penalty)
    points = run_spread.with_own_noise(points, of_runs)
    in_logarithms = sizes.changes(points, drift.fit(points, penalty), of_runs, penalty, confidence)
    growing = {at for c in in_logarithms if c.kind == "drift" for at in range(c.index, (c.until or 0) + 1)}
    within, within_logarithms = (
        [c for c in scale if c.kind == "drift" or (c.kind == "level" and c.index in growing)]
        for scale in (changes, in_logarithms)
    )
    # What drifts explain, without what the steps beside them cost.
    straight, compound = (
        sum(c.gain if c.kind == "drift" else -penalty for c in scale) for scale in (within, within_logarithms)
    )
    if compound <= straight:
        return changes
    beside = [c for c in changes if c not in within or any(_is_same(c, other) for other in within_logarithms)]
    growth = (change.of_logarithms() for change in within_logarithms if change.kind == "drift")
    return sorted([*beside, *growth], key=lambda change: change.index)


def _may_grow(changes: list[ChangePoint], runs: Runs, logarithms: Floats) -> bool:
    """Whether there is more than levels with steps between them: a drift, or a stretch that grows, as those between
    steps that follow a curve do. Nearly as good as to look for growth, in a hundredth of the time."""
    if any(change.kind == "drift" for change in changes):
        return True
    bounds = [0, *(change.index for change in changes if change.kind == "level"), len(runs)]
    return any(_grows(logarithms, runs.ends[start : end + 1].tolist()) for start, end in pairwise(bounds))


def _grows(logarithms: Floats, ends: list[int]) -> bool:
    """Whether a stretch does not stay at one level. Its points end before these places in the logarithms."""
    count = len(ends) - 1
    if count <= _END:
        return False
    start, first, half, last, end = (ends[point] for point in (0, _END, count // 2, count - _END, count))
    level, *parts = (
        median(logarithms[begin:stop]) if begin < stop else math.nan
        for begin, stop in ((start, end), (start, half), (half, end), (start, first), (last, end))
    )
    differences = (parts[1] - parts[0], parts[2] - level, parts[3] - level)
    return any(abs(size) > most for size, most in zip(differences, (_STILL, _APART, _APART), strict=True))


def _is_same(change: ChangePoint, other: ChangePoint) -> bool:
    """Whether both are one step, seen on either scale: one that is seen on only one of them is a part of a curve."""
    return (
        change.kind == other.kind == "level"
        and abs(change.index - other.index) <= _BESIDE
        and (change.size > 0) == (other.size > 0)
    )


def _growth(points: Points, penalty: float, confidence: float) -> ChangePoint | None:
    """The drift over the longest stretch in which the level only grows, or only shrinks; None where chance shows as
    long ones."""
    if len(points) < min(_PARTS):
        return None
    quarters = _medians(points, _bounds(points, 4))
    if max(quarters) - min(quarters) < _LEAST:  # as of nearly every series, in which nothing changed
        return None
    for parts in _PARTS:
        if len(points) < parts:
            continue
        bounds = _bounds(points, parts)
        medians = _medians(points, bounds)
        first, last = _longest(medians)
        rises = last - first
        # A stretch may begin at any part, go up or down, and be seen in parts of either length.
        gain = rises * math.log(2) - math.log(2 * len(_PARTS) * (parts - rises))
        if gain < penalty:
            continue
        lengths = (bounds[first + 1] - bounds[first], bounds[last + 1] - bounds[last])
        error = NormalDist().inv_cdf((1 + confidence) / 2) * math.sqrt(sum(1 / length for length in lengths))
        size = medians[last] - medians[first]
        return ChangePoint(
            index=points.indexes.item(bounds[first + 1]),
            kind="drift",
            earliest=points.indexes.item(bounds[first]),
            latest=points.indexes.item(bounds[first + 2] - 1),
            until=points.indexes.item(bounds[last + 1] - 1),
            before=sizes.amount(medians[first], points),
            after=sizes.amount(medians[last], points),
            low=sizes.bounded((size - error) * points.unit),
            high=sizes.bounded((size + error) * points.unit),
            gain=gain,
            p_value=sizes.p_value(gain, len(points)),
        )
    return None


def _bounds(points: Points, parts: int) -> list[int]:
    return (np.arange(parts + 1) * len(points) // parts).tolist()


def _medians(points: Points, bounds: list[int]) -> list[float]:
    return [median(points.centers[start:end]) for start, end in pairwise(bounds)]


def _longest(medians: list[float]) -> tuple[int, int]:
    """Where the longest stretch begins and ends in which each median is above the one before, or each below."""
    stretches, start = [(0, 0)], 0
    for sign, signs in groupby(np.sign(np.diff(medians)).tolist()):
        end = start + sum(1 for _ in signs)
        if sign:
            stretches.append((start, end))
        start = end
    return max(stretches, key=lambda stretch: stretch[1] - stretch[0])
