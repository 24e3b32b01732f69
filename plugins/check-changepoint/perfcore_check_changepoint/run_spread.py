"""Where the runs of a version began to differ by more, or by less, than those of the versions before.

The logarithms of the spreads of the versions are a series of their own. Its level changes where the difference of the
means of both sides is larger than its own noise explains (cumulative sums: E. S. Page, 1954, Biometrika 41), again
within both parts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import msgspec
import numpy as np
from msgspec.structs import replace

from perfcore_check_changepoint.partition import Floats
from perfcore_check_changepoint.runs import Indexes
from perfcore_check_changepoint.series import NORMAL, Points, median, medians
from perfcore_check_changepoint.spread import RATIO

SHORTEST = 4  # versions on either side: with fewer, a neighbour that disturbed some of them is as likely
_FAR_NOISIER = 10.0  # times the spread of the runs of most versions, which no neighbour on the machine makes of it
_FEWEST_RUNS = 3  # of a version: two have one difference, which is near 0 as often as not
# By what a median absolute deviation of 2 to 9 normal values is too small; of more, n / (n - 0.8)
# (C. Croux and P. Rousseeuw, 1992, Computational Statistics 1).
_SMALL_SAMPLE = (1.196, 1.495, 1.363, 1.206, 1.200, 1.140, 1.129, 1.107)
_VARIANCE = 1.36  # of the logarithm of such a deviation, times the number of normal values (Huber, 1981)
_FAR = 4.0  # spreads of the series from which on a version counts no more
_LIKELY = 1.92  # nats: half of the 95 % quantile of chi-squared with one degree of freedom
# Spreads of few runs have longer tails than amounts: of 2,400 simulated histories without a change (3 and 5 runs, four
# kinds of noise), 6 have one with 5 nats, and 17 with 3.
_CLEAR = 5.0  # nats more than a change of the level needs


class SpreadChange(msgspec.Struct, frozen=True, eq=False):
    """The first point of another spread, the span of points that it may be, and the logarithms of the spreads before
    and after it with the standard error of their difference. `gain` is in nats."""

    index: int
    earliest: int
    latest: int
    before: float
    after: float
    error: float
    gain: float

    @property
    def rises(self) -> bool:
        return self.after > self.before


def with_own_noise(points: Points, changes: Sequence[SpreadChange]) -> Points:
    """The points, of which those before and after each change of the spread of runs have noise of their own: where
    other work makes runs differ, their medians vary as well, and a step that is clear where it rests would be lost in
    the noise of all."""
    if changes:
        starts = [change.index for change in changes]
        points = points.by_conditions(np.searchsorted(starts, np.arange(len(points)), side="right"))
    return points if points.single or points.machine is not None else _beside_calm(points)


def _beside_calm(points: Points) -> Points:
    """The points, of which one stretch has noise of its own if runs differ there far more than elsewhere: in the unit
    of what hardly varies, every run of the stretch is a stray that no level explains."""
    away = np.abs(points.values - points.centers[points.point])
    deviations = medians(away, points.first, points.point)
    noisy = np.flatnonzero(deviations > _FAR_NOISIER * median(deviations))
    if not 2 <= len(noisy) < len(points) / 2 or noisy[-1] - noisy[0] >= len(noisy):
        return points
    chosen = (points.point >= noisy[0]) & (points.point <= noisy[-1])
    of_versions = median(np.abs(np.diff(points.centers[noisy]))) / math.sqrt(2)
    noise = NORMAL * math.hypot(median(away[chosen]), of_versions)
    points = replace(points, varying=chosen)
    return points.with_noise(np.where(chosen, noise, min(1.0, noise / _FAR_NOISIER))) if noise > 1 else points


def run_spread_changes(points: Points, penalty: float) -> list[SpreadChange]:
    """The points where the spread of the runs changes, by itself and as a share of the level: times vary by a share of
    themselves, so that one that grows or shrinks as the level does is no news."""
    if points.single:
        return []
    counts = np.bincount(points.point)
    measured = np.flatnonzero(counts >= _FEWEST_RUNS)
    if len(measured) < 2 * SHORTEST:
        return []
    deviations = medians(np.abs(points.values - points.centers[points.point]), points.first, points.point)
    # A clock shows no spread below half of its step.
    least = max(points.quantum / 2, 1e-3)
    levels = np.log(np.maximum(deviations[measured] * NORMAL * _corrections(counts[measured]), least))
    noise = max(_noise(levels), math.sqrt(_VARIANCE / median(counts[measured].astype(float))))
    bounds = [0, *_splits(levels, noise, penalty + _CLEAR, 0), len(levels)]
    relative = levels - _logarithms(points.centers[measured] - points.zero)
    return [
        _at(change, measured)
        for change, of_level in (
            (_change(levels, noise, *part), _change(relative, noise, *part))
            for part in zip(bounds, bounds[1:], bounds[2:], strict=False)
        )
        if _is_clear(change, penalty) and _is_clear(of_level, penalty) and change.rises == of_level.rises
    ]


def _logarithms(amounts: Floats) -> Floats:
    """Those of positive amounts; of others the spread has no relation to the level."""
    is_share = amounts.min() > 0 and amounts.max() < math.inf
    return np.log(amounts) if is_share else np.zeros(len(amounts))


def _is_clear(change: SpreadChange, penalty: float) -> bool:
    return abs(change.after - change.before) >= math.log(RATIO) and change.gain >= penalty + _CLEAR


def _corrections(counts: Indexes) -> Floats:
    small = np.array([*(1.0, 1.0), *_SMALL_SAMPLE])
    return np.where(counts < len(small), small[np.minimum(counts, len(small) - 1)], counts / (counts - 0.8))


def _noise(levels: Floats) -> float:
    return median(np.abs(np.diff(levels))) * NORMAL / math.sqrt(2)


def _splits(levels: Floats, noise: float, needed: float, offset: int) -> Iterator[int]:
    """Where the level changes, in order."""
    if len(levels) < 2 * SHORTEST:
        return
    gains = _gains(levels, noise)
    split = int(gains.argmax()) + SHORTEST
    if gains[split - SHORTEST] < needed:
        return
    if abs(median(levels[split:]) - median(levels[:split])) < math.log(RATIO):
        return
    yield from _splits(levels[:split], noise, needed, offset)
    yield offset + split
    yield from _splits(levels[split:], noise, needed, offset + split)


def _gains(levels: Floats, noise: float) -> Floats:
    """What a change at each place explains, in nats. Neighbours that are alike tell less: the variance of a mean is
    (1 + m) / (1 - m) times as large where each has the share m of the one before."""
    count, middle = len(levels), median(levels)
    clipped = np.clip(levels, middle - _FAR * noise, middle + _FAR * noise)
    before = np.arange(SHORTEST, count - SHORTEST + 1)
    sums = clipped.cumsum()
    differences = sums[before - 1] / before - (sums[-1] - sums[before - 1]) / (count - before)
    gains: Floats = differences**2 * before * (count - before) / count / (2 * noise**2)
    split = int(before[gains.argmax()])
    left = clipped - np.repeat([clipped[:split].mean(), clipped[split:].mean()], [split, count - split])
    memory = max(float(left[1:] @ left[:-1]) / max(float(left @ left), 1e-12), 0.0)
    return gains * (1 - memory) / (1 + memory)


def _change(levels: Floats, noise: float, start: int, index: int, end: int) -> SpreadChange:
    part = levels[start:end]
    gains = _gains(part, noise)
    gain = float(gains[index - start - SHORTEST])
    likely = np.flatnonzero(gains >= gain - _LIKELY) + start + SHORTEST
    return SpreadChange(
        index=index,
        earliest=min(index, int(likely[0])),
        latest=max(index, int(likely[-1])),
        before=median(levels[start:index]),
        after=median(levels[index:end]),
        # A median of normal values has 1.25 times the standard error of a mean.
        error=1.25 * noise * math.sqrt(1 / (index - start) + 1 / (end - index)),
        gain=gain,
    )


def _at(change: SpreadChange, measured: Indexes) -> SpreadChange:
    index, earliest, latest = measured[[change.index, change.earliest, change.latest]].tolist()
    return replace(change, index=index, earliest=earliest, latest=latest)
