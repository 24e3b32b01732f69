"""Folded stacks from a file that is read line by line.

A stack is kept as the numbers of its frames, four bytes each, from the outermost in. Sorted, stacks that begin alike
stand together: each adds the frames that the one before it does not have, and no frame of any stack is looked up.
"""

from __future__ import annotations

import re
import sys
from array import array
from collections.abc import Callable, Mapping, Sequence
from typing import IO

import attrs

from perfcore.errors import FormatError
from perfcore.profile import bitmap
from perfcore.profile.stacks import NOWHERE, Frame
from perfcore.profile.table import Column, ColumnSpec, Table, column, from_buffer, table
from perfcore.text import clip, printable
from perfcore_format_folded import frames

_COUNT = re.compile(rb"-?[0-9]{1,310}(\.[0-9]{1,400})?")  # the largest and the smallest float fit
_AUSTIN_THREAD = re.compile(rb"P(?P<process>[0-9]+);T(?P<thread>[^;]+)(;(?P<stack>.*))?", re.DOTALL)
_LABELS = ("process", "thread")  # the columns of what a row belongs to
_WIDTH = 4  # bytes of the number of a frame: big endian, so that bytes sort as numbers do
_SHOWN = 60
_FEW_DIGITS = 19  # of a count that changes no sum beyond what a float can hold

Amount = int | float


@attrs.frozen
class FoldedFile:
    """What the comments say, the sum for each stack, and the frames. Of a recording of Austin, `threads` has the sums
    of a stack by (process, thread)."""

    facts: Mapping[str, str]
    counts: dict[bytes, Amount]
    frames: FrameNumbers
    threads: dict[bytes, dict[tuple[str, str], Amount]]


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
    threads: dict[bytes, dict[tuple[str, str], Amount]] = {}
    numbers = FrameNumbers()
    number_of, count_of = numbers.__getitem__, counts.get
    for at, line in enumerate(file, 1):
        stack, _, count = line.rpartition(b" ")
        digits = count.rstrip(b"\r\n")
        # Nearly every line: neither the first one, nor one that may be a comment, nor a count that may be too large.
        if stack > b"#" and digits.isdigit() and len(digits) < _FEW_DIGITS and counts:
            key = b"".join(map(number_of, stack.split(b";")))
            counts[key] = count_of(key, 0) + int(digits)
            continue
        line = line.rstrip(b"\r\n")
        if not counts and (fact := _fact(line)):
            facts |= fact
            if "austin" in facts:
                numbers.parse = frames.austin
                _read_austin(file, name, at, facts, counts, numbers, threads)
        elif line.strip():
            stack, count = _split(line, f"{name}, line {at}")
            key = b"".join(map(number_of, stack.split(b";"))) if stack.strip() else b""
            counts[key] = _sum(count_of(key, 0), count, f"{name}, line {at}")
    return FoldedFile(facts, counts, numbers, threads)


def _read_austin(
    file: IO[bytes],
    name: str,
    after: int,
    facts: dict[str, str],
    counts: dict[bytes, Amount],
    numbers: FrameNumbers,
    threads: dict[bytes, dict[tuple[str, str], Amount]],
) -> None:
    """The other lines of a recording of Austin. Stacks begin with a process and a thread, whose numbers differ from
    recording to recording; comments stand behind the stacks, too."""
    for at, line in enumerate(file, after + 1):
        line = line.rstrip(b"\r\n")
        if fact := _fact(line):
            facts |= fact
            continue
        if not line.strip():
            continue
        stack, count = _split(line, f"{name}, line {at}")
        thread = ("", "")
        if match := _AUSTIN_THREAD.fullmatch(stack):
            stack = match["stack"] or b""
            thread = match["process"].decode(), match["thread"].decode("utf-8", "backslashreplace")
        key = b"".join(map(numbers.__getitem__, stack.split(b";"))) if stack.strip() else b""
        sums = threads.setdefault(key, {})
        sums[thread] = _sum(sums.get(thread, 0), count, f"{name}, line {at}")
        counts[key] = _sum(counts.get(key, 0), count, f"{name}, line {at}")


def _split(line: bytes, where: str) -> tuple[bytes, bytes]:
    """Any line of a stack, or a count alone: what is before the count, and the count."""
    stack, blank, count = line.rpartition(b" ")
    if not blank or not _COUNT.fullmatch(count):
        excerpt = printable(clip(line.decode("utf-8", "backslashreplace"), _SHOWN))
        raise FormatError(f"{where}: no stack with a count at its end: {excerpt}")
    return stack, count


