"""Sets: records by name that refer to objects and are kept for their own sake, such as the receipts of a fleet.

Stores are joined by the union of their sets; of two records of one name, the higher rank counts (`docs/formats.md`).
"""

from __future__ import annotations

import struct

from perfcore.digests import sha1
from perfcore.errors import FormatError
from perfcore.named_tuple import NamedTuple

KEY_SPACES = ("receipts/",)  # of all sets: what transfers, gc and fsck go through beside `objects/`
_HEAD = struct.Struct("<4sIQ20sI")
_BEGINNING = (b"pset", 1)  # and the version of the format; a newer one is refused


class Record(NamedTuple):
    """`of` is the SHA-1 of its source: records of one name, rank and `of` say the same. `ids` are all objects that it
    refers to. The payload is the business of the plugin that wrote it."""

    rank: int
    of: str
    ids: tuple[str, ...]
    payload: bytes


def encode(record: Record) -> bytes:
    ids = sorted(set(record.ids))
    data = (
        _HEAD.pack(*_BEGINNING, record.rank, bytes.fromhex(record.of), len(ids))
        + bytes.fromhex("".join(ids))
        + record.payload
    )
    return data + sha1(data).digest()


def decode(data: bytes, where: str) -> Record:
    """FormatError when a bit is off."""
    content, checksum = data[:-20], data[-20:]
    if len(content) < _HEAD.size or sha1(content).digest() != checksum:
        raise FormatError(f"{where} is damaged: its checksum does not fit")
    magic, version, rank, of, count = _HEAD.unpack_from(content)
    end = _HEAD.size + 20 * count
    if (magic, version) != _BEGINNING or end > len(content):
        raise FormatError(f"{where} is a record of version {version}", hint="upgrade perfcore")
    ids = content[_HEAD.size : end].hex(" ", 20).split()
    return Record(rank, of.hex(), tuple(ids), content[end:])
