"""What Perun's store holds as bytes: objects and the indexes of versions 1 and 2, which carry no checksum."""

from __future__ import annotations

import hashlib
import re
import struct
import zlib

import attrs

from perfcore.errors import FormatError

# As perfcore's own objects have at most (docs/formats.md).
MAX_BYTES = 1 << 28
# `pidx`, version, number of entries; an entry begins with seconds and the 20 bytes of an id.
_HEAD = struct.Struct("<4sii")
_ENTRY = struct.Struct("<I20s")
_LENGTH = struct.Struct("<I")
_HEADER = re.compile(rb"profile ([^ \0]{1,100}) ([0-9]{1,12})\0")
# `profile`, a type of at most 100 characters and a length: 122 bytes at most.
_MAX_HEADER = 200
_MAX_RATIO = 1040  # zlib cannot expand further than 1032 times
# Type, command, workload, label, collector and postprocessors, each with its length in front.
_FIELDS_OF_2 = 6
_NANO = 1_000_000_000


@attrs.frozen
class PerunEntry:
    """A profile as an index names it; `path` is what its file was called."""

    profile: str
    created: int
    path: str


@attrs.frozen
class PerunIndex:
    """The entries up to where the index is damaged; `damage` says how it is."""

    entries: tuple[PerunEntry, ...]
    damage: str = ""


def is_index(data: bytes) -> bool:
    return data[:4] == b"pidx"


def is_object(data: bytes) -> bool:
    # RFC 1950: method 8 with a window of 32 KiB, and the check of the first two bytes.
    return len(data) > 1 and data[0] == 0x78 and int.from_bytes(data[:2], "big") % 31 == 0


def decode_index(data: bytes, where: str) -> PerunIndex:
    """The index in these bytes. FormatError where it is none, or of a version that Perun never wrote."""
    if not is_index(data) or len(data) < _HEAD.size:
        raise FormatError(f"{where} is damaged: it is no index of Perun")
    _, version, count = _HEAD.unpack_from(data)
    if version not in (1, 2):
        raise FormatError(
            f"{where} is an index of version {version}, which is not Perun's",
            hint="it is an index of perfcore, which needs no import" if version == 3 else None,
        )
    entries: list[PerunEntry] = []
    offset = _HEAD.size
    try:
        while len(entries) < count:
            entry, offset = _decode_entry(data, offset, version)
            entries.append(entry)
    except FormatError as error:
        return PerunIndex(
            tuple(entries), f"{where} is damaged: {error.message}, in entry {len(entries) + 1} of {count}"
        )
    if count < 0 or offset != len(data):
        return PerunIndex(tuple(entries), f"{where} is damaged: it holds more or less than {count} entries")
    return PerunIndex(tuple(entries))


def decode_object(data: bytes, id: str, where: str) -> bytes:
    """The JSON of a profile, verified against its id. Never inflates more than the header announces."""
    inflater = zlib.decompressobj()
    try:
        content = inflater.decompress(data, _MAX_HEADER)
        match = _HEADER.match(content)
        if not match:
            raise FormatError(f"{where} is damaged: it does not begin with the header of a profile")
        length = int(match[2])
        if length > min(MAX_BYTES, len(data) * _MAX_RATIO):
            raise FormatError(f"{where} is damaged: it claims to hold {length:,} characters")
        limit = match.end() + 4 * length + 1  # a character has up to four bytes
        content += inflater.decompress(inflater.unconsumed_tail, max(1, limit - len(content)))
    except zlib.error as error:
        raise FormatError(f"{where} is damaged: {error}") from error
    body = content[match.end() :]
    # Perun wrote the length of the text as characters, which is that of the bytes only for ASCII.
    if not inflater.eof or inflater.unused_data or length not in (len(body), _characters(body)):
        raise FormatError(f"{where} is damaged: it does not hold the {length:,} characters that it claims")
    if hashlib.sha1(content, usedforsecurity=False).hexdigest() != id:
        raise FormatError(f"{where} is damaged: its content does not have this id")
    return body


def _characters(body: bytes) -> int:
    return len(body.decode(errors="replace"))


def _decode_entry(data: bytes, offset: int, version: int) -> tuple[PerunEntry, int]:
    if offset + _ENTRY.size > len(data):
        raise FormatError("it is cut short")
    seconds, profile = _ENTRY.unpack_from(data, offset)
    offset += _ENTRY.size
    end = data.find(b"\0", offset)
    if end < 0:
        raise FormatError("a name does not end")
    path = data[offset:end].decode(errors="backslashreplace")
    offset = end + 1
    for _ in range(_FIELDS_OF_2 if version == 2 else 0):  # what they say stands in the profile, too
        offset = _behind_text(data, offset)
    return PerunEntry(profile.hex(), seconds * _NANO, path), offset


def _behind_text(data: bytes, offset: int) -> int:
    if offset + _LENGTH.size > len(data):
        raise FormatError("it is cut short")
    (size,) = _LENGTH.unpack_from(data, offset)
    if offset + _LENGTH.size + size > len(data):
        raise FormatError("a text is longer than the file")
    return offset + _LENGTH.size + int(size)
