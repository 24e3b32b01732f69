"""The beginnings of all receipts of a version, read much faster than a `FleetState`."""

from __future__ import annotations

import functools

import attrs

from perfcore.errors import PerfError
from perfcore.store.store import Store
from perfcore_fleet_kit import receipts
from perfcore_fleet_kit.briefs import Brief, Briefs
from perfcore_fleet_kit.keys import version_prefix
from perfcore_fleet_kit.receipts import Receipt, Tombstone, decode
from perfcore_fleet_kit.state import PACK, TOMBSTONE, rows


@attrs.define(slots=False)
class FleetIndex:
    """The segments of a version, each once, as they were when they were read. `problems` says what is damaged."""

    version: str
    briefs: Briefs = attrs.field(factory=lambda: Briefs.of(()))
    packs: int = 0
    problems: list[str] = attrs.field(factory=list)
    _new: dict[tuple[str, int], Brief] = attrs.field(factory=dict)

    @classmethod
    def read(cls, store: Store, version: str) -> FleetIndex:
        """Read a version. What is damaged is left out, and named."""
        index = cls(version)
        packed: list[Briefs] = []
        loose: list[Brief] = []
        gone: list[Brief] = []
        for row in rows(store, version_prefix(version), index.problems):
            try:
                if row.name.startswith(PACK):
                    packed.append(receipts.decode_briefs(row.record, row.key))
                elif row.name.startswith(TOMBSTONE):
                    expired = decode(row.record, Tombstone, row.key).expired.values()
                    gone += [receipt.brief() for receipt in expired]
                else:
                    loose.append(decode(row.record, Receipt, row.key).brief())
            except PerfError as error:
                index.problems.append(error.message)
        index.packs = len(packed)
        index.briefs = _one_of_each(Briefs.joined([*packed, Briefs.of(loose), Briefs.of(gone)]), len(gone))
        return index

    def get(self, stream: str, number: int) -> Brief | None:
        """What is known of a segment."""
        brief = self._new.get((stream, number))
        if brief is None and stream in self._streams:
            row = self._rows.get(number * len(self._streams) + self._streams[stream])
            brief = None if row is None else self.briefs.row(row)
        return brief

    def put(self, brief: Brief) -> None:
        """Note what `get` is to give from now on; `briefs` stays as it is."""
        self._new[brief.stream, brief.number] = brief

    @functools.cached_property
    def _streams(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.briefs.table["stream"].dictionary)}

    @functools.cached_property
    def _rows(self) -> dict[int, int]:
        return {key: row for row, key in enumerate(_keys(self.briefs))}


def _one_of_each(briefs: Briefs, gone: int) -> Briefs:
    """Of several receipts of one segment, the one that counts: one of the `gone` last ones, which have expired, else
    the greatest."""
    keys = _keys(briefs)
    if len(set(keys)) == len(keys):
        return briefs
    first_gone = len(keys) - gone
    best: dict[int, int] = {}
    for row, key in enumerate(keys):
        other = best.setdefault(key, row)
        if row != other and (row >= first_gone or briefs.row(row).order() > briefs.row(other).order()):
            best[key] = row
    return briefs.take([*best.values()])


def _keys(briefs: Briefs) -> list[int]:
    """A key of each segment: an integer, as a million tuples take far more time and memory. Sets of integers are quick
    where these are close to each other."""
    streams, numbers = briefs.table["stream"], briefs.table["number"].data
    count = len(streams.dictionary)
    return [number * count + stream for stream, number in zip(streams.data, numbers, strict=True)]
