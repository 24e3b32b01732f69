"""Packing of receipts, and expiry: both write one record that is complete, and remove what it stands for afterwards.

Killed anywhere in between, each segment counts once: a receipt that is in a pack, too, is one receipt, and one that a
tombstone names does not count.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Collection, Iterable, Mapping

from perfcore.errors import ConflictError, KeyExistsError, KeyMissingError
from perfcore.store.store import Store
from perfcore_fleet_kit import receipts
from perfcore_fleet_kit.keys import receipt_name, version_prefix
from perfcore_fleet_kit.query import Selected, counted
from perfcore_fleet_kit.receipts import ExpiredBox, Pack, Receipt, Tombstone, husk
from perfcore_fleet_kit.state import FleetState, pack_key, tombstone_key

TOP = 100  # functions of a box that are kept for ever
_FEWEST = 2  # receipts of a pack


def box_of(time: int, box: int) -> int:
    """The beginning of the box that a time is in; both in ns."""
    return time // box * box


def pack(store: Store, version: str, state: FleetState, box: int, before: int) -> int:
    """Fold receipts of boxes that ended before a time into a pack for each shard and box; gives how many."""
    groups: dict[tuple[str, int], dict[str, Receipt]] = {}
    for name, row in state.loose.items():
        receipt = state.receipts.get(name)
        begin = 0 if receipt is None else box_of(receipt.end, box)
        if receipt is not None and begin + box <= before and receipts.encode(receipt) == _bytes(row.record):
            groups.setdefault((receipt.shard, begin), {})[name] = receipt
    packed = 0
    for _, members in sorted(groups.items()):
        if len(members) >= _FEWEST:
            _create(store, pack_key, version, Pack(receipts=dict(sorted(members.items()))))
            _remove(store, {version_prefix(version) + name: state.loose[name].tag for name in members})
            packed += len(members)
    return packed


def expire(store: Store, version: str, state: FleetState, names: Collection[str], box: int, now: int) -> int:
    """Let segments expire: their samples go, the totals of their boxes stay. Gives how many."""
    members = {name: state.receipts[name] for name in sorted(names) if name in state.receipts}
    if members:
        boxes = list(_boxes(store, state, members, box))
        expired = {name: husk(receipt) for name, receipt in members.items()}
        tombstone = Tombstone(expired=expired, boxes=boxes, time=now)
        _create(store, tombstone_key, version, tombstone)
        state.tombstones.append(tombstone)
        state.gone.update(expired)
        for name in members:
            del state.receipts[name]
    _sweep(store, version, state)
    return len(members)


def _boxes(store: Store, state: FleetState, members: Mapping[str, Receipt], box: int) -> Iterable[ExpiredBox]:
    groups: dict[int, list[Receipt]] = {}
    for receipt in members.values():
        groups.setdefault(box_of(receipt.end, box), []).append(receipt)
    for begin, group in sorted(groups.items()):
        selected = [Selected(receipt, dict.fromkeys(range(len(receipt.parts)), ())) for receipt in group]
        functions = counted(store, state, selected, items=("function",)).counts.functions
        top = sorted(functions.items(), key=lambda item: (-item[1].inclusive, item[0]))[:TOP]
        yield ExpiredBox(
            begin=begin,
            end=begin + box,
            segments=len(group),
            hosts=sorted({receipt.host for receipt in group}),
            samples=sum(receipt.total for receipt in group),
            time=sum(receipt.total * receipt.period for receipt in group),
            top=[(name, function.inclusive, function.exclusive) for name, function in top],
        )


def _sweep(store: Store, version: str, state: FleetState) -> None:
    """Remove what tombstones stand for. A pack of which a part has expired is written again without it."""
    prefix = version_prefix(version)
    _remove(store, {prefix + name: row.tag for name, row in state.loose.items() if name in state.gone})
    for key, (tag, contents) in state.packs.items():
        living = {name: receipt for name, receipt in contents.receipts.items() if name not in state.gone}
        if len(living) < len(contents.receipts):
            if living:
                _create(store, pack_key, version, Pack(receipts=living))
            _remove(store, {key: tag})


def _create(store: Store, key_of: object, version: str, value: Pack | Tombstone) -> None:
    data = receipts.encode(value)
    key = key_of(version, hashlib.sha1(data, usedforsecurity=False).hexdigest())  # type: ignore[operator]
    with contextlib.suppress(KeyExistsError):  # the same members, by somebody else
        store.storage.create(key, data)


def _remove(store: Store, tags: Mapping[str, str]) -> None:
    for key, tag in sorted(tags.items()):
        with contextlib.suppress(KeyMissingError, ConflictError):  # what was replaced meanwhile stays
            store.storage.delete(key, tag)


def _bytes(record: object) -> bytes:
    from perfcore_storage_kit import sets

    assert isinstance(record, sets.Record)
    return sets.encode(record)


def names_of(selected: Iterable[Receipt]) -> set[str]:
    """The names of receipts."""
    return {receipt_name(receipt.stream, receipt.number) for receipt in selected}
