"""Segments of made-up streams, for tests of what uses them."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Mapping, Sequence
from pathlib import Path

from perfcore.hookspecs import Part, Section, Segment
from perfcore.store.store import Store
from perfcore_fleet_kit.commit import Committed, Committer
from perfcore_fleet_kit.counting import Counts, count
from perfcore_fleet_kit.fleet_index import FleetIndex
from perfcore_fleet_kit.query import Query, counted, merge, select
from perfcore_fleet_kit.stack_tree import StackTree, rows_table, segment_profile
from perfcore_fleet_kit.state import FleetState

VERSION = "1" * 40
HOUR = 3_600_000_000_000


def segment(
    stream: str,
    number: int,
    samples: Mapping[str, int],
    *,
    folder: Path | None = None,
    data: bytes | None = None,
    labels: Mapping[str, str] | None = None,
    parts: Sequence[Part] = (Part(),),
    hour: int = 0,
    whole: bool = True,
    period: int = 1_000,
    ended: Sequence[Section] = (),
    opened: Sequence[Section] = (),
    parent: tuple[str, int] | None = None,
    codes: Mapping[int, str] | None = None,
) -> Segment:
    """A segment with stacks such as `main;work` or `main;FILE:work`; all samples are in each of its parts."""
    tree = StackTree()
    stacks, amounts, numbers = array("q"), array("q"), array("q")
    for part_number in range(len(parts)):
        for stack, amount in samples.items():
            frames = (name.rpartition(":") for name in stack.split(";"))
            stacks.append(tree.stack([tree.frame(name, file or "app.py", 3, 1) for file, _, name in frames]))
            amounts.append(amount)
            numbers.append(part_number)
    data = repr((stream, number, sorted(samples.items()))).encode() if data is None else data
    path = (folder or Path("/nowhere")) / f"{stream.replace('/', '_')}.{number}"
    if folder is not None:
        path.write_bytes(data)
    return Segment(
        stream=stream,
        number=number,
        profile=segment_profile("made-up", 1, period, rows_table(stacks, amounts, numbers), tree.tables()),
        parts=parts,
        path=path,
        digest=hashlib.sha1(data).hexdigest(),
        length=len(data),
        begin=hour * HOUR,
        end=hour * HOUR + 1,
        whole=whole,
        labels={"host": "web1", **(labels or {})},
        ended=ended,
        opened=opened,
        parent=parent,
        codes=codes or {},
    )


def commit(store: Store, *segments: Segment, shard: str = "one") -> list[Committed]:
    """Ingest segments, as a process of its own does."""
    committer = Committer(store, VERSION, FleetIndex.read(store, VERSION), shard, "made-up")
    return committer.commit(segments, [{}] * len(segments))


def counts(store: Store, **conditions: str) -> Counts:
    """What the union says of the samples with these labels."""
    state = FleetState.read(store, VERSION)
    assert state.problems == []
    query = Query(tuple((key, frozenset({value})) for key, value in conditions.items()))
    selected = list(select(state, query))
    merged, tallied = merge(store, state, selected), counted(store, state, selected)
    assert merged.problems == tallied.problems == []
    assert tallied.counts == count(merged.union.tree, merged.union.samples, merged.placed)
    assert tallied.time == sum(merged.union.time.values())
    return tallied.counts


def functions(store: Store, **conditions: str) -> dict[str, int]:
    return {name: function.inclusive for name, function in counts(store, **conditions).functions.items()}
