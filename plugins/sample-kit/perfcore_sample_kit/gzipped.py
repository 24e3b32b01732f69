"""The bytes of a file that may be compressed by gzip."""

from __future__ import annotations

import zlib
from pathlib import Path

from perfcore import files
from perfcore.errors import FormatError

LARGEST = 512 << 20
"""Bytes of a file, and of what is in it: a file of a kilobyte can unzip to a million."""
_MAGIC = b"\x1f\x8b"
_GZIP = 16 + zlib.MAX_WBITS  # zlib's code for a stream with the header and the checksum of gzip


def contents(path: Path, *, largest: int = LARGEST) -> bytes:
    """The bytes of a file, unzipped if it is gzip. FormatError where the stream is damaged, cut or too large."""
    data = files.read(path, largest).data
    if not data.startswith(_MAGIC):
        return data
    unzipped = bytearray()
    try:
        while data:
            stream = zlib.decompressobj(_GZIP)
            unzipped += stream.decompress(data, largest - len(unzipped) + 1)
            if len(unzipped) > largest:
                raise FormatError(
                    f"it unzips to more than {largest:,} bytes", hint="unzip it first, or make it smaller"
                )
            if not stream.eof:
                raise FormatError("the file ends in the middle of its compressed content")
            data = stream.unused_data
    except zlib.error as error:
        raise FormatError(f"it cannot be unzipped: {error}") from error
    return bytes(unzipped)


def start_of(head: bytes) -> bytes:
    """What a file that begins with these bytes begins with when it is unzipped; nothing if it is damaged."""
    if not head.startswith(_MAGIC):
        return head
    try:
        return zlib.decompressobj(_GZIP).decompress(head, 1 << 16)
    except zlib.error:
        return b""
