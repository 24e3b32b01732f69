"""Records of fleets as they leave for others: without what rules of sharing keep here.

Stream, number, digest and length of a segment stay as they are, so a record that comes back is known and counts once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

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


class Redactor(Protocol):
    """What rules make of texts and objects. `omit` are names of labels that are left out."""

    @property
    def omit(self) -> frozenset[str]: ...

    def text(self, text: str) -> str: ...

    def profile(self, id: str) -> tuple[str, tuple[str, ...]]:
        """(id, ids of the pieces of its tables) of the profile after redaction."""

    def code(self, id: str) -> str:
        """The id of a text of dynamic code after redaction."""


def redacted(record: sets.Record, key: str, redactor: Redactor) -> sets.Record | None:
    """The record as it leaves. None where a rule applies to its own name, the key or the stream: with another name it
    would be another record. FormatError where it is damaged."""
    folder, _, name = key.removeprefix(SPACE).partition("/")
    if folder.startswith("@"):
        return _named(record, key, redactor)
    if name.startswith(PACK):
        members = _redacted(decode(record, Pack, key).receipts, redactor)
        return _encoded(Pack(receipts=members)) if members else None
    if name.startswith(TOMBSTONE):
        tombstone = decode(record, Tombstone, key)
        boxes = [_box(box, redactor) for box in tombstone.boxes]
        expired = _redacted(tombstone.expired, redactor)
        return _encoded(Tombstone(expired=expired, boxes=boxes, time=tombstone.time)) if expired else None
    receipt = _receipt(decode(record, Receipt, key), redactor)
    return None if receipt is None else _encoded(receipt)


def _encoded(value: Receipt | Pack | Tombstone) -> sets.Record:
    return sets.decode(receipts.encode(value), "it")


def _redacted(members: Mapping[str, Receipt], redactor: Redactor) -> dict[str, Receipt]:
    """Those that can leave."""
    pairs = ((name, _receipt(receipt, redactor)) for name, receipt in members.items())
    return {name: receipt for name, receipt in pairs if receipt is not None}


def _receipt(receipt: Receipt, redactor: Redactor) -> Receipt | None:
    text = redactor.text
    streams = (receipt.stream, *(receipt.parent[:1] if receipt.parent else ()))
    if any(text(stream) != stream for stream in streams):
        return None
    profile, tables = redactor.profile(receipt.profile) if receipt.profile else ("", ())
    return msgspec.structs.replace(
        receipt,
        shard="" if _HOST in redactor.omit else text(receipt.shard),
        profile=profile,
        tables=list(tables),
        labels=dict(_labels(receipt.labels.items(), redactor)),
        parts=[receipt_part._replace(labels=_labels(receipt_part.labels, redactor)) for receipt_part in receipt.parts],
        ended=_sections(receipt.ended, redactor),
        opened=_sections(receipt.opened, redactor),
        loose=_labels(receipt.loose, redactor),
        codes={code_number: redactor.code(id) for code_number, id in receipt.codes.items()},
        problem=text(receipt.problem),
    )


def _labels(labels: Iterable[tuple[str, str]], redactor: Redactor) -> _Labels:
    return tuple((key, redactor.text(value)) for key, value in labels if key not in redactor.omit)


def _sections(sections: Iterable[Section], redactor: Redactor) -> list[Section]:
    return [Section(redactor.text(section.name), _labels(section.labels, redactor)) for section in sections]


def _box(box: ExpiredBox, redactor: Redactor) -> ExpiredBox:
    hosts = [] if _HOST in redactor.omit else sorted({redactor.text(host) for host in box.hosts})
    top = [(redactor.text(name), inclusive, exclusive) for name, inclusive, exclusive in box.top]
    return msgspec.structs.replace(box, hosts=hosts, top=top)


def _named(record: sets.Record, key: str, redactor: Redactor) -> sets.Record | None:
    """A saved query or another record of JSON under a name."""
    try:
        document = msgspec.json.decode(record.payload, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise FormatError(f"{key} is damaged: {error}") from error
    name = str(document.get("name", ""))
    if redactor.text(name) != name:
        return None
    return record._replace(payload=msgspec.json.encode(_value(document, redactor)))


def _value(value: Any, redactor: Redactor) -> Any:
    if isinstance(value, str):
        return redactor.text(value)
    if isinstance(value, list):
        return [_value(item, redactor) for item in value]
    if isinstance(value, dict):
        return {key: _value(item, redactor) for key, item in value.items()}
    return value
