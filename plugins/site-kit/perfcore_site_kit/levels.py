"""A long series in few numbers: the least, the greatest and the mean of every 10 and of every 100 positions.

So that no spike disappears, the least and the greatest are those of the medians of versions; a bucket that holds no
value has none.
"""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

SIZES = (10, 100)
"""Positions of a bucket at each level."""


class Level(msgspec.Struct, frozen=True, array_like=True):
    """Columns with a value for each bucket, the oldest first: None where nothing was measured."""

    size: int
    least: tuple[float | None, ...]
    most: tuple[float | None, ...]
    mean: tuple[float | None, ...]
    counts: tuple[int, ...]


def levels_of(positions: Sequence[int], medians: Sequence[float | None], length: int) -> dict[int, Level]:
    """The levels of a series over `length` positions, of which these have a value. Positions ascend."""
    # Nearly always all of them have one.
    if None in medians or not all(map(math.isfinite, medians)):  # type: ignore[arg-type]
        finite = [median is not None and math.isfinite(median) for median in medians]
        positions = list(itertools.compress(positions, finite))
        medians = list(itertools.compress(medians, finite))
    return {size: _level(positions, medians, length, size) for size in SIZES if length > size}


def fitting(levels: Mapping[int, Level], length: int, most: int) -> Level | None:
    """The finest level of at most so many buckets; the coarsest where each has more, None where there is none."""
    ordered = sorted(levels.values(), key=lambda level: level.size)
    return next(
        (level for level in ordered if math.ceil(length / level.size) <= most), ordered[-1] if ordered else None
    )


def _level(positions: Sequence[int], medians: Sequence[Any], length: int, size: int) -> Level:
    starts = [bisect.bisect_left(positions, begin) for begin in range(0, length + size, size)]
    buckets = [medians[start:end] for start, end in itertools.pairwise(starts)]
    return Level(
        size,
        tuple([min(bucket) if bucket else None for bucket in buckets]),
        tuple([max(bucket) if bucket else None for bucket in buckets]),
        tuple([math.fsum(bucket) / len(bucket) if bucket else None for bucket in buckets]),
        tuple(map(len, buckets)),
    )


def reduced(medians: Sequence[float | None], most: int) -> tuple[float | None, ...]:
    """At most so many values in the order of a series: of each stretch the one that is farthest from the middle of the
    stretch before it, so that steps and spikes stay."""
    if len(medians) <= most:
        return tuple(medians)
    reduced_values: list[float | None] = []
    before: float | None = None
    has_gaps = None in medians
    for index in range(most):
        stretch: Sequence[Any] = medians[index * len(medians) // most : (index + 1) * len(medians) // most]
        measured = sorted([value for value in stretch if value is not None] if has_gaps else stretch)
        if not measured:
            reduced_values.append(None)
            continue
        middle = measured[len(measured) // 2]
        reduced_values.append(_farthest(measured, middle if before is None else before) if index < most - 1 else middle)
        before = middle
    return tuple(reduced_values)


def _farthest(ordered: Sequence[float], base: float) -> float:
    """The value that is farthest from a base, which is at one of the ends; the least one of several."""
    least, greatest = ordered[0], ordered[-1]
    most, at = abs(greatest - base), len(ordered) - 1
    if not most < math.inf:
        return max(ordered, key=lambda value: abs(value - base))
    if abs(least - base) >= most:
        return least
    while abs(ordered[at - 1] - base) == most:  # distances are rounded
        at -= 1
    return ordered[at]
