"""Questions to the union of a version: which samples, and their sum as a profile."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import attrs

from perfcore.errors import FormatError, NotFoundError, PerfError
from perfcore.model import Header, Profile, Tool
from perfcore.profile import codec
from perfcore.profile.codec import LazyTables
from perfcore.profile.stacks import NAMES
from perfcore.profile.table import Table
from perfcore.store.store import Store, key_id, object_key, opened
from perfcore_fleet_kit.dynamic_code import named_file
from perfcore_fleet_kit.glue import Labels, combined, glue
from perfcore_fleet_kit.keys import receipt_name
from perfcore_fleet_kit.receipts import Receipt
from perfcore_fleet_kit.stack_tree import ROOT
from perfcore_fleet_kit.state import FleetState
from perfcore_fleet_kit.union import TreeColumns, Union

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
        return sum(self.receipt.samples[part] for part in self.parts)


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
            for part, part_labels in enumerate(of_parts):
                every = combined(part_labels, own)
                if receipt.samples[part] and _matches(every, query.where):
                    chosen[part] = every
            if chosen:
                yield Selected(receipt, chosen)


def _matches(labels: Labels, where: Sequence[Condition]) -> bool:
    return all(any(key == name and value in values for key, value in labels) for name, values in where)


@attrs.define
class Merged:
    """The sum of segments. `problems` are those whose samples could not be read, and are not counted."""

    union: Union
    segments: int = 0
    problems: list[str] = attrs.field(factory=list)


def merge(store: Store, state: FleetState, selected: Collection[Selected]) -> Merged:
    """Add up what was selected. Segments whose profiles share their stacks are added together."""
    codes = {id for receipts in state.streams().values() for receipt in receipts for id in receipt.codes.values()}
    merged = Merged(Union(state.code_names(_LazyNames(store, codes))))
    for tree, members in read_samples(store, selected, merged.problems):
        try:
            merged.union.add(tree, [(by_node, each.receipt.period) for each, by_node in members])
        except FormatError as error:
            merged.problems.append(error.message)
        merged.segments += len(members)
    return merged


def read_samples(
    store: Store, selected: Collection[Selected], problems: list[str]
) -> Iterator[tuple[TreeColumns, list[tuple[Selected, dict[int, int]]]]]:
    """(stacks, samples by stack of each segment that shares them). What cannot be read goes to `problems`."""
    groups: dict[tuple[str, ...], list[tuple[Selected, Table]]] = {}
    trees: dict[tuple[str, ...], TreeColumns] = {}
    contents = _contents(store, {each.receipt.profile for each in selected})
    for each in sorted(selected, key=lambda each: (each.receipt.stream, each.receipt.number)):
        where = receipt_name(each.receipt.stream, each.receipt.number)
        try:
            content = contents.get(each.receipt.profile)
            if content is None:
                raise FormatError(f"profile {each.receipt.profile} is missing or damaged")
            tables = store.decode_profile(content, where).tables
            assert isinstance(tables, LazyTables)
            shared = codec.shared_pieces(content, where)
            key = tuple(id for name in NAMES for id in shared[name])
            if key not in trees:
                trees[key] = TreeColumns.of({name: tables.stored(name) for name in NAMES})
            groups.setdefault(key, []).append((each, tables.stored("resources")))
        except PerfError as error:
            problems.append(f"{where}: {error.message}")
    for key, members in groups.items():
        yield trees.pop(key), [(each, _by_node(rows, each.parts)) for each, rows in members]


def _contents(store: Store, ids: Collection[str]) -> dict[str, bytes]:
    """The JSON of profiles that are there and whole, by their ids."""
    contents = {}
    for key, data in store.read_many(map(object_key, ids)):
        with contextlib.suppress(FormatError):
            if not isinstance(data, PerfError):
                contents[key_id(key)] = opened(key_id(key), data, "profile").content
    return contents


def _by_node(rows: Table, parts: Mapping[int, Labels]) -> dict[int, int]:
    """Samples by stack of some parts of a segment."""
    counts: dict[int, int] = {}
    stack = rows["stack"]
    nodes: Sequence[Any] = stack.data if stack.valid is None else [ROOT if node is None else node for node in stack]
    amounts: Sequence[Any] = rows["samples"].data
    numbers: Sequence[Any] = rows["part"].data
    pairs: Iterable[tuple[int, int]] = zip(nodes, amounts, strict=True)
    if not set(parts).issuperset(numbers):
        pairs = itertools.compress(pairs, [part in parts for part in numbers])
    get = counts.get
    for node, amount in pairs:
        counts[node] = get(node, 0) + amount
    return counts


class _LazyNames(Mapping[str, str]):
    """The files of texts of dynamic code by the ids of their objects, which are read when they are asked for."""

    def __init__(self, store: Store, ids: Collection[str]) -> None:
        self._store = store
        self._ids = ids
        self._names: dict[str, str] = {}

    def __getitem__(self, id: str) -> str:
        if id not in self._names:
            try:
                self._names[id] = named_file(self._store.get(id, "code").content.decode("utf-8", "surrogatepass"))
            except (NotFoundError, FormatError) as error:
                raise KeyError(id) from error
        return self._names[id]

    def __iter__(self) -> Iterator[str]:
        return iter(self._ids)

    def __len__(self) -> int:
        return len(self._ids)


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
