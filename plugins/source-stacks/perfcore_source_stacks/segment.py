"""A segment of counted stacks."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterable, Mapping
from pathlib import Path

from perfcore_fleet_kit.stack_tree import StackTree, rows_table, segment_profile

from perfcore.errors import FormatError
from perfcore.hookspecs import Part, Segment
from perfcore.profile.stacks import Frame

MAX_BYTES = 256 << 20  # of a file: it is read as a whole
MAX_NAME = 1_000  # characters of a name
Labels = tuple[tuple[str, str], ...]


class StackCounter:
    """Adds up samples by labels and stack. FormatError where there are too many different stacks."""

    def __init__(self) -> None:
        self._tree = StackTree()
        self._frames: dict[Frame, int] = {}
        self._counts: dict[Labels, dict[int, int]] = {}

    def add(self, frames: Iterable[Frame], amount: int, labels: Labels = ()) -> None:
        """Count a stack; frames are outermost first."""
        if self._tree.is_full:
            raise FormatError("it holds too many different stacks")
        stack = self._tree.stack([self._number(frame) for frame in frames])
        counts = self._counts.setdefault(labels, {})
        counts[stack] = counts.get(stack, 0) + amount

    def segment(
        self,
        source: str,
        path: Path,
        data: bytes,
        identity: tuple[str, int],
        period: int,
        *,
        labels: Mapping[str, str],
        end: bytes = b"\n",
    ) -> Segment:
        """The segment. A file whose last record has no `end` is not whole."""
        stacks, samples, numbers = array("q"), array("q"), array("q")
        parts = sorted(labels for labels, counts in self._counts.items() if any(counts.values()))
        for number, part in enumerate(parts):
            rows = sorted((stack, amount) for stack, amount in self._counts[part].items() if amount)
            stacks.extend([stack for stack, _ in rows])
            samples.extend([amount for _, amount in rows])
            numbers.extend([number] * len(rows))
        if not stacks:
            raise FormatError("it holds no samples")
        modified = path.stat().st_mtime_ns
        rows_of_all = rows_table(stacks, samples, numbers)
        return Segment(
            stream=identity[0],
            number=identity[1],
            profile=segment_profile(source, modified, period, rows_of_all, self._tree.tables()),
            parts=[Part(labels_of_part) for labels_of_part in parts],
            path=path,
            digest=hashlib.sha1(data, usedforsecurity=False).hexdigest(),
            length=len(data),
            begin=modified,
            end=modified,
            whole=data.endswith(end),
            labels=labels,
        )

    def _number(self, frame: Frame) -> int:
        number = self._frames.get(frame)
        if number is None:
            number = self._frames[frame] = self._tree.frame(
                frame.name[:MAX_NAME], frame.file[:MAX_NAME], frame.line, frame.first_line
            )
        return number


def read_bytes(path: Path) -> bytes:
    """The bytes of a file, whole lines of them. FormatError where it is too large or cannot be read."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise FormatError(f"it has more than {MAX_BYTES:,} bytes")
        data = path.read_bytes()
    except OSError as error:
        raise FormatError(f"it cannot be read: {error.strerror}") from error
    return data
