"""Records of fleets as they leave for others: without what rules of sharing keep here.

Stream, number, digest and length of a segment stay as they are, so a record that comes back is known and counts once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from perfcore_storage_kit import sets

from perfcore.errors import FormatError
from perfcore.hookspecs import Section
from perfcore_fleet_kit import receipts
from perfcore_fleet_kit.keys import SPACE
from perfcore_fleet_kit.receipts import ExpiredBox, Pack, Receipt, Tombstone, decode
from perfcore_fleet_kit.state import PACK, TOMBSTONE

_HOST = "host"
_Labels = tuple[tuple[str, str], ...]


def redacted(record: sets.Record, key: str, rules: sets.Rules) -> sets.Record | None:
    """The record as it leaves. None where a rule applies to its own name, the key or the stream: with another name it
    would be another record. FormatError where it is damaged."""
    folder, _, name = key.removeprefix(SPACE).partition("/")
    if folder.startswith("@"):
        return _named(record, key, rules)
    if name.startswith(PACK):
        members = _redacted(decode(record, Pack, key).receipts, rules)
        return _encoded(Pack(receipts=members)) if members else None
    if name.startswith(TOMBSTONE):
        tombstone = decode(record, Tombstone, key)
        boxes = [_box(box, rules) for box in tombstone.boxes]
        expired = _redacted(tombstone.expired, rules)
        return _encoded(Tombstone(expired=expired, boxes=boxes, time=tombstone.time)) if expired else None
    receipt = _receipt(decode(record, Receipt, key), rules)
    return None if receipt is None else _encoded(receipt)


def _encoded(value: Receipt | Pack | Tombstone) -> sets.Record:
    return sets.decode(receipts.encode(value), "it")


def _redacted(members: Mapping[str, Receipt], rules: sets.Rules) -> dict[str, Receipt]:
    """Those that can leave."""
    pairs = ((name, _receipt(receipt, rules)) for name, receipt in members.items())
    return {name: receipt for name, receipt in pairs if receipt is not None}


def _receipt(receipt: Receipt, rules: sets.Rules) -> Receipt | None:
    text = rules.text
    streams = (receipt.stream, *(receipt.parent[:1] if receipt.parent else ()))
    if any(text(stream) != stream for stream in streams):
        return None
    profile, tables = rules.profile(receipt.profile) if receipt.profile else ("", ())
    return msgspec.structs.replace(
        receipt,
        shard="" if _HOST in rules.omit else text(receipt.shard),
        profile=profile,
        tables=list(tables),
        labels=dict(_labels(receipt.labels.items(), rules)),
        parts=[receipt_part._replace(labels=_labels(receipt_part.labels, rules)) for receipt_part in receipt.parts],
        ended=_sections(receipt.ended, rules),
        opened=_sections(receipt.opened, rules),
        loose=_labels(receipt.loose, rules),
        codes={code_number: rules.code(id) for code_number, id in receipt.codes.items()},
        problem=text(receipt.problem),
    )


def _labels(labels: Iterable[tuple[str, str]], rules: sets.Rules) -> _Labels:
    return tuple((key, rules.text(value)) for key, value in labels if key not in rules.omit)


def _sections(sections: Iterable[Section], rules: sets.Rules) -> list[Section]:
    return [Section(rules.text(section.name), _labels(section.labels, rules)) for section in sections]


def _box(box: ExpiredBox, rules: sets.Rules) -> ExpiredBox:
    hosts = [] if _HOST in rules.omit else sorted({rules.text(host) for host in box.hosts})
    top = [(rules.text(name), inclusive, exclusive) for name, inclusive, exclusive in box.top]
    return msgspec.structs.replace(box, hosts=hosts, top=top)


def _named(record: sets.Record, key: str, rules: sets.Rules) -> sets.Record | None:
    """A saved query or another record of JSON under a name."""
    try:
        document = msgspec.json.decode(record.payload, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise FormatError(f"{key} is damaged: {error}") from error
    name = str(document.get("name", ""))
    if rules.text(name) != name:
        return None
    return record._replace(payload=msgspec.json.encode(_value(document, rules)))


def _value(value: Any, rules: sets.Rules) -> Any:
    if isinstance(value, str):
        return rules.text(value)
    if isinstance(value, list):
        return [_value(item, rules) for item in value]
    if isinstance(value, dict):
        return {key: _value(item, rules) for key, item in value.items()}
    return value
