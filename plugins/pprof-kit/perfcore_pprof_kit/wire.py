"""The encoding of protocol buffers (https://protobuf.dev/programming-guides/encoding/)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from perfcore.errors import FormatError

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
"""The types of fields that are still in use."""
WIDTHS = {FIXED64: 8, FIXED32: 4}
_LONGEST = 10  # bytes of a number of 64 bits, 7 bits in each

Field: TypeAlias = tuple[int, int, int, bytes]  # number, type, value if it is one, bytes if it has some


def fields(data: bytes) -> Iterator[Field]:
    """The fields of a message in their order. FormatError where the bytes are no message or end too soon."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        number, kind = tag >> 3, tag & 7
        if not number:
            raise FormatError(f"byte {at} begins no field")
        if kind == VARINT:
            value, at = varint(data, at)
            yield number, kind, value, b""
            continue
        if kind == BYTES:
            size, at = varint(data, at)
        elif kind in WIDTHS:
            size = WIDTHS[kind]
        else:
            raise FormatError(f"field {number} before byte {at} has the unknown type {kind}")
        if at + size > len(data):
            raise FormatError(f"field {number} before byte {at} goes beyond the end")
        yield number, kind, 0, data[at : at + size]
        at += size


def varint(data: bytes, at: int) -> tuple[int, int]:
    """An unsigned number of 64 bits, and where the next byte is."""
    value = shift = 0
    for position in range(at, min(at + _LONGEST, len(data))):
        byte = data[position]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFF_FFFF_FFFF_FFFF, position + 1
        shift += 7
    raise FormatError(f"the number at byte {at} does not end")


def numbers(field: Field) -> list[int]:
    """The values of a repeated number: one alone, or several packed into bytes. FormatError for another type."""
    _, kind, value, data = field
    if kind == VARINT:
        return [value]
    values, at = [], 0
    while at < len(data):
        value, at = varint(data, at)
        values.append(value)
    return values


def signed(value: int) -> int:
    """An int64, which is stored as the unsigned number of the same bits."""
    return value - (1 << 64) if value >> 63 else value


def encoded(value: int) -> bytes:
    """A number as a varint; a negative one takes all ten bytes."""
    value &= 0xFFFF_FFFF_FFFF_FFFF
    written = bytearray()
    while value > 0x7F:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    written.append(value)
    return bytes(written)


def number(field: int, value: int) -> bytes:
    """A field of a number; 0 is the default, which is left out."""
    return encoded(field << 3 | VARINT) + encoded(value) if value else b""


def message(field: int, data: bytes) -> bytes:
    """A field of a message or a text."""
    return encoded(field << 3 | BYTES) + encoded(len(data)) + data


def packed(field: int, values: Iterable[int]) -> bytes:
    """A field of several numbers."""
    return message(field, b"".join(map(encoded, values)))
