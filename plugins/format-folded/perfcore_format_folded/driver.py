"""Reading and writing files of folded stacks."""

from __future__ import annotations

import decimal
import math
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import attrs

from perfcore import files
from perfcore.errors import FormatError, NotFoundError, StorageError
from perfcore.model import Header, Profile, Tool
from perfcore.profile.stacks import NOWHERE, Stacks, has_stacks, references
from perfcore.profile.table import Column, column
from perfcore.settings import option
from perfcore.text import encodable, printable
from perfcore_format_folded import frames, reading

# As many bytes as `sniff` is given: the last line of so many may be cut.
_HEAD = 4096
_BUFFER = 1 << 20  # bytes: of a large file most lines lie in one
_LINE = re.compile(rb"[^\n]* -?[0-9]+(\.[0-9]+)?\r?")
# What Austin counts by its mode, and in which unit; it counts microseconds.
_AUSTIN_MODES = {"wall": ("wall", "ns", 1000), "cpu": ("cpu", "ns", 1000), "memory": ("memory", "B", 1)}
# By convention of stackcollapse-*.pl, async-profiler and Austin.
_SUFFIXES = (".folded", ".collapsed", ".austin")


@attrs.frozen(kw_only=True)
class FoldedSettings:
    metric: str = option("", help="The column of values to write (default: the first).")
    files: bool = option(True, help="Write the file and line of each frame behind its name.")


class FoldedFormat:
    """One line for each call stack: its frames, outermost first, with `;` between them, a blank, and a count.

    Equal stacks are added up when they are read; a count alone, which samplers write where they could not see the
    stack, is kept as an amount without one. What a profile holds beside its stacks is not written.
    """

    Settings = FoldedSettings
    streams = True
    contract = "perfcore_format_folded.contract:FoldedContract"

    def __init__(self, settings: FoldedSettings | None = None) -> None:
        self._settings = settings or FoldedSettings()

    def sniff(self, head: bytes, name: str) -> bool:
        lines = head.split(b"\n")
        cut = lines.pop() if len(head) >= _HEAD else b""
        stacks = [line for line in lines if line.strip() and not line.startswith(b"# ")]
        if not stacks:
            # The first stack alone is longer than the head: a deep recursion, or long names of C++.
            return b";" in cut and b"\0" not in cut and name.endswith(_SUFFIXES)
        if not all(map(_LINE.fullmatch, stacks)):
            return False
        return name.endswith(_SUFFIXES) or any(b";" in line for line in stacks)

    def read(self, path: Path) -> Profile:
        """The profile; FormatError names the line that is no stack with a count."""
        name = printable(str(path))
        try:
            with path.open("rb", buffering=_BUFFER) as file:
                # The format has no time; the file's is the best guess.
                created = os.fstat(file.fileno()).st_mtime_ns
                folded = reading.read(file, name)
        except OSError as error:
            raise StorageError(f"cannot read {name}: {error.strerror}") from error
        if not folded.counts:
            raise FormatError(f"{name} holds no stacks")
        return Profile(
            header=Header(type="sample", cmd=encodable(path.name.partition(".")[0])),
            created=created,
            collector=Tool(name="folded", sampling=folded.facts),
            tables=reading.tables(folded, lambda values: _amounts(folded.facts, values)),
        )

    def write(self, profile: Profile, path: Path) -> None:
        """Write the stacks that have an amount; NotFoundError where there are none."""
        lines = "".join(f"{stack} {_written(amount)}\n" for stack, amount in self._lines(profile))
        try:
            files.write_whole(path, encodable(lines).encode())
        except OSError as error:
            raise StorageError(f"cannot write {printable(str(path))}: {error.strerror}") from error

    def _lines(self, profile: Profile) -> Iterator[tuple[str, int | float]]:
        resources = profile.table("resources")
        if resources is None or not has_stacks(profile.tables):
            raise NotFoundError("the profile has no call stacks, and folded stacks hold nothing else")
        metric = self._metric(resources.values())
        stacks = Stacks.of(profile.tables)
        folded = _Folded(stacks, self._settings.files)
        for stack, amount in zip(references(resources, "stack", profile.tables), metric, strict=True):
            if amount is not None:
                yield folded.text(stack), amount  # type: ignore[misc]

    def _metric(self, values: Sequence[Column]) -> Column:
        numbers = [column for column in values if column.dtype != "str"]
        metric_name = self._settings.metric
        metric_column = next((column for column in numbers if column.name == metric_name or not metric_name), None)
        if metric_column is None:
            metric_names = ", ".join(column.name for column in numbers) or "none"
            raise NotFoundError(
                f"the profile has no column of values {printable(metric_name)!r}; there are: {printable(metric_names)}"
            )
        return metric_column


class _Folded:
    """The stacks of a profile as text, each made once."""

    def __init__(self, stacks: Stacks, files: bool) -> None:
        self._stacks = stacks
        self._files = files
        self._frames: dict[int, str] = {}

    def text(self, stack: int) -> str:
        parts = []
        while stack != NOWHERE:
            frame = self._stacks.frame[stack]
            if frame not in self._frames:
                self._frames[frame] = self._frame(stack)
            parts.append(self._frames[frame])
            stack = self._stacks.parent[stack]
        return ";".join(reversed(parts))

    def _frame(self, stack: int) -> str:
        frame = self._stacks.frame[stack]
        function = NOWHERE if frame == NOWHERE else self._stacks.function[frame]
        if function == NOWHERE:
            return frames.UNKNOWN
        name = self._stacks.names[function] or frames.UNKNOWN
        if not self._files:
            return frames.written(name, "", None)
        return frames.written(name, self._stacks.files[function], self._stacks.line(stack))


def _written(amount: int | float) -> str:
    """The digits of a count: readers of folded stacks know no exponent."""
    if isinstance(amount, int):
        return str(amount)
    if not math.isfinite(amount):
        raise FormatError(f"a stack has the amount {amount}, and folded stacks hold finite numbers only")
    digits = format(decimal.Decimal(repr(amount)), "f")
    return digits if "." in digits else f"{digits}.0"


def _amounts(facts: Mapping[str, str], values: list[int | float]) -> Column:
    """Austin says which time its numbers are microseconds of, or that they are bytes; the others count samples."""
    if any(isinstance(value, float) for value in values):
        values = [float(value) for value in values]
    mode = facts.get("mode", "") if "austin" in facts else ""
    name, unit, factor = _AUSTIN_MODES.get(mode, ("samples", "", 1))
    if factor != 1:
        values = [value * factor for value in values]
        if any(abs(value) > sys.float_info.max for value in values):
            raise FormatError("a time is larger than numbers are stored")
    return column(name, values, unit=unit, role="value")
