"""Folded stacks from a file that is read line by line.

A stack is kept as the numbers of its frames, four bytes each, from the outermost in. Sorted, stacks that begin alike
stand together: each adds the frames that the one before it does not have, and no frame of any stack is looked up.
"""

from __future__ import annotations

import re
import sys
from array import array
from collections.abc import Callable, Mapping
from typing import IO

import attrs

from perfcore.errors import FormatError
from perfcore.profile import bitmap
from perfcore.profile.stacks import Frame
from perfcore.profile.table import Column, ColumnSpec, Table, column, from_buffer, table
from perfcore.text import clip, printable
from perfcore_format_folded import frames

_COUNT = re.compile(rb"-?[0-9]{1,310}(\.[0-9]{1,400})?")  # the largest and the smallest float fit
_WIDTH = 4  # bytes of the number of a frame: big endian, so that bytes sort as numbers do
_SHOWN = 60

Amount = int | float


@attrs.frozen
class FoldedFile:
    """What the lines before the first stack say, the sum for each stack, and the frames."""

    facts: Mapping[str, str]
    counts: dict[bytes, Amount]
    frames: FrameNumbers


class FrameNumbers(dict[bytes, bytes]):
    """The number of each frame by its text, as four bytes. Texts of one frame have one number."""

    def __init__(self) -> None:
        super().__init__()
        self.parse: Callable[[str], Frame] = frames.usual
        self.functions: dict[tuple[str, str], int] = {}
        self.frames: dict[tuple[int, int | None], int] = {}

    def __missing__(self, text: bytes) -> bytes:
        frame = self.parse(text.decode("utf-8", "backslashreplace"))
        function = self.functions.setdefault((frame.name, frame.file), len(self.functions))
        number = self.frames.setdefault((function, frame.line), len(self.frames))
        self[text] = number.to_bytes(_WIDTH, "big")
        return self[text]


def read(file: IO[bytes], name: str) -> FoldedFile:
    """All stacks of a file; FormatError names the line that is no stack with a count."""
    facts: dict[str, str] = {}
    counts: dict[bytes, Amount] = {}
    numbers = FrameNumbers()
    number_of = numbers.__getitem__
    for at, line in enumerate(file, 1):
        line = line.rstrip(b"\r\n")
        stack, blank, count = line.rpartition(b" ")
        if not counts and (fact := _fact(line)):
            facts |= fact
            numbers.parse = frames.austin if "austin" in facts else frames.usual
            continue
        if not blank or not ((count.isdigit() and len(count) < 19) or _COUNT.fullmatch(count)):
            if not line.strip():
                continue
            excerpt = printable(clip(line.decode("utf-8", "backslashreplace"), _SHOWN))
            raise FormatError(f"{name}, line {at}: no stack with a count at its end: {excerpt}")
        key = b"".join(map(number_of, stack.split(b";"))) if stack.strip() else b""
        amount = float(count) if b"." in count else int(count)
        if abs(amount) <= sys.float_info.max:  # compared exactly: an integer beyond it cannot be added to a float
            amount += counts.get(key, 0)
        if abs(amount) > sys.float_info.max:
            raise FormatError(f"{name}, line {at}: the count is larger than numbers are stored")
        counts[key] = amount
    return FoldedFile(facts, counts, numbers)


def tables(folded: FoldedFile, amounts: Callable[[list[Amount]], Column]) -> dict[str, Table]:
    """The tables of a profile: a row of `resources` for each stack. Frames and functions stand in the order of their
    first use."""
    order = sorted(folded.counts, reverse=True)
    values = amounts([folded.counts[key] for key in reversed(order)])
    folded.counts.clear()  # the stacks go, one after the other, while their rows come
    stacks, frame_of, rows = _nodes(order)
    used_frames = dict.fromkeys(frame_of)
    position = dict(zip(used_frames, range(len(used_frames)), strict=True))
    frame_of = array("q", map(position.__getitem__, frame_of))
    pairs = list(folded.frames.frames)
    used = [pairs[number] for number in used_frames]
    functions = dict.fromkeys(function for function, _ in used)
    function_at = dict(zip(functions, range(len(functions)), strict=True))
    names = list(folded.frames.functions)
    return {
        "resources": table("resources", [column("stack", rows, dtype="i64"), values]),
        "functions": table(
            "functions",
            (
                column("name", [names[function][0] for function in functions], dtype="str"),
                column("file", [names[function][1] for function in functions], dtype="str"),
                column("line", [None] * len(functions), dtype="i64"),
            ),
        ),
        "frames": table(
            "frames",
            (
                column("function", [function_at[function] for function, _ in used], dtype="i64"),
                column("offset", [line for _, line in used], dtype="i64"),
            ),
        ),
        "stacks": Table("stacks", (stacks, from_buffer(_spec("frame"), frame_of)), len(stacks)),
    }


def _nodes(order: list[bytes]) -> tuple[Column, array[int], list[int | None]]:
    """(the parents of the rows of `stacks`, their frames, the row of each stack) of stacks that the list gives from its
    end; it is empty afterwards."""
    parents, frame_of = array("q"), array("I")
    rows: list[int | None] = []
    path: list[int] = []  # the rows of the stack before
    outermost: list[int] = []
    previous = b""
    while order:
        key = order.pop()
        shared = _common(previous, key)
        new = array("I", key[shared * _WIDTH :])
        if sys.byteorder == "little":
            new.byteswap()
        first = len(parents)
        if new:
            if not shared:
                outermost.append(first)
            parents.append(path[shared - 1] if shared else 0)
            parents.extend(range(first, first + len(new) - 1))
            frame_of.extend(new)
        path[shared:] = range(first, first + len(new))
        rows.append(path[-1] if path else None)
        previous = key
    present = bytearray(b"\x01") * len(parents)
    for row in outermost:
        present[row] = 0
    return from_buffer(_spec("parent"), parents, bitmap.pack(present)), frame_of, rows


def _common(first: bytes, second: bytes) -> int:
    """How many frames two stacks have in common from the outermost in."""
    low, high = 0, min(len(first), len(second)) // _WIDTH
    if first[: high * _WIDTH] == second[: high * _WIDTH]:
        return high
    while high - low > 1:  # the first `low` are equal, the first `high` are not
        middle = (low + high) // 2
        if first[: middle * _WIDTH] == second[: middle * _WIDTH]:
            low = middle
        else:
            high = middle
    return low


def _spec(name: str) -> ColumnSpec:
    return ColumnSpec(name, "i64")


def _fact(line: bytes) -> dict[str, str] | None:
    """The key and value of a comment in front of the stacks."""
    if not line.startswith(b"# "):
        return None
    key, _, value = line[2:].decode("utf-8", "backslashreplace").partition(": ")
    return {key.strip(): value.strip()}
