"""Where messages are in a file, and whether it is one of them."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from perfcore_pprof_kit import wire

from perfcore.errors import FormatError
from perfcore_source_otel import schema

_SIZE = struct.Struct(">I")  # in front of each message of a file that a collector's file exporter writes as `proto`


def messages(data: bytes) -> Iterator[bytes]:
    """The messages of a file: itself, or each behind its size. FormatError where the last one is cut."""
    if not _has_sizes(data):
        yield data
        return
    at = 0
    while at < len(data):
        if at + _SIZE.size > len(data):
            raise FormatError("the last message is cut short")
        end = at + _SIZE.size + _SIZE.unpack_from(data, at)[0]
        if end > len(data):
            raise FormatError("the last message is cut short")
        yield data[at + _SIZE.size : end]
        at = end


def is_message(start: bytes) -> bool:
    """Whether unzipped bytes begin as profiles do, on the first two levels. A profile of pprof has numbers there."""
    start = start[_SIZE.size :] if _has_sizes(start) else start
    first = _first(start)
    if first is None:
        return False
    key, content = first
    if key == schema.DICTIONARY:
        return (_first(content) or (0, b""))[0] in range(schema.MAPPINGS, schema.STACKS + 1)
    inner = _first(content)
    return (
        key == schema.RESOURCE_PROFILES and inner is not None and inner[0] in (schema.RESOURCE, schema.SCOPE_PROFILES)
    )


def _has_sizes(data: bytes) -> bool:
    # A message begins with the number of a field, which is 1 at least, in the upper five bits.
    return len(data) >= _SIZE.size and data[0] < 8


def _first(data: bytes) -> tuple[int, bytes] | None:
    """(number, content as far as it is there) of the first field; None where it has none of bytes."""
    try:
        tag, at = wire.varint(data, 0)
        _, at = wire.varint(data, at)
    except FormatError:
        return None
    return (tag >> 3, data[at:]) if tag & 7 == wire.BYTES else None
