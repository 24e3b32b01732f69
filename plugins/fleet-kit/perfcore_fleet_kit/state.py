"""The state of a version: the set of its receipts, less what tombstones name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import attrs
from perfcore_storage_kit import sets

from perfcore.errors import PerfError
from perfcore.store.store import Store
from perfcore_fleet_kit.dynamic_code import NAMED, parse_unknown
from perfcore_fleet_kit.keys import SPACE, receipt_name, version_prefix
from perfcore_fleet_kit.receipts import Pack, Receipt, Tombstone, decode

PACK = "@pack."
TOMBSTONE = "@gone."
"""Beginnings of the names of records that are no receipts."""
_MAX_ANCESTORS = 1_000  # of a stream: forks of forks


@attrs.frozen
class Row:
    """A record as it is listed."""

    key: str
    name: str
    tag: str
    record: sets.Record


@attrs.define
class FleetState:
    """All receipts by name. `loose` are the rows with keys of their own, `packs` (tag, pack) by key, `gone` is
    what has expired. `problems` says what is damaged."""

    version: str
    receipts: dict[str, Receipt] = attrs.field(factory=dict)
    gone: dict[str, Receipt] = attrs.field(factory=dict)
    tombstones: list[Tombstone] = attrs.field(factory=list)
    loose: dict[str, Row] = attrs.field(factory=dict)
    packs: dict[str, tuple[str, Pack]] = attrs.field(factory=dict)
    problems: list[str] = attrs.field(factory=list)

    @classmethod
    def read(cls, store: Store, version: str) -> FleetState:
        """Read every receipt of a version. What is damaged is left out, and named."""
        state = cls(version)
        prefix = version_prefix(version)
        for row in rows(store, prefix, state.problems):
            try:
                state._take(row)
            except PerfError as error:
                state.problems.append(error.message)
        for name in state.gone:
            state.receipts.pop(name, None)
        return state

    def __len__(self) -> int:
        return len(self.receipts)

    def streams(self) -> dict[str, list[Receipt]]:
        """The receipts of each stream in their order, those that have expired among them."""
        streams: dict[str, list[Receipt]] = {}
        for receipt in (*self.receipts.values(), *self.gone.values()):
            streams.setdefault(receipt.stream, []).append(receipt)
        for members in streams.values():
            members.sort(key=lambda receipt: receipt.number)
        return streams

    def code_names(self, names: Mapping[str, str]) -> CodeNames:
        """What resolves dynamic code; `names` are the files of texts by the ids of their objects."""
        return CodeNames(self.streams(), names)

    def _take(self, row: Row) -> None:
        if row.name.startswith(PACK):
            pack = decode(row.record, Pack, row.key)
            self.packs[row.key] = (row.tag, pack)
            for name, receipt in pack.receipts.items():
                self._add(name, receipt)
        elif row.name.startswith(TOMBSTONE):
            tombstone = decode(row.record, Tombstone, row.key)
            self.tombstones.append(tombstone)
            self.gone.update(tombstone.expired)
        else:
            receipt = decode(row.record, Receipt, row.key)
            if receipt_name(receipt.stream, receipt.number) != row.name:
                self.problems.append(f"{row.key} is the receipt of another segment")
                return
            self.loose[row.name] = row
            self._add(row.name, receipt)

    def _add(self, name: str, receipt: Receipt) -> None:
        current = self.receipts.get(name)
        if current is None or receipt.brief().order() > current.brief().order():
            self.receipts[name] = receipt
        if current is not None and current.whole and receipt.whole and current.digest != receipt.digest:
            self.problems.append(f"there are two different segments {name}, of which one is counted")


def pack_key(version: str, digest: str) -> str:
    return f"{version_prefix(version)}{PACK}{digest}"


def tombstone_key(version: str, digest: str) -> str:
    return f"{version_prefix(version)}{TOMBSTONE}{digest}"


def versions(store: Store) -> list[str]:
    """The versions that have receipts, as their keys write them."""
    return sorted({row.key.removeprefix(SPACE).partition("/")[0] for row in store.storage.list(SPACE)})


@attrs.define
class CodeNames:
    """Files of dynamic code: number n of a stream is in its own segments, the newest first; then in its parent's, up to
    the segment of the fork; and so on."""

    streams: Mapping[str, list[Receipt]]
    names: Mapping[str, str]

    def __call__(self, file: str) -> str:
        parsed = parse_unknown(file)
        text = None if parsed is None else self.text(*parsed)
        return file if text is None else self.names.get(text, f"{NAMED}{text}")

    def text(self, stream: str, number: int) -> str | None:
        """The id of the text; None where it has not arrived."""
        last: int | None = None
        for _ in range(_MAX_ANCESTORS):
            members = self.streams.get(stream, [])
            for receipt in reversed(members):
                if (last is None or receipt.number <= last) and number in receipt.codes:
                    return receipt.codes[number]
            parent = next((receipt.parent for receipt in members if receipt.parent), None)
            if parent is None:
                return None
            stream, last = parent
        return None


def rows(store: Store, prefix: str, problems: list[str]) -> Iterator[Row]:
    """All records below a prefix. What is damaged is left out, and named."""
    tags = {row.key: row.tag for row in store.storage.list(prefix)}
    for key, data in store.read_many(tags):
        try:
            if isinstance(data, PerfError):
                raise data
            yield Row(key, key.removeprefix(prefix), tags[key], sets.decode(data, key))
        except PerfError as error:
            problems.append(error.message)
