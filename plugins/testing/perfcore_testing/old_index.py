"""Indexes of version 1, which perfcore reads and does not write any more."""

from __future__ import annotations

import hashlib
import struct

from perfcore.store.index import Index
from perfcore.text import encodable

_SECOND = 1_000_000_000


def encode(index: Index) -> bytes:
    """The live entries of an index as version 1 said them: with their time in seconds, their profile and their name."""
    payload = struct.pack("<4sII", b"pidx", 1, len(index.live))
    for entry in index.live:
        seconds = min(max(entry.created // _SECOND, 0), 2**32 - 1)
        name = encodable(entry.name).encode().replace(b"\0", b"\\0")  # NUL ends a name
        payload += struct.pack("<I20s", seconds, bytes.fromhex(entry.profile)) + name + b"\0"
    return payload + hashlib.sha1(payload).digest()