def _sum(before: Amount, count: bytes, where: str) -> Amount:
    amount = float(count) if b"." in count else int(count)
    if abs(amount) <= sys.float_info.max:  # compared exactly: an integer beyond it cannot be added to a float
        amount += before
    if abs(amount) > sys.float_info.max:
        raise FormatError(f"{where}: the count is larger than numbers are stored")
    return amount


def tables(folded: FoldedFile, amounts: Callable[[list[Amount]], Column]) -> dict[str, Table]:
    """The tables of a profile: a row of `resources` for each stack, of each thread that had it. Frames and functions
    stand in the order of their first use."""
    order = sorted(folded.counts, reverse=True)
    if folded.threads:
        sums = [folded.threads[key] for key in reversed(order)]
        labels = [label for by_thread in sums for label in by_thread]
        values = amounts([amount for by_thread in sums for amount in by_thread.values()])
        order = [key for key in order for _ in folded.threads[key]]
    else:
        labels = []
        values = amounts([folded.counts[key] for key in reversed(order)])
    folded.counts.clear()  # the stacks go, one after the other, while their rows come
    folded.threads.clear()
    stacks, frame_of, rows = _nodes(order)
    named = [column(name, [label[at] for label in labels], dtype="str") for at, name in enumerate(_LABELS) if labels]
    used_frames = dict.fromkeys(frame_of)
    position = dict(zip(used_frames, range(len(used_frames)), strict=True))
    frame_of = array("q", map(position.__getitem__, frame_of))
    pairs = list(folded.frames.frames)
    used = [pairs[number] for number in used_frames]
    functions = dict.fromkeys(function for function, _ in used)
    function_at = dict(zip(functions, range(len(functions)), strict=True))
    names = list(folded.frames.functions)
    return {
        "resources": Table("resources", (rows, *named, values), len(rows)),
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


def _nodes(order: list[bytes]) -> tuple[Column, array[int], Column]:
    """(the parents of the rows of `stacks`, their frames, the row of each stack) of stacks that the list gives from its
    end; it is empty afterwards.

    The new rows of a stack stand on each other. The path of a stack is kept as such runs of rows: where each begins in
    the path, and its first row less that."""
    texts = bytearray()
    rows, first_rows, bases = array("q"), array("q"), array("q")
    starts, offsets = [0], [0]
    previous, present = b"", True
    while order:
        key = order.pop()
        if not key:  # sorted, it is the first one
            present = False
            rows.append(0)
            continue
        if key == previous:  # of another thread
            rows.append(rows[-1])
            continue
        shared = _common(previous, key)
        while len(starts) > 1 and starts[-1] >= shared:
            starts.pop()
            offsets.pop()
        first = len(texts) // _WIDTH
        first_rows.append(first)
        bases.append(shared - 1 + offsets[-1] if shared else NOWHERE)
        starts.append(shared)
        offsets.append(first - shared)
        texts += key[shared * _WIDTH :]
        rows.append(len(texts) // _WIDTH - 1)
        previous = key
    frame_of = array("I", texts)
    if sys.byteorder == "little":
        frame_of.byteswap()
    return _parents(len(frame_of), first_rows, bases), frame_of, _column("stack", rows, () if present else (0,))


def _parents(rows: int, first_rows: array[int], bases: array[int]) -> Column:
    """Rows that stand on the row before them, but for these, which stand on `bases`."""
    parents = array("q", range(-1, rows - 1))
    outermost = []
    for first, base in zip(first_rows, bases, strict=True):
        parents[first] = max(base, 0)
        if base == NOWHERE:
            outermost.append(first)
    return _column("parent", parents, outermost)


def _column(name: str, rows: array[int], missing: Sequence[int]) -> Column:
    """Rows that a column refers to; where they are missing, they are 0."""
    if not missing:
        return from_buffer(_spec(name), rows)
    present = bytearray(b"\x01") * len(rows)
    for row in missing:
        present[row] = 0
    return from_buffer(_spec(name), rows, bitmap.pack(present))


def _common(first: bytes, second: bytes) -> int:
    """How many frames two stacks have in common from the outermost in."""
    size = min(len(first), len(second))
    other_bits = int.from_bytes(first[:size], "big") ^ int.from_bytes(second[:size], "big")
    return (size * 8 - other_bits.bit_length()) // (_WIDTH * 8)


def _spec(name: str) -> ColumnSpec:
    return ColumnSpec(name, "i64")


def _fact(line: bytes) -> dict[str, str] | None:
    """The key and value of a comment."""
    if not line.startswith(b"# "):
        return None
    key, _, value = line[2:].decode("utf-8", "backslashreplace").partition(": ")
    return {key.strip(): value.strip()}
