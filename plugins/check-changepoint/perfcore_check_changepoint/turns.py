"""The ratio of two machines that measure versions in turns, as those of a pool do.

In the order of the versions, each turn of the new machine is compared with the turns of the old one before and after
it: the mean logarithm of the one less that of the other two. A step of the code is in one of these differences, and
counts for little there; steady growth cancels out. Their mean is the logarithm of the ratio. Two neighbouring
differences share a turn of the old machine, which makes the variance of the mean up to a third larger.
"""

from __future__ import annotations

import msgspec
import numpy as np

from perfcore_check_changepoint.partition import Floats
from perfcore_check_changepoint.runs import Indexes
from perfcore_check_changepoint.series import median

_FEWEST = 4  # turns
_NEAR = 5  # versions of a turn of the old machine: those farther away may be before another step
_FAR = 3.0  # standard deviations, beyond which a difference counts no more
_CLEARLY = 3.0  # times the variance of the noise: the ratio itself varies
_MOVED = 3.5  # standard deviations between the differences before a turn and those after it: the ratio is another
_SHARED = 4 / 3  # of the variance of independent differences
_EQUAL = 1e-18  # variance of amounts that are the same
_LARGEST = 7.0  # logarithm of a ratio: what takes a thousand times as long elsewhere is something else


class Ratio(msgspec.Struct, frozen=True):
    """The logarithm of the new machine's amounts over those of the old one, its variance, and how many turns tell."""

    rise: float
    variance: float
    turns: int


class Centers(msgspec.Struct, frozen=True, eq=False):
    """Logarithms of amounts, with the numbers of their versions in ascending order."""

    ordinals: Indexes
    values: Floats

    def times(self, rise: float) -> Centers:
        """Those of amounts that are larger by a factor of which this is the logarithm."""
        return Centers(self.ordinals, self.values + rise)

    def together(self, other: Centers) -> Centers:
        ordinals = np.concatenate([self.ordinals, other.ordinals])
        order = ordinals.argsort(kind="stable")
        return Centers(ordinals[order], np.concatenate([self.values, other.values])[order])


def ratio(old: Centers, new: Centers, noise: float) -> Ratio | None:
    """None where there are too few turns, or the ratio is not the same in all of them: then a change of the code has
    another size on each machine. `noise` is the variance of a version."""
    order = np.concatenate([old.ordinals, new.ordinals]).argsort(kind="stable")
    is_new = order >= len(old.ordinals)
    bounds = np.flatnonzero(np.diff(is_new, prepend=not is_new[0], append=not is_new[-1]))
    turns = np.arange(2 if is_new[0] else 1, len(bounds) - 2, 2)  # those between two of the old machine
    if len(turns) < _FEWEST:
        return None
    sums = np.concatenate([[0.0], np.concatenate([old.values, new.values])[order].cumsum()])
    start, end = bounds[turns], bounds[turns + 1]
    first, last = np.maximum(bounds[turns - 1], start - _NEAR), np.minimum(bounds[turns + 2], end + _NEAR)

    def mean(start: Indexes, end: Indexes) -> Floats:
        means: Floats = (sums[end] - sums[start]) / (end - start)
        return means

    rises = mean(start, end) - (mean(first, start) + mean(end, last)) / 2
    variances = 1 / (end - start) + (1 / (start - first) + 1 / (last - end)) / 4  # as a part of that of one version
    noise = max(noise, _EQUAL)
    rises = _bounded(rises, _FAR * np.sqrt(variances * noise))
    weights = 1 / variances
    rise = float(np.average(rises, weights=weights))
    own = float(((rises - rise) ** 2 * weights).sum() / (len(rises) - 1))
    if abs(rise) > _LARGEST or own > _CLEARLY * noise or _moved(rises - rise, weights) > _MOVED * noise**0.5:
        return None
    return Ratio(rise, max(own, noise) * _SHARED / float(weights.sum()), len(rises))


def _bounded(rises: Floats, reach: Floats) -> Floats:
    middle = median(rises)
    bounded: Floats = np.clip(rises, middle - reach, middle + reach)
    return bounded


def _moved(rises: Floats, weights: Floats) -> float:
    """How far the mean before a turn is from that after it, at the turn where it is farthest, in standard deviations of
    one version: the sum of both sides is 0, so that of one tells it."""
    before, total = weights.cumsum()[:-1], weights.sum()
    return float((np.abs((rises * weights).cumsum()[:-1]) / np.sqrt(before * (total - before) / total)).max())
