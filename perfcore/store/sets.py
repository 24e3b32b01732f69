"""Sets: records by name, each of which refers to objects and is kept for its own sake, such as the receipts of a fleet.

Stores are joined by the union of their sets. Of two records of one name the one of the higher rank counts.
`docs/formats.md` describes a record. What its payload says is the business of the plugin that wrote it.
"""

from __future__ import annotations

import hashlib
import struct
from typing import NamedTuple

from perfcore.errors import FormatError

KEY_SPACES = ("receipts/",)
"""The prefixes of all sets: what transfer, gc and fsck go through besides `objects/`."""
VERSION = 1  # of the format; a newer one is refused
_HEAD = struct.Struct("<4sIQI")
_MAGIC = b"pset"


class Record(NamedTuple):
    """`ids` are the objects that it refers to, all of them; `rank` decides between two of one name."""

    rank: int
    ids: tuple[str, ...]
    payload: bytes


def encode(record: Record) -> bytes:
    """The bytes of a record; equal records give equal bytes."""
    ids = sorted(set(record.ids))
    head = _HEAD.pack(_MAGIC, VERSION, record.rank, len(ids))
    data = head + b"".join(map(bytes.fromhex, ids)) + record.payload
    return data + hashlib.sha1(data, usedforsecurity=False).digest()


def decode(data: bytes, where: str) -> Record:
    """The record in these bytes; FormatError when a bit is off."""
    content, checksum = data[:-20], data[-20:]
    if len(content) < _HEAD.size or hashlib.sha1(content, usedforsecurity=False).digest() != checksum:
        raise FormatError(f"{where} is damaged: its checksum does not fit")
    magic, version, rank, count = _HEAD.unpack_from(content)
    if magic != _MAGIC or version != VERSION:
        raise FormatError(f"{where} is a record of version {version}", hint="upgrade perfcore")
    end = _HEAD.size + 20 * count
    if end > len(content):
        raise FormatError(f"{where} is damaged: it does not hold {count} ids")
    return Record(rank, tuple(content[at : at + 20].hex() for at in range(_HEAD.size, end, 20)), content[end:])
