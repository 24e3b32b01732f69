"""Counts stacks of a file that is read as a whole, and makes a segment of them."""

from __future__ import annotations

import itertools
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from perfcore.errors import FormatError, PerfError
from perfcore.hookspecs import Part, Segment
from perfcore.profile.stacks import Frame
from perfcore_fleet_kit.file_identity import Input
from perfcore_fleet_kit.stack_tree import StackTree, rows_table, segment_profile

MAX_BYTES = 256 << 20  # of a file: it is read as a whole
MAX_NAME = 1_000  # characters of a name
MAX_PARTS = 4_096  # sets of labels: with a new value in each sample they would be as many profiles
_MAX_DEPTH = 20_000
_MAX_FRAMES = 200_000_000  # of all stacks: a location may have thousands of inlined functions, and be in each stack
_LARGEST = 2**62
Labels = tuple[tuple[str, str], ...]
Read = Iterator[Segment | tuple[Path, FormatError]]
"""What a source gives."""


class StackCounter:
    """Adds up samples by labels and stack. FormatError where there are too many different stacks. Of too many sets of
    labels, the later ones count without labels."""

    def __init__(self) -> None:
        self._tree = StackTree()
        self._frames: dict[Frame, int] = {}
        self._counts: dict[Labels, dict[int, int]] = {}
        self._frames_left = _MAX_FRAMES

    def add(self, frames: Iterable[Frame], amount: int, labels: Labels = ()) -> None:
        """Count a stack; frames are outermost first."""
        self.count(self.stack(frames), amount, labels)

    def stack(self, frames: Iterable[Frame]) -> int:
        """The number of a stack, for `count`."""
        if self._tree.is_full:
            raise FormatError("it holds too many different stacks")
        numbers = [self._number(frame) for frame in itertools.islice(frames, _MAX_DEPTH)]
        self._frames_left -= len(numbers)
        if len(numbers) == _MAX_DEPTH or self._frames_left < 0:
            raise FormatError("it holds too many frames")
        return self._tree.stack(numbers)

    def count(self, stack: int, amount: int, labels: Labels = ()) -> None:
        if labels not in self._counts and len(self._counts) >= MAX_PARTS:
            labels = ()
        counts = self._counts.setdefault(labels, {})
        counts[stack] = amount = counts.get(stack, 0) + amount
        if amount > _LARGEST:
            raise FormatError("it has more samples than can be counted")

    def segment(
        self,
        source: str,
        path: Path,
        origin: Input,
        period: int,
        *,
        labels: Mapping[str, str],
        times: tuple[int, int] | None = None,
    ) -> Segment:
        """The segment. Without `times`, begin and end in ns since 1970 UTC, its time is that of the file. FormatError
        where there are no samples."""
        stacks, samples, numbers = array("q"), array("q"), array("q")
        parts = sorted(labels for labels, counts in self._counts.items() if any(counts.values()))
        for index, part_labels in enumerate(parts):
            rows = sorted((stack, amount) for stack, amount in self._counts[part_labels].items() if amount)
            stacks.extend([stack for stack, _ in rows])
            samples.extend([amount for _, amount in rows])
            numbers.extend([index] * len(rows))
        if not stacks:
            raise FormatError("it holds no samples")
        begin, end = times or (path.stat().st_mtime_ns,) * 2
        rows_of_all = rows_table(stacks, samples, numbers)
        return Segment(
            stream=origin.stream,
            number=origin.number,
            profile=segment_profile(source, end, period, rows_of_all, self._tree.tables()),
            parts=[Part(labels_of_part) for labels_of_part in parts],
            path=path,
            digest=origin.digest,
            length=origin.length,
            begin=begin,
            end=end,
            clock="file" if times is None else "samples",
            whole=origin.whole,
            labels=labels,
        )

    def _number(self, frame: Frame) -> int:
        index = self._frames.get(frame)
        if index is None:
            index = self._frames[frame] = self._tree.frame(
                frame.name[:MAX_NAME], frame.file[:MAX_NAME], frame.line, frame.first_line
            )
        return index


def read_bytes(path: Path) -> bytes:
    """The bytes of a file, whole lines of them. FormatError where it is too large or cannot be read."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise FormatError(f"it has more than {MAX_BYTES:,} bytes")
        data = path.read_bytes()
    except OSError as error:
        raise FormatError(f"it cannot be read: {error.strerror}") from error
    return data


def each_file(paths: Iterable[Path], segments: Callable[[Path], Iterable[Segment]]) -> Read:
    """The segments of each file; of one that cannot be read, why. Segments of a file come once all of it is read."""
    for path in paths:
        try:
            read = list(segments(path))
        except FormatError as error:
            yield path, error
        except OSError as error:  # it went meanwhile
            yield path, FormatError(f"it cannot be read: {error.strerror}")
        except PerfError as error:
            yield path, FormatError(error.message, hint=error.hint)
        else:
            yield from read
