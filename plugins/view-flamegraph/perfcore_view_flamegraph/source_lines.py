"""Lines of functions at a version, with what each line took."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import compress
from typing import Any, TypeAlias

from perfcore_view_kit.form import printable

from perfcore.model import EMPTY, Profile
from perfcore.model.record import Record
from perfcore.profile.stacks import NOWHERE, Stacks, references

Read: TypeAlias = Callable[[str, str], bytes | None]
Function: TypeAlias = tuple[str, str]  # name and file
Costs: TypeAlias = Mapping[int, tuple[list[float], list[float]]]  # by line: own and total of each metric

_FUNCTIONS = 200  # the largest ones: a page for all of a program's source would be a copy of it
_LINES = 150  # of a function
_BYTES = 200_000  # of all lines of a page
_BEYOND = 1  # lines after the last one that was seen
_LARGEST = 1 << 20  # bytes of a file of source


class Side(Record, frozen=True):
    """A profile, the version of its source, what that is called, and the names of files there that are others here."""

    profile: Profile
    version: str
    name: str
    paths: Mapping[str, str] = EMPTY


class _Lines(Record, frozen=True):
    """What was seen of a function: its first line where that is known, and what its lines took."""

    first: int | None
    costs: Costs

    @property
    def range(self) -> range:
        first = min(self.costs) if self.first is None else min(self.first, *self.costs)
        return range(first, min(max(self.costs) + _BEYOND + 1, first + _LINES))


def lines(sides: Sequence[Side], metrics: Sequence[str], read: Read) -> dict[Function, dict[str, Any]]:
    """The lines of the functions that took most, as the page shows them: `title`, and `rows` of a line's number, what
    it took itself and with all it called, and its text. Of two sides a row has both totals, and a mark: + or −."""
    files = _Files(read)
    if not all(files.has_any(side) for side in sides):
        return {}
    costs = [_costs(side.profile, metrics) for side in sides]
    shown_lines: dict[Function, dict[str, Any]] = {}
    size = 0
    for function in _largest(costs):
        rows = list(_rows(function, sides, costs, files))
        size += sum(len(row[3]) for row in rows)
        if size > _BYTES:
            break
        if rows:
            name = " and ".join(dict.fromkeys(printable(side.name) for side in sides))
            shown_lines[function] = {"title": f"{printable(function[1])}, {name}", "rows": rows}
    return shown_lines


def _largest(costs: Sequence[Mapping[Function, _Lines]]) -> list[Function]:
    def total(function: Function) -> float:
        return max(
            (max(line[1][0] for line in side[function].costs.values()) for side in costs if function in side),
            default=0.0,
        )

    functions = dict.fromkeys(function for side in costs for function in side)
    return sorted(functions, key=lambda function: (-total(function), function))[:_FUNCTIONS]


def _rows(
    function: Function, sides: Sequence[Side], costs: Sequence[Mapping[Function, _Lines]], files: _Files
) -> Iterator[list[Any]]:
    parts = []
    for side, of_side in zip(sides, costs, strict=True):
        seen = of_side.get(function)
        text = files.text(side.version, side.paths.get(function[1], function[1])) if seen else None
        parts.append(({}, []) if seen is None or text is None else (seen.costs, [*_numbered(text, seen.range)]))
    if len(parts) == 1:
        ((of_line, numbered),) = parts
        yield from ([number, *of_line.get(number, (None, None)), line] for number, line in numbered)
        return
    (before, old), (after, new) = parts
    matcher = difflib.SequenceMatcher(None, [text for _, text in old], [text for _, text in new], autojunk=False)
    for tag, old_from, old_to, new_from, new_to in matcher.get_opcodes():
        if tag == "equal":
            for (number, line), (other, _) in zip(old[old_from:old_to], new[new_from:new_to], strict=True):
                yield [other, before.get(number, (0, None))[1], after.get(other, (0, None))[1], line, ""]
            continue
        for number, line in old[old_from:old_to]:
            yield [number, before.get(number, (0, None))[1], None, line, "−"]
        for number, line in new[new_from:new_to]:
            yield [number, None, after.get(number, (0, None))[1], line, "+"]


def _numbered(text: Sequence[str], numbers: range) -> Iterator[tuple[int, str]]:
    for number in numbers:
        if 0 < number <= len(text):
            yield number, printable(text[number - 1].replace("\t", "    "))[:300]


class _Files:
    """Files at versions. A profile may name them by absolute paths of where they were built or run: the longest end of
    such a path that the version has is the file."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self._texts: dict[tuple[str, str], list[str] | None] = {}

    def has_any(self, side: Side) -> bool:
        """Whether the version has a file of the profile: of a foreign program it has none, and all else is in vain."""
        names = dict.fromkeys(map(str, side.profile.tables["functions"]["file"]))
        return any(self.text(side.version, side.paths.get(name, name)) is not None for name in names)

    def text(self, version: str, file: str) -> list[str] | None:
        if (version, file) not in self._texts:
            data = self._data(version, file.replace("\\", "/")) if file else None
            usable = data is not None and len(data) <= _LARGEST and b"\0" not in data
            self._texts[version, file] = data.decode("utf-8", "replace").split("\n") if data and usable else None
        return self._texts[version, file]

    def _data(self, version: str, file: str) -> bytes | None:
        parts = [part for part in file.split("/") if part not in ("", ".")]
        if ".." in parts:
            return None
        for start in range(len(parts)):
            data = self._read(version, "/".join(parts[start:]))
            if data is not None:
                return data
        return None


