"""Segments of several traces, whose profiles share one tree of stacks."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

import attrs
from perfcore_fleet_kit.dynamic_code import named_file, unknown_file
from perfcore_fleet_kit.stack_tree import rows_table, segment_profile

from perfcore.hookspecs import Part, Section, Segment
from perfcore.model.record import replace
from perfcore.profile.table import Table
from perfcore_source_statprofiler.sections import Counts, Sections
from perfcore_source_statprofiler.trace import FIRST_LOCAL, StackCache, Trace

_FRAMES = 2_000_000  # of the stacks of a tree: more take more memory, fewer store and read more stacks again
_ROWS = 1_000_000  # of all segments of a tree
_SOURCE = "statprofiler"
_Group: TypeAlias = "tuple[Part, array[int], array[int]]"  # with stacks and their samples


@attrs.define
class _Counted:
    """A trace whose stacks are numbers of the set."""

    trace: Trace
    groups: list[_Group]
    modified: int


class Batch:
    """Traces that are read together."""

    def __init__(self, slow_ops: frozenset[str]) -> None:
        self._cache = StackCache(slow_ops)
        self._counted: list[_Counted] = []
        self._rows = 0

    @property
    def is_full(self) -> bool:
        return self._cache.stacks.size >= _FRAMES or self._rows >= _ROWS

    def add(self, path: Path) -> None:
        """Read a trace. FormatError where it is none."""
        trace = Trace(path, self._cache)
        modified = path.stat().st_mtime_ns
        trace.read()
        local = [self._cache.put(_resolved(frames, trace)) for frames in trace.local]
        trace.local.clear()
        groups = list(_groups(trace.sections, local))
        self._rows += sum(len(stacks) for _, stacks, _ in groups)
        self._counted.append(_Counted(trace, groups, modified))
        trace.sections.base.clear()
        trace.sections.open = [attrs.evolve(section, parts={}) for section in trace.sections.open]

    def segments(self) -> Iterator[Segment]:
        """The segments of all traces. The batch is over then."""
        stacks = self._cache.stacks
        del self._cache  # what recognises stacks takes as much memory as the tables that are made now
        tables, nodes = stacks.tree()
        self._counted.reverse()
        while self._counted:
            yield _segment(self._counted.pop(), tables, nodes)


def _segment(counted: _Counted, tables: Mapping[str, Table], nodes: array[int]) -> Segment:
    trace = counted.trace
    head = trace.header
    rows = _rows(counted.groups, nodes)
    profile = segment_profile(_SOURCE, counted.modified, head.tick * 1000, rows, tables)
    if trace.problem:
        profile = replace(profile, incomplete=True, notes=(trace.problem,))
    labels = dict(head.labels)
    if head.perl:  # programs in other languages write such traces, too
        labels.setdefault("perl", head.perl)
    return Segment(
        stream=head.stream,
        number=head.number,
        profile=profile,
        parts=[segment_part for segment_part, _, _ in counted.groups],
        path=trace.path,
        digest=trace.digest,
        length=trace.length,
        begin=counted.modified,
        end=counted.modified,
        whole=trace.whole,
        labels=labels,
        ended=tuple(trace.sections.ended),
        opened=tuple(Section(section.name, section.all_labels()[1:]) for section in trace.sections.open),
        loose=tuple(sorted(trace.sections.loose.items())),
        parent=head.parent,
        codes=trace.codes,
    )


def _resolved(
    frames: list[tuple[str, str | int, int | None, int | None]], trace: Trace
) -> list[tuple[str, str | int, int | None, int | None]]:
    """The frames with files in place of the numbers of dynamic code."""
    return [
        (name, _file(file, trace) if isinstance(file, int) else file, line, first) for name, file, line, first in frames
    ]


def _file(number: int, trace: Trace) -> str:
    code = trace.codes.get(number)
    return unknown_file(trace.header.stream, number) if code is None else named_file(code)


def _groups(sections: Sections, local: list[int]) -> Iterator[_Group]:
    """The parts in their order; `local` are the stacks with dynamic code."""
    groups: dict[Part, Counts] = {}
    for (ended, labels), counts in sections.base.items():
        groups[Part(labels, ended)] = counts
    for at, section in enumerate(sections.open):
        for (ended, labels), counts in section.parts.items():
            groups[Part(labels, ended, tuple(range(at + 1)))] = counts
    for segment_part, counts in sorted(groups.items()):
        stacks, samples = array("I"), array("q")
        for stack, weight in counts.items():
            if weight:
                stacks.append(stack if stack >= 0 else local[FIRST_LOCAL - stack])
                samples.append(weight)
        if stacks:
            yield segment_part, stacks, samples


def _rows(groups: list[_Group], nodes: array[int]) -> Table:
    """The rows of a segment, by part and node."""
    stacks, samples, numbers = array("q"), array("q"), array("q")
    for part_number, (_, part_stacks, part_samples) in enumerate(groups):
        rows = sorted(zip(map(nodes.__getitem__, part_stacks), part_samples, strict=True))
        stacks.extend([stack for stack, _ in rows])
        samples.extend([weight for _, weight in rows])
        numbers.extend([part_number] * len(rows))
    return rows_table(stacks, samples, numbers)
