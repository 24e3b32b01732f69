"""What traces count to, for tests."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from perfcore_fleet_kit.counting import Counts, count
from perfcore_fleet_kit.glue import Piece, glue
from perfcore_fleet_kit.stack_tree import ROOT
from perfcore_fleet_kit.union import TreeColumns, Union

from perfcore.hookspecs import Segment
from perfcore_source_statprofiler.driver import StatprofilerSettings, StatprofilerSource

STREAM = (1, 1, 1000, 11, 12, 13)
NAME = "".join(f"{word:08x}" for word in STREAM)


def read(paths: Sequence[Path], slow_ops: Sequence[str] = ()) -> list[Segment]:
    """The segments of traces; nothing is unreadable."""
    items = list(StatprofilerSource(StatprofilerSettings(slow_ops=tuple(slow_ops))).read(paths, ""))
    assert all(isinstance(item, Segment) for item in items), items
    return [item for item in items if isinstance(item, Segment)]


def union(segments: Sequence[Segment], label: tuple[str, str] | None = None) -> Counts:
    """The counts of segments of one stream, or of their samples with a label."""
    labels = glue([Piece(s.number, s.parts, s.ended, s.opened, s.loose) for s in segments])
    total = Union()
    for segment in segments:
        rows = segment.profile.tables["resources"]
        amounts: dict[int, int] = defaultdict(int)
        for stack, samples, part_number in zip(rows["stack"], rows["samples"].data, rows["part"].data, strict=True):
            if label is None or label in labels[segment.number][0][part_number]:
                amounts[ROOT if stack is None else int(stack)] += samples
        total.add(TreeColumns.of(segment.profile.tables), [(amounts, 1)])
    return count(total.tree, total.samples)
