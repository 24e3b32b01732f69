"""Integers as what they differ by from their row or from the value before, which are shorter where they are regular.

A stack stands on the row before it, but for one in eight; the rows of `resources` name stacks in ascending order.
"""

from __future__ import annotations

import operator
import sys
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate, compress, repeat
from typing import Literal

import msgspec

from perfcore.profile import bitmap

BOUND = 1 << 40  # of an item and of `least`: sums of 65,536 of them are far below 2^63
_FAR = 1 << 62
_FEWEST = 1024  # rows: of fewer nothing is gained
_SAMPLE = 1024  # rows that tell whether a column is regular
_BYTES = bytes(range(256))
LANES = [slice(k if sys.byteorder == "little" else 7 - k, None, 8) for k in range(8)]  # where byte k of numbers is
_LINES = b"\0" + b"\n" * 255  # ends a line at each byte but 0


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
    if rows < _FEWEST:
        return None
    sample = range(1, rows, max(1, rows // _SAMPLE))
    sampled = values[1 :: sample.step]
    distance, count = Counter(map(operator.sub, sampled, sample)).most_common(1)[0]
    steps = Counter(map(operator.sub, sampled, values[: -1 : sample.step]))
    to_row = count > len(sample) // 2
    if not to_row and (sum(steps[step] for step in range(256)) <= 0.9 * len(sample) or len(steps) == 1):
        return None
    if not -_FAR < min(values) <= max(values) - 256 < _FAR:  # one byte is short as it is
        return None
    if to_row:
        return _packed(Relative("row"), array("q", map(operator.sub, values, range(rows))), distance)
    differences = array("q", (0, *map(operator.sub, values[1:], values)))
    return _packed(Relative("previous", start=values[0]), differences, steps.most_common(1)[0][0])


def ramp(start: int, rows: int) -> array[int]:
    """The numbers from `start` up: `array` would take each from a list, in five times the time."""
    data = bytearray(8 * rows)
    for lane, plane in zip(LANES, _planes(start, rows), strict=True):
        data[lane] = plane
    return array("q", bytes(data))


def leaps(numbers: Sequence[int]) -> list[int]:
    """The rows whose number is not that of the row before them."""
    data, differences = array("q", numbers).tobytes(), 0
    for lane, usual in zip(LANES, _planes(-1, len(numbers)), strict=True):
        if (plane := data[lane]) != usual:
            differences |= int.from_bytes(plane, "little") ^ int.from_bytes(usual, "little")
    lines = differences.to_bytes(len(numbers), "little").translate(_LINES)
    return list(accumulate(map(len, lines[: lines.rfind(b"\n") + 1].splitlines(keepends=True)), initial=-1))[1:]


def _planes(start: int, rows: int) -> Iterator[bytes]:
    """Byte k of the numbers from `start` up, from the lowest."""
    yield (_BYTES * (rows // len(_BYTES) + 2))[start & 255 :][:rows]
    for width in (256**k for k in range(1, 8)):  # so many numbers have the same byte
        first, last = start // width, (start + rows) // width
        repeated = [bytes((number & 255,)) * min(width, rows) for number in range(first + 1, last + 1)]
        yield b"".join((bytes((first & 255,)) * min(width - start % width, rows), *repeated))[:rows]


def restored(raw: bytearray, marks: bytes | None, relative: Relative, rows: int) -> bytes:
    """The bytes of the numbers of these items."""
    if "numpy" in sys.modules:  # a tenth of the time, but to import it takes as long as twenty pieces
        return _restored_by_numpy(raw, marks, relative, rows)
    return _restored(array("q", bytes(raw)), marks, relative, rows).tobytes()


def _restored(items: array[int], marks: bytes | None, relative: Relative, rows: int) -> array[int]:
    least = relative.least
    if relative.to == "row" and marks is not None and relative.usual is not None:
        numbers = ramp(relative.usual + least, rows)
        for row, item in zip(compress(range(rows), bitmap.flags(marks, rows)), items, strict=True):
            numbers[row] = item + least + row
        return numbers
    if marks is not None and relative.usual is not None:
        others, items = items, array("q", [relative.usual]) * rows
        for row, item in zip(compress(range(rows), bitmap.flags(marks, rows)), others, strict=True):
            items[row] = item
    if relative.to == "row":
        # An array takes a list in two thirds of the time of an iterator.
        return array("q", list(map(operator.add, items, range(least, least + rows))))
    return array("q", list(accumulate(map(operator.add, items, repeat(least)), initial=relative.start))[1:])


def _restored_by_numpy(raw: bytearray, marks: bytes | None, relative: Relative, rows: int) -> bytes:
    import numpy as np

    numbers = np.frombuffer(raw, np.int64) + relative.least
    if marks is not None and relative.usual is not None:
        others, numbers = numbers, np.full(rows, relative.usual + relative.least, np.int64)
        numbers[np.unpackbits(np.frombuffer(marks, np.uint8), count=rows, bitorder="little") != 0] = others
    numbers = numbers + np.arange(rows) if relative.to == "row" else relative.start + np.cumsum(numbers)
    return numbers.tobytes()


def _packed(relative: Relative, items: array[int], usual: int) -> tuple[Relative, bytes, bytes] | None:
    """`usual` is probably the most frequent item."""
    marks = b""
    flags = bytes(map(operator.ne, items, repeat(usual)))
    if flags.count(0) > len(items) // 2:
        items, marks = array("q", compress(items, flags)), bitmap.pack(flags)
    relative.least = least = min(usual, min(items, default=usual))
    if max(abs(least), max(usual, max(items, default=usual)) - least) >= BOUND:
        return None
    if marks:
        relative.usual = usual - least
    return relative, array("q", map(operator.sub, items, repeat(least))).tobytes(), marks
