"""Indexes of versions 1 and 3, which perfcore reads and does not write any more."""

from __future__ import annotations

import hashlib
import struct

from perfcore.store.index import Index
from perfcore.text import encodable

_SECOND = 1_000_000_000


def encode_3(index: Index) -> bytes:
    """The index as version 3 said it: in each entry all its fields."""
    payload = struct.pack("<4sII", b"pidx", 3, len(index.entries)) + _text(index.vcs) + _text(index.version)
    for entry in index.entries:
        flags, profile = int(entry.tombstone), bytes.fromhex(entry.profile)
        payload += struct.pack("<Bq20sI", flags, entry.created, profile, len(entry.tables))
        payload += b"".join(map(bytes.fromhex, entry.tables))
        payload += b"".join(map(_text, (entry.name, entry.type, entry.cmd, entry.args, entry.workload)))
        payload += _text(entry.collector) + _list(entry.postprocessors) + _list(entry.tags)
        payload += _text(entry.config_id) + _text(entry.environment_id)
    return payload + hashlib.sha1(payload).digest()


def _text(value: str) -> bytes:
    data = encodable(value).encode()
    return struct.pack("<I", len(data)) + data


def _list(values: tuple[str, ...]) -> bytes:
    return struct.pack("<I", len(values)) + b"".join(map(_text, values))


def encode(index: Index) -> bytes:
    """The live entries of an index as version 1 said them: with their time in seconds, their profile and their name."""
    payload = struct.pack("<4sII", b"pidx", 1, len(index.live))
    for entry in index.live:
        seconds = min(max(entry.created // _SECOND, 0), 2**32 - 1)
        name = encodable(entry.name).encode().replace(b"\0", b"\\0")  # NUL ends a name
        payload += struct.pack("<I20s", seconds, bytes.fromhex(entry.profile)) + name + b"\0"
    return payload + hashlib.sha1(payload).digest()
