"""Questions to the union of a version: which samples, and their sum as a profile."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from perfcore.errors import FormatError, PerfError
from perfcore.model import Header, Profile, Tool
from perfcore.profile import codec
from perfcore.profile.codec import LazyTables
from perfcore.profile.stacks import NAMES
from perfcore.profile.table import Table
from perfcore.store.store import Store, key_id, object_key, opened
from perfcore_fleet_kit.counting import Counts, Placed, placed_by
from perfcore_fleet_kit.glue import Labels, combined, glue
from perfcore_fleet_kit.keys import receipt_name
from perfcore_fleet_kit.receipts import Receipt
from perfcore_fleet_kit.stack_order import ITEMS
from perfcore_fleet_kit.stack_tree import ROOT
from perfcore_fleet_kit.state import FleetState
from perfcore_fleet_kit.texts import CodeFiles, TextIndex
from perfcore_fleet_kit.union import TreeColumns, Union

if TYPE_CHECKING:
    from perfcore_fleet_kit.stack_order import Numbers

Condition = tuple[str, frozenset[str]]


@attrs.frozen
class Query:
    """Samples with one of the values of each condition, from `since` up to `until` (ns since 1970 UTC). All samples for
    a query without conditions."""

    where: tuple[Condition, ...] = ()
    since: int | None = None
    until: int | None = None

    @property
    def text(self) -> str:
        """`action=checkout,host=web1|web2`"""
        return ",".join(f"{name}={'|'.join(sorted(values))}" for name, values in sorted(self.where))

    def is_in_time(self, receipt: Receipt) -> bool:
        """Whether a segment may have samples of the time. A segment is in the box of its end, whole."""
        return (self.since is None or receipt.end >= self.since) and (self.until is None or receipt.end < self.until)


@attrs.frozen
class Selected:
    """A segment with the parts that are asked for, by their numbers."""

    receipt: Receipt
    parts: Mapping[int, Labels]

    @property
    def samples(self) -> int:
        return sum(self.receipt.samples[part_number] for part_number in self.parts)


def select(state: FleetState, query: Query) -> Iterator[Selected]:
    """The segments that have samples of a query."""
    for stream in state.streams().values():
        labels = glue([receipt.piece() for receipt in stream])
        for receipt in stream:
            if not receipt.profile or not query.is_in_time(receipt):
                continue
            of_parts, loose = labels[receipt.number]
            own = combined(loose, tuple(receipt.labels.items()))
            chosen = {}
            for part_number, part_labels in enumerate(of_parts):
                every = combined(part_labels, own)
                if receipt.samples[part_number] and _matches(every, query.where):
                    chosen[part_number] = every
            if chosen:
                yield Selected(receipt, chosen)


def _matches(labels: Labels, where: Sequence[Condition]) -> bool:
    return all(any(key == name and value in values for key, value in labels) for name, values in where)


@attrs.define
class Merged:
    """The sum of segments. `problems` are those whose samples could not be read, and are not counted. `placed` says at
    which line a frame is counted."""

    union: Union
    placed: Placed
    segments: int = 0
    problems: list[str] = attrs.field(factory=list)


def merge(store: Store, state: FleetState, selected: Collection[Selected], texts: Path | None = None) -> Merged:
    """Add up what was selected. Segments whose profiles share their stacks are added together. `texts` is the file of
    a `TextIndex`."""
    code_files = _code_files(store, state, texts)
    merged = Merged(Union(state.code_names(code_files.names)), placed_by(code_files.ranges))
    for tree, members in read_samples(store, selected, merged.problems):
        try:
            merged.union.add(tree, [(by_node, segment.receipt.period) for segment, by_node in members])
        except FormatError as error:
            merged.problems.append(error.message)
        merged.segments += len(members)
    return merged


@attrs.define
class Counted:
    """The counts of segments, and the time in ns that their samples stand for. `problems` as in `Merged`."""

    counts: Counts
    time: int = 0
    segments: int = 0
    problems: list[str] = attrs.field(factory=list)


def counted(
    store: Store,
    state: FleetState,
    selected: Collection[Selected],
    texts: Path | None = None,
    items: Collection[str] = ITEMS,
) -> Counted:
    """The counts of what was selected, as of its merged tree, without making one. `texts` as for `merge`, `items` as
    for a `Tally`."""
    import numpy  # noqa: F401  # with it, tables are decoded much faster

    from perfcore_fleet_kit.tally import Tally

    problems: list[str] = []
    code_files = _code_files(store, state, texts)
    tally = Tally(state.code_names(code_files.names), placed_by(code_files.ranges), items)
    segments = 0
    groups = _groups(store, selected, problems)
    for key in list(groups):
        members = groups.pop(key)  # what is decoded of a group goes with it
        names = [_name(segment) for segment, _ in members]
        try:
            tally.add(_tree(members[0][1]), *_rows(members))
        except PerfError as error:
            problems += [f"{name}: {error.message}" for name in names]
        else:
            segments += len(names)
    return Counted(tally.counts(), tally.time, segments, problems)


def read_samples(
    store: Store, selected: Collection[Selected], problems: list[str]
) -> Iterator[tuple[TreeColumns, list[tuple[Selected, dict[int, int]]]]]:
    """(stacks, samples by stack of each segment that shares them). What cannot be read goes to `problems`."""
    groups = _groups(store, selected, problems)
    for key in list(groups):
        members = groups.pop(key)  # what is decoded of a group goes with it
        read = []
        for segment, tables in members:
            try:
                read.append((segment, _by_node(tables.stored("resources"), segment.parts)))
            except PerfError as error:
                problems.append(f"{_name(segment)}: {error.message}")
        try:
            tree = _tree(members[0][1])
        except PerfError as error:
            problems += [f"{_name(segment)}: {error.message}" for segment, _ in members]
        else:
            yield tree, read


def _groups(
    store: Store, selected: Collection[Selected], problems: list[str]
) -> dict[str, list[tuple[Selected, LazyTables]]]:
    """The segments whose profiles share their stacks, by the identity of these. Nothing is decoded so far."""
    groups: dict[str, list[tuple[Selected, LazyTables]]] = {}
    contents = _contents(store, {each.receipt.profile for each in selected})
    for each in sorted(selected, key=lambda each: (each.receipt.stream, each.receipt.number)):
        where = _name(each)
        try:
            content = contents.get(each.receipt.profile)
            if content is None:
                raise FormatError(f"profile {each.receipt.profile} is missing or damaged")
            tables = store.decode_profile(content, where).tables
            assert isinstance(tables, LazyTables)
            shared = codec.shared_pieces(content, where)
            if len(shared) < len(NAMES):
                raise FormatError("its stacks are no tables that profiles share")
            ids = "\0".join(id for name in NAMES for id in shared[name])
            key = hashlib.sha1(ids.encode(), usedforsecurity=False).hexdigest()
            groups.setdefault(key, []).append((each, tables))
        except PerfError as error:
            problems.append(f"{where}: {error.message}")
    return groups


def _name(selected: Selected) -> str:
    return receipt_name(selected.receipt.stream, selected.receipt.number)


def _tree(tables: LazyTables) -> TreeColumns:
    return TreeColumns.of({name: tables.stored(name) for name in NAMES})


def _code_files(store: Store, state: FleetState, texts: Path | None) -> CodeFiles:
    ids = {id for receipts in state.streams().values() for receipt in receipts for id in receipt.codes.values()}
    index = TextIndex(texts)
    code_files = index.files(store, ids)
    index.save()
    return code_files


def _contents(store: Store, ids: Collection[str]) -> dict[str, bytes]:
    """The JSON of profiles that are there and whole, by their ids."""
    contents = {}
    for key, data in store.read_many(map(object_key, ids)):
        with contextlib.suppress(FormatError):
            if not isinstance(data, PerfError):
                contents[key_id(key)] = opened(key_id(key), data, "profile").content
    return contents


def _rows(members: list[tuple[Selected, LazyTables]]) -> tuple[Numbers, Numbers, int]:
    """(stacks, samples, time in ns) of the rows of segments that are asked for. The list is empty then, so that not all
    rows of all segments are in memory together."""
    import numpy as np

    stacks, samples, time = [], [], 0
    while members:
        segment, tables = members.pop()
        rows = tables.stored("resources")
        stack = np.frombuffer(rows["stack"].data, np.int64)
        if rows["stack"].valid is not None:
            is_there = np.unpackbits(np.frombuffer(rows["stack"].valid, np.uint8), count=rows.rows, bitorder="little")
            stack = np.where(is_there, stack, ROOT)
        amounts = np.frombuffer(rows["samples"].data, np.int64)
        if len(segment.parts) < len(segment.receipt.parts):
            is_chosen = np.isin(np.frombuffer(rows["part"].data, np.int64), list(segment.parts))
            stack, amounts = stack[is_chosen], amounts[is_chosen]
        stacks.append(stack)
        samples.append(amounts)
        time += int(amounts.sum()) * segment.receipt.period
    return np.concatenate(stacks), np.concatenate(samples), time


def _by_node(rows: Table, parts: Mapping[int, Labels]) -> dict[int, int]:
    """Samples by stack of some parts of a segment."""
    counts: dict[int, int] = {}
    stack = rows["stack"]
    nodes: Sequence[Any] = stack.data if stack.valid is None else [ROOT if node is None else node for node in stack]
    amounts: Sequence[Any] = rows["samples"].data
    numbers: Sequence[Any] = rows["part"].data
    pairs: Iterable[tuple[int, int]] = zip(nodes, amounts, strict=True)
    if not set(parts).issuperset(numbers):
        pairs = itertools.compress(pairs, [part_number in parts for part_number in numbers])
    get = counts.get
    for node, amount in pairs:
        counts[node] = get(node, 0) + amount
    return counts


def profile_of(
    merged: Merged, query: Query, version: str, created: int, name: str, notes: Sequence[str] = ()
) -> Profile:
    """The sum as a profile. Profiles of one query over several versions are of one configuration."""
    identity = f"fleet\0{name}\0{query.text}"
    return Profile(
        header=Header(type="sample", cmd="fleet", args=name or query.text),
        created=created,
        collector=Tool(name="fleet", params={"where": query.text}, sampling={"segments": merged.segments}),
        config_id=hashlib.sha1(identity.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest(),
        origin=version,
        incomplete=bool(merged.problems),
        notes=tuple(notes),
        tables=merged.union.tables(),
    )
