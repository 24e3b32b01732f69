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

    @property
    def is_bounded(self) -> bool:
        return max(abs(self.start) >> 22, abs(self.least), abs(self.usual or 0)) <= BOUND


def reduced(numbers: memoryview) -> tuple[Relative, bytes, bytes] | None:
    """(how the items are meant, the items, the bitmap of which there are); None where numbers as they are, are as
    short."""
    rows = len(numbers)
    if rows < _FEWEST or not -_FAR < min(numbers) <= max(numbers) - 256 < _FAR:  # one byte is short as it is
        return None
    sample = range(1, rows, max(1, rows // _SAMPLE))
    from_row = Counter(numbers[row] - row for row in sample)
    if from_row.most_common(1)[0][1] > len(sample) // 2:
        return _packed(Relative("row"), array("q", map(operator.sub, numbers, range(rows))))
    steps = Counter(numbers[row] - numbers[row - 1] for row in sample)
    if sum(count for step, count in steps.items() if 0 <= step < 256) > 0.9 * len(sample) and len(steps) > 1:
        differences = map(operator.sub, numbers[1:], numbers)
        return _packed(Relative("previous", start=numbers[0]), array("q", (0, *differences)))
    return None


def restored(items: array[int], marks: bytes | None, relative: Relative, rows: int) -> array[int]:
    """The numbers of these items."""
    if marks is not None and relative.usual is not None:
        others, items = items, array("q", [relative.usual]) * rows
        for row, item in zip(compress(range(rows), bitmap.flags(marks, rows)), others, strict=True):
            items[row] = item
    if relative.to == "row":
        return array("q", map(operator.add, items, range(relative.least, relative.least + rows)))
    numbers = accumulate(map(operator.add, items, repeat(relative.least)), initial=relative.start)
    next(numbers)
    return array("q", numbers)


def _packed(relative: Relative, items: array[int]) -> tuple[Relative, bytes, bytes] | None:
    relative.least = min(items)
    if max(abs(relative.least), max(items) - relative.least) >= BOUND:
        return None
    items = array("q", map(operator.sub, items, repeat(relative.least)))
    usual, count = Counter(items).most_common(1)[0]
    if count <= len(items) // 2:
        return relative, items.tobytes(), b""
    relative.usual = usual
    flags = bytes(map(operator.ne, items, repeat(usual)))
    return relative, array("q", compress(items, flags)).tobytes(), bitmap.pack(flags)
