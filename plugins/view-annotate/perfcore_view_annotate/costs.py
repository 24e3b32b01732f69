"""Costs of a profile by file: its functions and lines, with who calls whom where."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs
from perfcore_fleet_kit.counting import Counts, FunctionCounts, placed_by
from perfcore_fleet_kit.dynamic_code import LineRange
from perfcore_fleet_kit.tally import count_tree

from perfcore_view_annotate.profile_tree import ProfileTree


@attrs.frozen
class Call:
    """What `callee` took when a line called it."""

    file: str
    line: int
    caller: str
    callee: str
    amount: int


@attrs.define
class FileCosts:
    """A file: the ids of its functions, [inclusive, exclusive] by line, calls by the line that makes them, and what it
    took itself."""

    name: str
    exclusive: int = 0
    functions: list[str] = attrs.field(factory=list)
    lines: dict[int, list[int]] = attrs.field(factory=dict)
    calls: dict[int, list[Call]] = attrs.field(factory=dict)

    @property
    def inclusive(self) -> int:
        """The most that a line of it took, as a lower bound of the whole."""
        return max((pair[0] for pair in self.lines.values()), default=self.exclusive)


@attrs.frozen
class Costs:
    """All files by name, all functions by id, and the calls of each function. Amounts are of `metric`, in `unit` times
    `scale`."""

    total: int
    files: Mapping[str, FileCosts]
    functions: Mapping[str, FunctionCounts]
    callers: Mapping[str, Sequence[Call]]
    metric: str
    unit: str
    scale: float

    def ranked(self) -> list[str]:
        """The ids of all functions, those with the most own cost first."""
        functions = self.functions
        return sorted(functions, key=lambda id: (-functions[id].exclusive, -functions[id].inclusive, id))


def costs_of(tree: ProfileTree, ranges: Mapping[str, Sequence[LineRange]]) -> Costs:
    """The costs of a profile. Lines in `ranges` are counted where their text says that they are."""
    counts = count_tree(tree, tree.amounts, placed_by(ranges) if ranges else None)
    files: dict[str, FileCosts] = {}

    def file_of(name: str) -> FileCosts:
        costs = files.get(name)
        if costs is None:
            costs = files[name] = FileCosts(name)
        return costs

    for id, function in counts.functions.items():
        file_of(function.file).functions.append(id)
    for (name, line), pair in counts.lines.items():
        file_of(name).lines[line] = pair
    for name, exclusive in counts.files.items():
        file_of(name).exclusive = exclusive
    callers = _note_calls(counts, files)
    for costs in files.values():
        costs.functions.sort(key=lambda id: (-counts.functions[id].inclusive, id))
    return Costs(counts.total, files, counts.functions, callers, tree.metric, tree.unit, tree.scale)


def _note_calls(counts: Counts, files: dict[str, FileCosts]) -> dict[str, list[Call]]:
    """Add the calls to the files of their lines; gives them by what is called, the largest first."""
    callers: dict[str, list[Call]] = {}
    for (name, line, caller, callee), pair in counts.call_sites.items():
        call = Call(name, line, caller, callee, pair[0])
        callers.setdefault(callee, []).append(call)
        if name in files:
            files[name].calls.setdefault(line, []).append(call)
    for calls in callers.values():
        calls.sort(key=lambda call: (-call.amount, call.file, call.line, call.caller))
    for costs in files.values():
        for calls in costs.calls.values():
            calls.sort(key=lambda call: (-call.amount, call.callee, call.caller))
    return callers
