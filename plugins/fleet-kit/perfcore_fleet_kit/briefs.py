"""Beginnings of receipts: of one as a row, of a pack as a table.

Lists of segments and ingestion need no more of a receipt. A list of the segments of 1,000 hosts over two weeks would
otherwise decode every label, and make an object of every segment.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from typing import Any

from perfcore.errors import FormatError
from perfcore.named_tuple import NamedTuple
from perfcore.profile import pieces
from perfcore.profile.table import Table, column, concat, table

WHOLE = 1 << 62  # added to the rank of a whole segment, so that it takes the place of any part of it
MAX_PAYLOAD = 256 << 20  # bytes of a payload, unpacked
_DIGEST = 20  # bytes


class Brief(NamedTuple):
    """The beginning of one receipt."""

    stream: str
    number: int
    host: str
    end: int
    total: int
    period: int
    whole: bool
    digest: str
    length: int
    expired: bool = False

    def order(self) -> tuple[int, str]:
        """Of two of one segment the greater one counts."""
        return self.length + (WHOLE if self.whole else 0), self.digest


_COLUMNS: dict[str, Any] = {
    "stream": "str",
    "host": "str",
    "number": "i64",
    "end": "i64",
    "total": "i64",
    "period": "i64",
    "length": "i64",
    "whole": "bool",
    "expired": "bool",
}


class Briefs(NamedTuple):
    """The beginnings of many receipts: a table of all fields but `digest`, and the bytes of the digests."""

    table: Table
    digests: bytes

    @classmethod
    def of(cls, rows: Iterable[Brief]) -> Briefs:
        """The table of some rows."""
        briefs = list(rows)
        columns = [column(name, [getattr(b, name) for b in briefs], dtype=dtype) for name, dtype in _COLUMNS.items()]
        return cls(table("briefs", columns), bytes.fromhex("".join(brief.digest for brief in briefs)))

    @classmethod
    def joined(cls, parts: Sequence[Briefs]) -> Briefs:
        """The rows of all parts, of which there is at least one, in their order."""
        return cls(concat([part.table for part in parts]), b"".join(part.digests for part in parts))

    @classmethod
    def decode(cls, data: bytes, where: str) -> Briefs:
        """What `encode` gave. FormatError for anything else."""
        inflater = zlib.decompressobj()
        try:
            piece = inflater.decompress(data, MAX_PAYLOAD)
        except zlib.error as error:
            raise FormatError(f"{where} is damaged: {error}") from error
        rows, _ = pieces.decode(piece, where)
        columns = {column.name: column.dtype for column in rows.columns if column.valid is None}
        if columns != _COLUMNS or len(inflater.unused_data) != _DIGEST * len(rows):
            raise FormatError(f"{where} is damaged: its columns are not those of receipts")
        return cls(rows, inflater.unused_data)

    def encode(self) -> bytes:
        """The piece of the table, compressed. The digests follow as they are: nothing makes them shorter."""
        return zlib.compress(pieces.encode(self.table), 6) + self.digests

    def row(self, at: int) -> Brief:
        """One of the receipts."""
        fields: dict[str, Any] = {name: self.table[name][at] for name in _COLUMNS}
        return Brief(**fields, digest=self._digest(at).hex())

    def take(self, rows: Sequence[int]) -> Briefs:
        """These rows in this order."""
        return Briefs(self.table.take(rows), b"".join(map(self._digest, rows)))

    def _digest(self, at: int) -> bytes:
        return self.digests[_DIGEST * at : _DIGEST * (at + 1)]
