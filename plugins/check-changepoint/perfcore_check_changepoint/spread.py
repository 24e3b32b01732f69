"""Where the noise of a series became another, around whatever level.

The absolute residuals are ranked, and their cumulative sum is compared with what it would be in random order (the
rank test of Pettitt, 1979, Applied Statistics 28(2), weighted by the variance at each place), again within both parts
(binary segmentation). Ranks keep a few outliers from being taken for noise.
"""

from __future__ import annotations

import functools
from itertools import pairwise

import numpy as np

from perfcore_check_changepoint.partition import Floats
from perfcore_check_changepoint.series import NORMAL, median

SHORTEST = 10  # points on either side
# Two-sided 2.7e-5 at one place for a normal statistic, so at most 1.4 % at any of the 512 places of a window.
_CLEAR = 4.2  # standard deviations of the statistic
RATIO = 2.0  # of the noise on both sides


def spread_shifts(residuals: Floats, quantum: float) -> list[int]:
    """The first points with other noise, in order. Noise below half a quantum cannot be told apart."""
    return _within(np.abs(residuals), quantum / 2, 0, len(residuals))


def spreads(residuals: Floats, shifts: list[int]) -> Floats:
    """The noise at every point, where it changes at `shifts`."""
    bounds = [0, *shifts, len(residuals)]
    sizes = np.abs(residuals)
    parts = [max(median(sizes[start:end]) * NORMAL, 0.1) for start, end in pairwise(bounds)]
    return np.repeat(parts, np.diff(bounds))


def _within(sizes: Floats, least: float, start: int, end: int) -> list[int]:
    offset = _place(sizes[start:end], least)
    if offset is None:
        return []
    middle = start + offset
    return [*_within(sizes, least, start, middle), middle, *_within(sizes, least, middle, end)]


def _place(sizes: Floats, least: float) -> int | None:
    count = len(sizes)
    if count < 2 * SHORTEST:
        return None
    ranks = _ranks(sizes)
    variance = float(ranks.dot(ranks)) / count
    if not variance:
        return None
    # A change of noise makes neighbours alike, as memory does; half of what they are is put down to either.
    memory = max(float(ranks[1:].dot(ranks[:-1])) / (count * variance), 0.0)
    scores = np.abs(np.add.accumulate(ranks)[SHORTEST - 1 : count - SHORTEST]) / _deviations(count, variance)
    if scores.item(scores.argmax()) * ((1 - memory) / (1 + memory)) ** 0.25 < _CLEAR:
        return None
    shift = _likeliest(sizes, np.arange(SHORTEST, count - SHORTEST + 1))
    low, high = sorted((median(sizes[:shift]), median(sizes[shift:])))
    return shift if high >= RATIO * max(low, least) and high > 0 else None


@functools.lru_cache(maxsize=256)
def _deviations(count: int, variance: float) -> Floats:
    """The standard deviations of the sums of ranks before each place."""
    before = np.arange(SHORTEST, count - SHORTEST + 1)
    deviations: Floats = np.sqrt(before * (count - before) / count * variance)
    return deviations


@functools.lru_cache(maxsize=256)
def _ranks_of_different(count: int) -> Floats:
    ranks: Floats = np.arange(count, dtype=float) + (1 - count) / 2.0
    return ranks


def _ranks(sizes: Floats) -> Floats:
    """Ranks around 0; equal values share one."""
    order = sizes.argsort()
    ordered = sizes.take(order)
    other = ordered[1:] != ordered[:-1]
    ranks = np.empty(len(sizes))
    if np.count_nonzero(other) == len(other):
        ranks[order] = _ranks_of_different(len(sizes))
        return ranks
    first = np.flatnonzero(np.concatenate([[True], other]))
    counts = np.diff(np.append(first, len(sizes)))
    ranks[order] = (first + (counts - len(sizes)) / 2.0).repeat(counts)
    return ranks


def _likeliest(sizes: Floats, before: np.ndarray[tuple[int], np.dtype[np.int64]]) -> int:
    """Where the noise of both sides, taken as that of Laplace's law, explains the sizes best."""
    sums = sizes.cumsum()
    first, count = sums[before - 1], len(sizes)
    tiny = 1e-9 * float(sums[-1]) + 1e-300
    costs = before * np.log((first + tiny) / before)
    costs += (count - before) * np.log((sums[-1] - first + tiny) / (count - before))
    return int(before[costs.argmin()])
