"""Integers as what they differ by from their row or from the value before, which are shorter where they are regular.

A stack stands on the row before it, but for one in eight; the rows of `resources` name stacks in ascending order.
"""

from __future__ import annotations

import operator
from array import array
from collections import Counter
from itertools import accumulate, compress, repeat
from typing import Literal

import msgspec

from perfcore.profile import bitmap

BOUND = 1 << 40  # of an item and of `least`: sums of 65,536 of them are far below 2^63
_FAR = 1 << 62
_FEWEST = 1024  # rows: of fewer nothing is gained
_SAMPLE = 1024  # rows that tell whether a column is regular


class Relative(msgspec.Struct, omit_defaults=True):
    """A value is the item plus `least` plus its row, or plus the value before it (of the first row: `start`). Where
    `usual` is given, only the other items are stored, behind a bitmap of where they are."""

    to: Literal["row", "previous"]
    start: int = 0
    least: int = 0
    usual: int | None = None


def reduced(numbers: memoryview) -> tuple[Relative, bytes, bytes] | None:
    """(how the items are meant, the items, the bitmap of which there are); None where numbers as they are, are as
    short."""
    rows, values = len(numbers), array("q", numbers.tobytes())
    if rows < _FEWEST or not -_FAR < min(values) <= max(values) - 256 < _FAR:  # one byte is short as it is
        return None
    sample = range(1, rows, max(1, rows // _SAMPLE))
    steps = Counter(values[row] - values[row - 1] for row in sample)
    distances = Counter(values[row] - row for row in sample)
    distance, count = distances.most_common(1)[0]
    if count > len(sample) // 2:
        return _packed(Relative("row"), array("q", map(operator.sub, values, range(rows))), distance)
    if sum(count for step, count in steps.items() if 0 <= step < 256) > 0.9 * len(sample) and len(steps) > 1:
        differences = array("q", (0, *map(operator.sub, values[1:], values)))
        return _packed(Relative("previous", start=values[0]), differences, steps.most_common(1)[0][0])
    return None


def restored(items: array[int], marks: bytes | None, relative: Relative, rows: int) -> array[int]:
    """The numbers of these items."""
    if marks is not None and relative.usual is not None:
        others, items = items, array("q", [relative.usual]) * rows
        for row, item in zip(compress(range(rows), bitmap.flags(marks, rows)), others, strict=True):
            items[row] = item
    if relative.to == "row":
        # An array takes a list in two thirds of the time of an iterator.
        return array("q", list(map(operator.add, items, range(relative.least, relative.least + rows))))
    numbers = accumulate(map(operator.add, items, repeat(relative.least)), initial=relative.start)
    next(numbers)
    return array("q", numbers)


def _packed(relative: Relative, items: array[int], usual: int) -> tuple[Relative, bytes, bytes] | None:
    """`usual` is probably the most frequent item."""
    relative.least = least = min(items)
    if max(abs(least), max(items) - least) >= BOUND:
        return None
    marks = b""
    if items.count(usual) > len(items) // 2:
        relative.usual = usual - least
        flags = bytes(map(operator.ne, items, repeat(usual)))
        items, marks = array("q", compress(items, flags)), bitmap.pack(flags)
    return relative, array("q", map(operator.sub, items, repeat(least))).tobytes(), marks
