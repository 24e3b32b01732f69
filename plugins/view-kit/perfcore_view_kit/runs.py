"""An interval from the runs of one version."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Sequence

COVERAGE = 0.95
"""What the interval of a median covers at least, where there are runs enough for it."""
ENOUGH = 6
"""Runs from which on the range between the least and the greatest covers the median so often: 1 - 2 / 2^6 = 0.969."""


def median_interval(values: Sequence[float]) -> tuple[float, float] | None:
    """The interval of the median between two runs, which assumes nothing about the distribution: with the k-th smallest
    and the k-th largest of n runs it covers 1 - 2 P(Bin(n, 1/2) < k) (David and Nagaraja, Order Statistics, 7.1). With
    fewer than 6 runs it is their range; None for less than two."""
    return interval_of_ordered(sorted(values))


def interval_of_ordered(values: Sequence[float]) -> tuple[float, float] | None:
    """The same of values that are sorted."""
    if len(values) < 2:
        return None
    rank = _rank(len(values))
    return values[rank - 1], values[-rank]


def median_of_ordered(values: Sequence[float]) -> float | None:
    """The median of values that are sorted, None without any."""
    if not values:
        return None
    half = len(values) // 2
    return values[half] if len(values) % 2 else (values[half - 1] + values[half]) / 2


@functools.cache
def _rank(count: int) -> int:
    """The largest k whose interval has the coverage; 1 where none has it."""
    tail, rank = 0.0, 0
    while rank < count // 2:
        tail += math.comb(count, rank) / 2**count
        if 1 - 2 * tail < COVERAGE:
            break
        rank += 1
    return max(1, rank)


def range_coverage(count: int) -> float:
    """How often the range of so many runs covers the median."""
    return 1 - 2.0 ** (1 - count)


def band_text(counts: Iterable[int]) -> str:
    """What the band of a chart is, in a sentence, for versions with so many runs each."""
    several = {count for count in counts if count > 1}
    if not several:
        return ""
    few = {count for count in several if count < ENOUGH}
    wide = f"The band is the interval of the median that covers it with at least {COVERAGE:.0%}".replace("%", " %")
    if not few:
        return f"{wide}."
    least = min(few)
    narrow = f"{least} runs: {100 * range_coverage(least):.3g} %"
    if few == several:
        return f"The band is the range of the runs, which covers the median less often than 95 % ({narrow})."
    return f"{wide}; with fewer than {ENOUGH} runs it is their range ({narrow})."
