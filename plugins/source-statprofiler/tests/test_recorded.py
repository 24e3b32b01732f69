"""A trace that Devel::StatProfiler 0.56 recorded of `recorded/shop.pl`, and what its own reader counts.

The program evaluates texts in sections, so texts stand inside of samples, and an empty sample behind the end of the
file. Its reader names dynamic code by the process, and ours by its text, so names and lines are compared.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from perfcore_fleet_kit.union import TreeColumns
from perfcore_source_statprofiler import StatprofilerSource
from perfcore_source_statprofiler.testing import read

from perfcore.hookspecs import Segment

RECORDED = Path(__file__).parent / "recorded"
TRACE = RECORDED / "shop.trace"


def test_stacks_are_those_of_the_reader_that_comes_with_it() -> None:
    (segment,) = read([TRACE])
    assert segment.whole
    tables = segment.profile.tables
    tree = TreeColumns.of(tables)
    counts = Counter[tuple[tuple[str, int], ...]]()
    for stack, amount in zip(tables["resources"]["stack"].data, tables["resources"]["samples"].data, strict=True):
        frames = []
        while stack >= 0:
            function, offset = tree.frames[tree.node_frames[stack]]
            name, _, first = tree.functions[function]
            frames.append((name, (first or 0) + (offset or 0)))
            stack = tree.parents[stack]
        counts[tuple(reversed(frames))] += amount
    expected = json.loads((RECORDED / "shop.json").read_text())
    assert counts == {tuple(map(tuple, frames)): amount for frames, amount in expected}


def test_its_parts_are_in_the_section_and_its_texts_are_known() -> None:
    (segment,) = read([TRACE])
    by_labels = dict(zip((part.labels for part in segment.parts), segment_samples(segment), strict=True))
    assert sum(by_labels.values()) == 181
    assert by_labels[("section", "request"),] > 170
    files = {file for _, file, _ in TreeColumns.of(segment.profile.tables).functions}
    assert "page.tt" in files
    assert sum(file.startswith("eval:") for file in files) == 2
    assert not any(file.startswith("qeval:") for file in files)


def segment_samples(segment: Segment) -> list[int]:
    """The samples of each part."""
    rows, samples = segment.profile.tables["resources"], [0] * len(segment.parts)
    for part, amount in zip(rows["part"].data, rows["samples"].data, strict=True):
        samples[part] += amount
    return samples


def test_a_recorded_trace_is_whole_only_at_its_end(tmp_path: Path) -> None:
    data, amounts = TRACE.read_bytes(), set()
    path = tmp_path / "app"
    for size in range(len(data)):
        path.write_bytes(data[:size])
        (item,) = StatprofilerSource().read([path], "")
        if isinstance(item, Segment):
            assert not item.whole
            amounts.add(sum(item.profile.tables["resources"]["samples"].data))
    assert max(amounts) <= 181
