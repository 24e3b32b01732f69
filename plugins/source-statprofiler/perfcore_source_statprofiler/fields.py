"""Integers, texts and the header of a trace."""

from __future__ import annotations

import struct

import attrs

from perfcore.errors import FormatError

MAX_TEXT = 16 << 20  # bytes of one text: sources of generated code are the longest
MAX_NAME = 1_000  # characters of a name that is kept; more is the work of a generator or of an attacker
MAX_HEADER = 1 << 20  # bytes
_IDS = struct.Struct("<6I")
_NO_PARENT = (0,) * 6


class IncompleteError(Exception):
    """The bytes end inside a record."""


def varint(data: bytes, at: int) -> tuple[int, int]:
    """(value, position behind) of an integer: 7 bits a byte, the most significant group first."""
    value = 0
    for end in range(at, at + 5):
        if end >= len(data):
            raise IncompleteError
        value = value << 7 | data[end] & 0x7F
        if data[end] < 0x80:
            return value & 0xFFFFFFFF, end + 1
    raise FormatError("an integer has more than 32 bits")


def signed(value: int) -> int:
    """Lines are of 32 bits with a sign: -1 is written as FFFFFFFF."""
    return value - 0x100000000 if value & 0x80000000 else value


def text(data: bytes, at: int) -> tuple[str, int]:
    """(text, position behind): a byte of flags, a length, the bytes."""
    if at >= len(data):
        raise IncompleteError
    length, start = varint(data, at + 1)
    if length > MAX_TEXT:
        raise FormatError(f"a text has {length:,} bytes")
    end = start + length
    if end > len(data):
        raise IncompleteError
    if not data[at] & 1:
        return data[start:end].decode("latin-1"), end
    return data[start:end].decode("utf-8", "backslashreplace"), end


def name(data: bytes, at: int) -> tuple[str, int]:
    """The same for a name, which is cut where it is too long to be one."""
    value, end = text(data, at)
    return value if len(value) <= MAX_NAME else value[:MAX_NAME] + "…", end


@attrs.define
class TraceHeader:
    """`tick` is in microseconds."""

    perl: str = ""
    tick: int = 0
    depth: int = 0
    stream: str = ""
    number: int = 0
    parent: tuple[str, int] | None = None
    labels: dict[str, str] = attrs.field(factory=dict)


def header(data: bytes) -> tuple[TraceHeader, int]:
    """(header, position of the body). Incomplete where it does not end, FormatError where it is no header."""
    result, at = TraceHeader(), 0
    while True:
        if at >= len(data):
            raise IncompleteError
        tag, at = data[at], at + 1
        if tag == 201:
            numbers = []
            for _ in range(3):
                version_part, at = varint(data, at)
                numbers.append(str(version_part))
            result.perl = ".".join(numbers)
        elif tag == 202:
            result.tick, at = varint(data, at)
        elif tag == 203:
            result.depth, at = varint(data, at)
        elif tag == 205:
            at = _genealogy(result, data, at)
        elif tag == 200:
            _, at = varint(data, at)
            key, at = name(data, at)
            value, at = name(data, at)
            result.labels[key] = value
        elif tag == 254:
            break
        else:
            raise FormatError(f"the header has an unknown field {tag}")
    if not result.stream or not result.tick:
        raise FormatError("the header names no stream or no tick")
    return result, at


def _genealogy(result: TraceHeader, data: bytes, at: int) -> int:
    result.number, at = varint(data, at)
    parent_number, at = varint(data, at)
    if at + 48 > len(data):
        raise IncompleteError
    stream, parent = _IDS.unpack_from(data, at), _IDS.unpack_from(data, at + 24)
    result.stream = _words(stream)
    if parent != _NO_PARENT:
        result.parent = (_words(parent), parent_number)
    return at + 48


def _words(six: tuple[int, ...]) -> str:
    return "".join(f"{word:08x}" for word in six)
