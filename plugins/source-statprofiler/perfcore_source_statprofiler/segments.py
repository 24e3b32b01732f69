"""Segments of several traces, whose profiles share one tree of stacks."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from pathlib import Path

import attrs
from perfcore_fleet_kit.dynamic_code import named_file, unknown_file
from perfcore_fleet_kit.stack_tree import rows_table, segment_profile

from perfcore.hookspecs import Part, Section, Segment
from perfcore.profile.table import Table
from perfcore_source_statprofiler.sections import Counts, Sections
from perfcore_source_statprofiler.trace import StackCache, Trace

_NODES = 150_000  # of a tree: larger ones take more memory, smaller ones store more nodes again
_ROWS = 300_000  # of all segments of a tree
_SOURCE = "statprofiler"


@attrs.define
class _Counted:
    """A trace whose stacks are numbers of the tree."""

    trace: Trace
    rows: Table
    parts: list[Part]
    modified: int


class Batch:
    """Traces that are read together."""

    def __init__(self, slow_ops: frozenset[str]) -> None:
        self._cache = StackCache(slow_ops)
        self._counted: list[_Counted] = []
        self._rows = 0

    @property
    def is_full(self) -> bool:
        return len(self._cache.tree) >= _NODES or self._rows >= _ROWS

    def add(self, path: Path) -> None:
        """Read a trace. FormatError where it is none."""
        trace = Trace(path, self._cache)
        modified = path.stat().st_mtime_ns
        trace.read()
        local = [self._cache.put(_resolved(frames, trace)) for frames in trace.local]
        trace.local.clear()
        parts, columns = _rows(trace.sections, local)
        rows = rows_table(*columns)
        self._rows += rows.rows
        counted = _Counted(trace, rows, parts, modified)
        trace.sections.base.clear()
        trace.sections.open = [attrs.evolve(section, parts={}) for section in trace.sections.open]
        self._counted.append(counted)

    def segments(self) -> Iterator[Segment]:
        """The segments of all traces."""
        tables = self._cache.tree.tables()
        for counted in self._counted:
            yield _segment(counted, tables)


def _segment(counted: _Counted, tables: Mapping[str, Table]) -> Segment:
    trace = counted.trace
    head = trace.header
    profile = segment_profile(_SOURCE, counted.modified, head.tick * 1000, counted.rows, tables)
    if trace.problem:
        profile = attrs.evolve(profile, incomplete=True, notes=(trace.problem,))
    labels = dict(head.labels)
    if head.perl:  # programs in other languages write such traces, too
        labels.setdefault("perl", head.perl)
    return Segment(
        stream=head.stream,
        number=head.number,
        profile=profile,
        parts=counted.parts,
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


def _rows(sections: Sections, local: list[int]) -> tuple[list[Part], tuple[array[int], array[int], array[int]]]:
    """(parts, their rows: stack, samples, part)"""
    groups: dict[Part, Counts] = {}
    for (ended, labels), counts in sections.base.items():
        groups[Part(labels, ended)] = counts
    for at, section in enumerate(sections.open):
        for (ended, labels), counts in section.parts.items():
            groups[Part(labels, ended, tuple(range(at + 1)))] = counts
    parts = sorted(segment_part for segment_part in groups if any(groups[segment_part].values()))
    stacks, samples, numbers = array("q"), array("q"), array("q")
    for part_number, segment_part in enumerate(parts):
        counts = groups[segment_part]
        rows = sorted(
            (local[-3 - stack] if stack < -1 else stack, weight) for stack, weight in counts.items() if weight
        )
        stacks.extend([stack for stack, _ in rows])
        samples.extend([weight for _, weight in rows])
        numbers.extend([part_number] * len(rows))
    return parts, (stacks, samples, numbers)
