"""Writes traces: for tests, and for programs that make samples of their own."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

from perfcore_source_statprofiler.packets import MAGIC, PACKET, VERSION

NO_PARENT = (0, 0, 0, 0, 0, 0)
Stream = tuple[int, int, int, int, int, int]


def varint(value: int) -> bytes:
    """7 bits a byte, the most significant group first."""
    value &= 0xFFFFFFFF
    encoded = bytes([value & 0x7F])
    while value := value >> 7:
        encoded = bytes([value & 0x7F | 0x80]) + encoded
    return encoded


def text(value: str) -> bytes:
    data = value.encode("utf-8")
    return bytes([not value.isascii()]) + varint(len(data)) + data


def record(tag: int, payload: bytes, short: int = 0) -> bytes:
    """A record. `short` is by how much its size is too small, as the original writes it."""
    return bytes([tag]) + varint(len(payload) - short) + payload


def sub(package: str, name: str, file: str, line: int, first_line: int, short: int = 0) -> bytes:
    payload = text(package) + text(name) + text(file) + varint(line) + varint(first_line)
    return record(3, payload, short)


def xsub(package: str, name: str) -> bytes:
    return record(5, text(package) + text(name))


def main(file: str, line: int) -> bytes:
    return record(6, text(file) + varint(line))


def evaluated(file: str, line: int) -> bytes:
    return record(4, text(file) + varint(line))


def sample(weight: int, op: str, frames: Sequence[bytes]) -> bytes:
    """A sample; frames are innermost first."""
    return record(1, varint(weight) + text(op)) + b"".join(frames) + record(2, b"")


def code(source: str, number: int) -> bytes:
    return record(8, text(source) + varint(number))


def begin(name: str) -> bytes:
    return record(198, text(name))


def end(name: str) -> bytes:
    return record(199, text(name))


def label(key: str, value: str) -> bytes:
    return record(200, text(key) + text(value))


def header(
    stream: Stream,
    number: int,
    *,
    parent: Stream = NO_PARENT,
    parent_number: int = 0,
    tick: int = 10_000,
    labels: Mapping[str, str] | None = None,
) -> bytes:
    genealogy = varint(number) + varint(parent_number) + struct.pack("<12I", *stream, *parent)
    head = b"\xc9" + b"".join(map(varint, (5, 36, 0))) + b"\xca" + varint(tick) + b"\xcb" + varint(20)
    return head + b"\xcd" + genealogy + b"".join(label(*pair) for pair in (labels or {}).items()) + b"\xfe"


def file_end(*, of_stream: bool = True) -> bytes:
    return bytes([197 if of_stream else 196, 0])


def packed(data: bytes, size: int = PACKET) -> bytes:
    """The bytes of a file with packets of at most `size` unpacked bytes."""
    from cramjam import snappy

    blocks = (bytes(snappy.compress_raw(data[at : at + size])) for at in range(0, len(data), size))
    return MAGIC + bytes([VERSION]) + b"".join(struct.pack(">H", len(block)) + block for block in blocks)


def write(path: Path, head: bytes, records: Sequence[bytes], *, whole: bool = True, size: int = PACKET) -> Path:
    """Write a trace."""
    path.write_bytes(packed(head + b"".join(records) + (file_end() if whole else b""), size))
    return path
