"""Storing segments: objects first, then a receipt for each, whose creation is the only commit point."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Mapping, Sequence
from typing import Literal

import attrs
from perfcore_storage_kit import sets

from perfcore.errors import ConflictError, KeyExistsError, KeyMissingError, StorageError
from perfcore.hookspecs import Segment
from perfcore.model import PROFILE_FORMAT
from perfcore.named_tuple import NamedTuple
from perfcore.profile import pieces, wire
from perfcore.profile.stacks import NAMES
from perfcore.profile.table import Table
from perfcore.store import objects
from perfcore.store.store import Store, key_id, object_key, table_object
from perfcore_fleet_kit import receipts
from perfcore_fleet_kit.briefs import Brief
from perfcore_fleet_kit.fleet_index import FleetIndex
from perfcore_fleet_kit.keys import receipt_name, version_prefix
from perfcore_fleet_kit.receipts import Receipt
from perfcore_fleet_kit.texts import TextIndex

_TRIES = 100  # writers that were faster at the same segment, or collections of garbage
Outcome = Literal["new", "known", "replaced", "expired", "conflict"]


class Committed(NamedTuple):
    """What became of a segment; `reason` says of a conflict what differs."""

    outcome: Outcome
    receipt: Receipt | Brief
    reason: str = ""


@attrs.define
class Committer:
    """Stores segments of one version. `index` is what was there when it was read; what others commit meanwhile is seen
    at the commit point. Tables that several segments share are stored once."""

    store: Store
    version: str
    index: FleetIndex
    shard: str
    source: str
    labels: Mapping[str, str] = {}
    texts: TextIndex = attrs.field(factory=TextIndex)
    _codes: dict[str, str] = attrs.field(factory=dict)
    _objects: dict[str, bytes] = attrs.field(factory=dict)
    _tables: dict[int, tuple[Table, list[str]]] = attrs.field(factory=dict)

    def commit(self, segments: Sequence[Segment], labels: Sequence[Mapping[str, str]]) -> list[Committed]:
        """Store segments, each with labels of its own besides those of its source, in their order."""
        self._codes.clear()
        self._objects.clear()
        self._tables.clear()
        committed: list[Committed | None] = []
        prepared: dict[int, Receipt] = {}
        for at, (segment, own) in enumerate(zip(segments, labels, strict=True)):
            stored_receipt = self.index.get(segment.stream, segment.number)
            committed.append(None if stored_receipt is None else self._compare(stored_receipt, segment))
            if committed[-1] is None:
                prepared[at] = self._prepare(segment, own)
        self._put()
        written: list[str] = []
        for at, receipt in prepared.items():
            result = committed[at] = self._create(receipt, segments[at])
            if result.outcome in ("new", "replaced"):
                self.index.put(receipt.brief())
                written += receipt.ids
        self._secure(dict.fromkeys(written))
        return [result for result in committed if result is not None]

    def _compare(self, known: Receipt | Brief, segment: Segment) -> Committed | None:
        """What a segment is beside the receipt that is there; None where it is to take its place."""
        if isinstance(known, Brief) and known.expired:
            return Committed("expired", known)
        if known.digest == segment.digest and known.length == segment.length:
            # The same bytes: whether they are whole is in them.
            return Committed("known", known)
        if not known.whole and segment.length > known.length and _begins_with(segment, known.length, known.digest):
            return None
        if not segment.whole and segment.length < known.length:
            # Without the bytes of the longer one this cannot be told apart from its beginning.
            return Committed("known", known, "a shorter part of the same segment")
        return Committed(
            "conflict", known, f"{segment.stream}.{segment.number} has other bytes than the segment stored"
        )

    def _prepare(self, segment: Segment, own: Mapping[str, str]) -> Receipt:
        """The receipt; the objects that it names wait to be put."""
        codes = {number: self._add_code(text) for number, text in segment.codes.items()}
        profile, table_ids = self._add_profile(segment)
        rows = segment.profile.tables["resources"]
        samples = [0] * len(segment.parts)
        for piece, amount in zip(rows["part"].data, rows["samples"].data, strict=True):
            samples[piece] += amount
        return Receipt(
            stream=segment.stream,
            number=segment.number,
            source=self.source,
            shard=self.shard,
            profile=profile,
            digest=segment.digest,
            length=segment.length,
            begin=segment.begin,
            end=segment.end,
            clock=segment.clock,
            whole=segment.whole,
            period=int(segment.profile.collector.sampling.get("period", 0)),
            labels={**segment.labels, **own, **self.labels},
            parts=list(segment.parts),
            samples=samples,
            ended=list(segment.ended),
            opened=list(segment.opened),
            loose=segment.loose,
            parent=segment.parent,
            codes=codes,
            tables=table_ids,
            problem="; ".join(segment.profile.notes),
        )

    def _put(self) -> None:
        """Store the objects of the segments, together where the storage can: waiting for the disk takes longest."""
        waiting = list(self._objects)
        if hasattr(self.store.storage, "create_many"):
            there = self.store.storage.create_many((object_key(id), data) for id, data in self._objects.items())
            waiting = [key_id(key) for key in there]
        for id in waiting:
            self.store.put_stored(id, self._objects[id])

    def _add(self, item: objects.Object) -> str:
        id, data = objects.encode(item)
        self._objects[id] = data
        return id

    def _add_code(self, text: str) -> str:
        if text not in self._codes:
            self._codes[text] = self._add(_code(text))
            self.texts.add(self._codes[text], text)
        return self._codes[text]

    def _add_profile(self, segment: Segment) -> tuple[str, list[str]]:
        """(id of the profile, ids of its tables)"""
        profile = segment.profile
        tables, ids = {}, list[str]()
        for name, table in profile.tables.items():
            if id(table) not in self._tables:
                parts = list(pieces.split(table)) or [table]
                table_ids = [self._add(table_object(name, pieces.encode(piece))) for piece in parts]
                # The table is kept as well: its identity is its key.
                self._tables[id(table)] = (table, table_ids)
            table_ids = self._tables[id(table)][1]
            ids += table_ids
            tables[name] = wire.WireTable(rows=table.rows, pieces=table_ids, shared=name in NAMES)
        document = wire.WireProfile(
            format=PROFILE_FORMAT,
            header=wire.of_header(profile.header),
            created=profile.created,
            collector_info=wire.of_tool(profile.collector),
            incomplete=profile.incomplete,
            notes=list(profile.notes),
            tables=tables,
        )
        return self._add(objects.Object("profile", profile.header.type, wire.to_json(document))), ids

    def _create(self, receipt: Receipt, segment: Segment) -> Committed:
        """The commit point."""
        key = version_prefix(self.version) + receipt_name(receipt.stream, receipt.number)
        data = receipts.encode(receipt)
        storage = self.store.storage
        for _ in range(_TRIES):
            try:
                storage.create(key, data)
                is_new = self.index.get(receipt.stream, receipt.number) is None
                return Committed("new" if is_new else "replaced", receipt)
            except KeyExistsError:
                pass
            with contextlib.suppress(KeyMissingError, ConflictError):
                stored = storage.read(key)
                stored_receipt = receipts.decode(sets.decode(stored.data, key), Receipt, key)
                early = self._compare(stored_receipt, segment)
                if early is not None:
                    return early
                storage.replace(key, data, stored.tag)
                return Committed("replaced", receipt)
        raise StorageError(f"{key} keeps changing: {_TRIES} tries to write it failed")

    def _secure(self, ids: Mapping[str, None]) -> None:
        """Make what the receipts name look new, now that they do, and put again what garbage collection took."""
        for _ in range(_TRIES):
            try:
                self.store.touch(ids)
                return
            except KeyMissingError:
                self._put()
        raise StorageError("objects disappear as soon as they are written: is `perf gc` running in a loop?")


def _code(text: str) -> objects.Object:
    return objects.Object("code", "text", text.encode("utf-8", "surrogatepass"))


def _begins_with(segment: Segment, length: int, digest: str) -> bool:
    """Whether the file of a segment begins with these bytes."""
    try:
        with segment.path.open("rb") as file:
            beginning = file.read(length)
    except OSError:
        return False
    return hashlib.sha1(beginning, usedforsecurity=False).hexdigest() == digest