def _costs(profile: Profile, metrics: Sequence[str]) -> dict[Function, _Lines]:
    """What the lines of each function took, where lines are known."""
    stacks = Stacks.of(profile.tables)
    resources = profile.tables["resources"]
    rows = references(resources, "stack", profile.tables)
    columns = [resources.get(name) for name in metrics]
    own = [[0.0] * len(stacks) for _ in metrics]
    for sums, column in zip(own, columns, strict=True):
        for stack, value in zip(rows, column or (), strict=column is not None):
            if stack != NOWHERE and isinstance(value, int | float):
                sums[stack] += value
    by_frame = _by_frame(stacks, own)
    lines_by_function: dict[Function, _Lines] = {}
    for frame, (mine, total) in by_frame.items():
        function, offset = stacks.function[frame], stacks.offsets[frame]
        if function == NOWHERE or offset is None or not any(total):
            continue
        first = stacks.first_lines[function]
        key = stacks.names[function], stacks.files[function]
        lines_of = lines_by_function.setdefault(key, _Lines(first, {}))
        lines_of.costs[(first or 0) + offset] = mine, total  # type: ignore[index]  # made right here
    return lines_by_function


def _by_frame(stacks: Stacks, own: Sequence[Sequence[float]]) -> dict[int, tuple[list[float], list[float]]]:
    """By the row of `frames`: what it took itself, and in all stacks that it is in."""
    by_frame: dict[int, tuple[list[float], list[float]]] = {}
    for metric, sums in enumerate(own):
        mine: dict[int, float] = {}
        total: dict[int, float] = {}
        for stack in compress(range(len(stacks)), sums):
            amount = sums[stack]
            mine[stacks.frame[stack]] = mine.get(stacks.frame[stack], 0.0) + amount
            for frame in _frames_of(stack, stacks.parent, stacks.frame):
                total[frame] = total.get(frame, 0.0) + amount
        for frame, amount in total.items():
            zeros = [0.0] * len(own)
            of_frame = by_frame.setdefault(frame, (zeros, [*zeros]))
            of_frame[0][metric], of_frame[1][metric] = mine.get(frame, 0.0), amount
    return by_frame


def _frames_of(stack: int, parent: Sequence[int], frame: Sequence[int]) -> set[int]:
    """The frames of a stack, each once."""
    frames: set[int] = set()
    add = frames.add
    while stack != NOWHERE:
        add(frame[stack])
        stack = parent[stack]
    return frames
