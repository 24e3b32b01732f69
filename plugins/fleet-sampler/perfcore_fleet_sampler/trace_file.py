"""Counted stacks as a trace of StatProfiler, version 1, which the source `statprofiler` reads."""

from __future__ import annotations

import bisect
import struct
from collections.abc import Iterable, Mapping, Sequence
from types import CodeType

_PACKET = 32_000
_PARTS = struct.Struct("<6I")
Words = tuple[int, int, int, int, int, int]
NO_PARENT: Words = (0, 0, 0, 0, 0, 0)
Labels = tuple[tuple[str, str], ...]
Code = tuple[CodeType, str]
"""A code object and the name of the module whose code it is."""


def encode(
    stream: Words,
    number: int,
    parent: tuple[Words, int],
    tick: int,
    labels: Mapping[str, str],
    counts: Mapping[Labels, Mapping[tuple[int, ...], int]],
    codes: Mapping[int, Code],
    *,
    is_last: bool,
) -> bytes:
    """The bytes of a file. `tick` is in microseconds; the first label of samples is the name of their section."""
    genealogy = _varint(number) + _varint(parent[1]) + _PARTS.pack(*stream) + _PARTS.pack(*parent[0])
    head = b"\xca" + _varint(tick) + b"\xcb" + _varint(0) + b"\xcd" + genealogy
    head += b"".join(_label(*pair) for pair in labels.items()) + b"\xfe"
    frames = _Frames(codes)
    body = [
        _section(own, [_sample(weight, frames.of(stack)) for stack, weight in stacks.items()])
        for own, stacks in counts.items()
        if stacks
    ]
    end = bytes([197 if is_last else 196, 0])
    return b"=statprofiler\x01" + b"".join(_packets(b"".join((head, *body, end))))


def _packets(data: bytes) -> Iterable[bytes]:
    for at in range(0, len(data), _PACKET):
        block = data[at : at + _PACKET]
        # A Snappy block of one literal (format_description.txt of Snappy: tag 61 << 2, length - 1 in two bytes). The
        # counts of a minute are some kB: a compiled compressor is not worth a dependency of the service.
        packed = _little_varint(len(block)) + b"\xf4" + struct.pack("<H", len(block) - 1) + block
        yield struct.pack(">H", len(packed)) + packed


def _section(labels: Labels, samples: Sequence[bytes]) -> bytes:
    """Samples in the sections that their labels name; no section for none."""
    if not labels:
        return b"".join(samples)
    names = [value for key, value in labels if key == "section"]
    pairs = b"".join(_label(key, value) for key, value in labels if key != "section")
    begins = b"".join(_record(198, _text(name)) for name in reversed(names))
    ends = b"".join(_record(199, _text(name)) for name in names)
    return begins + b"".join(samples) + pairs + ends


def _sample(weight: int, frames: bytes) -> bytes:
    return _record(1, _varint(weight) + _text("")) + frames + b"\x02\x00"


class _Frames:
    """Frames as bytes, each made once. `codes` are by the ids of their code objects."""

    def __init__(self, codes: Mapping[int, Code]) -> None:
        self._codes = codes
        self._lines: dict[int, list[tuple[int, int]]] = {}
        self._frames: dict[tuple[int, int], bytes] = {}

    def of(self, stack: Sequence[int]) -> bytes:
        """The frames of a stack, innermost first. Those whose code is gone are left out."""
        pairs = zip(stack[::2], stack[1::2], strict=True)
        return b"".join(self._frame(id, position) for id, position in pairs if id in self._codes)

    def _frame(self, id: int, position: int) -> bytes:
        if (id, position) not in self._frames:
            code, module = self._codes[id]
            self._frames[id, position] = _frame(code, module, self._line(id, code, position))
        return self._frames[id, position]

    def _line(self, id: int, code: CodeType, position: int) -> int:
        if id not in self._lines:
            self._lines[id] = [(start, line or code.co_firstlineno) for start, _, line in code.co_lines()]
        lines = self._lines[id]
        at = bisect.bisect_right(lines, position, key=lambda pair: pair[0]) - 1
        return lines[at][1] if at >= 0 else code.co_firstlineno


def _frame(code: CodeType, module: str, line: int) -> bytes:
    # The reader joins package and name by `::`; in Python it is the module and its function. The script of a program is
    # named by its file, as each is called `__main__`.
    if module in ("", "__main__"):
        module = code.co_filename.replace("\\", "/").rpartition("/")[2].removesuffix(".py")
    payload = _text(module) + _text(code.co_qualname) + _text(code.co_filename)
    return _record(3, payload + _varint(max(0, line)) + _varint(max(0, code.co_firstlineno)))


def _label(key: str, value: str) -> bytes:
    return _record(200, _text(key) + _text(value))


def _record(tag: int, payload: bytes) -> bytes:
    return bytes([tag]) + _varint(len(payload)) + payload


def _text(value: str) -> bytes:
    data = value.encode("utf-8", "backslashreplace")[:4096]
    return bytes([not value.isascii()]) + _varint(len(data)) + data


def _varint(value: int) -> bytes:
    encoded = bytes([value & 0x7F])
    while value := value >> 7:
        encoded = bytes([value & 0x7F | 0x80]) + encoded
    return encoded


def _little_varint(value: int) -> bytes:
    """The other order, as Snappy writes its lengths."""
    encoded = bytearray()
    while value > 127:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*encoded, value])
