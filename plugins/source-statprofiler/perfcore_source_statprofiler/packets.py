"""The outermost layer of a trace: a magic word, then packets, each a length and a Snappy block."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any, BinaryIO

from perfcore.errors import FormatError

MAGIC = b"=statprofiler"
VERSION = 1
PACKET = 32_000  # bytes: the largest unpacked block that the format allows
_CHUNK = 4 << 20  # unpacked bytes that are parsed together: few joins of records that span packets, little memory
_LENGTH = struct.Struct(">H")


class Packets:
    """The unpacked bytes of a file in chunks of whole packets. Afterwards `problem` says why they ended before the
    file did, if so. `digest` takes the bytes of the file up to there, `length` counts them."""

    def __init__(self, file: BinaryIO, digest: Any) -> None:
        self._file = file
        self._digest = digest
        self.length = 0
        self.problem = ""

    def head(self) -> None:
        """Read the magic word; FormatError for anything else."""
        head = self._file.read(len(MAGIC) + 1)
        if head[: len(MAGIC)] != MAGIC or len(head) <= len(MAGIC):
            raise FormatError("this is no trace of StatProfiler")
        if head[-1] != VERSION:
            raise FormatError(f"the trace is of version {head[-1]}, not {VERSION}")
        self._take(head)

    def chunks(self) -> Iterator[bytes]:
        """Some packets at a time."""
        from cramjam import snappy

        blocks: list[bytes] = []
        size = 0
        for packet in self._packets():
            try:
                # The length is checked before anything of that length is allocated.
                if snappy.decompress_raw_len(packet) > PACKET:
                    self.problem = "a packet is larger than the format allows"
                    break
                block = bytes(snappy.decompress_raw(packet))
            except Exception as error:  # cramjam's own class, and what Rust panics with, are no public names
                self.problem = f"a packet is damaged: {error}"
                break
            self._take(_LENGTH.pack(len(packet)) + packet)
            blocks.append(block)
            size += len(block)
            if size >= _CHUNK:
                yield b"".join(blocks)
                blocks, size = [], 0
        if blocks:
            yield b"".join(blocks)

    def _packets(self) -> Iterator[bytes]:
        read = self._file.read
        while head := read(2):
            packet = read(_LENGTH.unpack(head)[0]) if len(head) == 2 else b""
            if len(head) < 2 or len(packet) < _LENGTH.unpack(head)[0]:
                self.problem = "the last packet is cut short"
                return
            yield packet

    def _take(self, data: bytes) -> None:
        self._digest.update(data)
        self.length += len(data)
