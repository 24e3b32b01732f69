"""Tables as bytes: pieces of at most 65,536 rows, each a JSON head and the columns as byte planes.

A piece is a u32 (little endian) with the length of the head, the head, and the data. Every item of a column
has a fixed width in bytes, little endian; plane k holds byte k of every item. The head gives for each plane
either null (the plane stands in the data) or the byte that all of it consists of. Planes compress far better
than items and cost two slices each. `docs/formats.md` describes every field.
"""

from __future__ import annotations

import contextlib
import itertools
import operator
import struct
import sys
from array import array
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from perfcore.errors import FormatError
from perfcore.profile import bitmap
from perfcore.profile.table import CODES, WIDTHS, Column, ColumnSpec, DType, Role, Table, concat
from perfcore.text import encodable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

FORMAT = 1
PIECE_ROWS = 65_536
MAX_CELLS = 1 << 23
_LENGTH = struct.Struct("<I")


class Base(msgspec.Struct, forbid_unknown_fields=True):
    """What a piece continues: the piece before it and how many rows stand before its own."""

    id: str
    rows: int


class Versioned(msgspec.Struct):
    """As much of a JSON text as says whether the rest can be understood."""

    format: int


class _ColumnHead(msgspec.Struct, omit_defaults=True):
    name: str
    dtype: DType
    unit: str = ""
    role: Role = "dimension"
    better: Literal["lower", "higher"] = "lower"
    planes: list[int | None] = msgspec.field(default_factory=list)
    valid: bool = False
    dictionary: list[str] | None = None


class _Head(msgspec.Struct, omit_defaults=True):
    format: int
    name: str
    rows: int
    columns: list[_ColumnHead]
    base: Base | None = None


_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(_Head)
_VERSION = msgspec.json.Decoder(Versioned)


def split(table: Table) -> Iterator[Table]:
    """The table in pieces that fit the bounds of the format."""
    step = max(1, min(PIECE_ROWS, MAX_CELLS // max(1, len(table.columns))))
    for start in range(0, table.rows, step):
        yield table if start == 0 and table.rows <= step else table.slice(start, start + step)


def encode(piece: Table, base: Base | None = None) -> bytes:
    """One piece as bytes; equal pieces give equal bytes."""
    heads, data = [], []
    for column in piece.columns:
        head, parts = _encode_column(column)
        heads.append(head)
        data += parts
    head_bytes = _ENCODER.encode(_Head(FORMAT, encodable(piece.name), piece.rows, heads, base))
    return b"".join((_LENGTH.pack(len(head_bytes)), head_bytes, *data))


def decode(data: bytes, where: str, *, most: int = MAX_CELLS) -> tuple[Table, Base | None]:
    """The piece and what it continues. FormatError, opened by `where`, for anything that does not add up, and for
    more than `most` cells."""
    head, offset = _decode_head(data, where, most)
    columns = []
    for column in head.columns:
        built, offset = _decode_column(column, head.rows, data, offset, where)
        columns.append(built)
    if offset != len(data):
        raise FormatError(f"{where} is damaged: {len(data) - offset} bytes too many")
    return Table(head.name, tuple(columns), head.rows), head.base


def join(pieces: Sequence[tuple[str, Table, Base | None]], where: str) -> Table:
    """The table of its pieces (id, rows, base), checked to continue one another."""
    rows, previous = 0, None
    for id, piece, base in pieces:
        if base is not None and (base.rows != rows or base.id != previous):
            raise FormatError(f"{where}: piece {id} continues another table")
        rows, previous = rows + piece.rows, id
    return concat([piece for _, piece, _ in pieces])


def refuse_newer(data: bytes, known: int, where: str) -> None:
    """FormatError if the JSON, perhaps otherwise unreadable, says that its format is a later one."""
    with contextlib.suppress(msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        found = _VERSION.decode(data).format
        if found > known:
            raise FormatError(f"{where} has format {found}, made by a newer perfcore", hint="upgrade perfcore")


def _encode_column(column: Column) -> tuple[_ColumnHead, list[bytes]]:
    raw, dictionary = column.data.tobytes(), None
    if column.dtype == "str":
        raw, dictionary = _encode_texts(column)
    planes: list[int | None] = []
    parts = []
    for lane in _lanes(WIDTHS[column.dtype]):
        plane = raw[lane]
        if not plane or plane.count(plane[0]) == len(plane):
            planes.append(plane[0] if plane else 0)
        else:
            planes.append(None)
            parts.append(plane)
    if column.valid is not None:
        parts.append(column.valid)
    spec = column.spec
    head = _ColumnHead(
        encodable(spec.name),
        spec.dtype,
        encodable(spec.unit),
        spec.role,
        spec.better,
        planes,
        column.valid is not None,
        dictionary,
    )
    return head, parts


def _encode_texts(column: Column) -> tuple[bytes, list[str]]:
    """(codes, dictionary) with the texts in the order in which they occur, and only those that do."""
    there = None if column.valid is None else bitmap.flags(column.valid, len(column))
    first = dict.fromkeys(column.data if there is None else itertools.compress(column.data, there))
    dictionary = [encodable(column.dictionary[code]) for code in first]
    if there is None and all(map(operator.eq, first, range(len(first)))):
        return column.data.tobytes(), dictionary
    moved = map({code: i for i, code in enumerate(first)}.get, column.data, itertools.repeat(0))
    return array("I", moved if there is None else map(operator.mul, moved, there)).tobytes(), dictionary


def _lanes(width: int) -> Iterator[slice]:
    """Where the planes of items of this width are in memory, from the lowest byte up."""
    for k in range(width):
        yield slice(k if sys.byteorder == "little" else width - 1 - k, None, width)


def _decode_head(data: bytes, where: str, most: int) -> tuple[_Head, int]:
    if len(data) < _LENGTH.size:
        raise FormatError(f"{where} is damaged: it is cut short")
    (length,) = _LENGTH.unpack_from(data)
    end = _LENGTH.size + length
    try:
        head = _DECODER.decode(data[_LENGTH.size : end])
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        refuse_newer(data[_LENGTH.size : end], FORMAT, where)
        raise FormatError(f"{where} is damaged: {error}") from error
    refuse_newer(data[_LENGTH.size : end], FORMAT, where)
    if head.rows < 0 or cells(head.rows, len(head.columns)) > MAX_CELLS:
        raise FormatError(f"{where} is damaged: it claims {head.rows:,} rows")
    if cells(head.rows, len(head.columns)) > most:
        raise FormatError(f"{where} would be more than a profile may hold")
    if len({column.name for column in head.columns}) != len(head.columns):
        raise FormatError(f"{where} is damaged: it has two columns of one name")
    return head, end


def _decode_column(head: _ColumnHead, rows: int, data: bytes, offset: int, where: str) -> tuple[Column, int]:
    width = WIDTHS[head.dtype]
    if len(head.planes) != width:
        raise FormatError(f"{where}: column {head.name!r} has {len(head.planes)} planes, not {width}")
    raw = bytearray(rows * width)
    for lane, constant in zip(_lanes(width), head.planes, strict=True):
        if constant is None:
            plane = data[offset : offset + rows]
            if len(plane) != rows:
                raise FormatError(f"{where} is damaged: column {head.name!r} is cut short")
            raw[lane] = plane
            offset += rows
        elif not 0 <= constant <= 255:
            raise FormatError(f"{where}: column {head.name!r} repeats {constant}, which is no byte")
        elif constant:
            raw[lane] = bytes((constant,)) * rows
    valid = None
    if head.valid:
        size = (rows + 7) // 8
        valid = data[offset : offset + size]
        if len(valid) != size:
            raise FormatError(f"{where} is damaged: column {head.name!r} is cut short")
        offset += size
    view = memoryview(raw).toreadonly().cast(CODES[head.dtype])  # type: ignore[call-overload]
    spec = ColumnSpec(head.name, head.dtype, head.unit, head.role, head.better)
    return Column(spec, view, valid, _checked_dictionary(head, view, valid, where)), offset


def _checked_dictionary(head: _ColumnHead, view: Any, valid: bytes | None, where: str) -> tuple[str, ...]:
    rows = len(view)
    if head.dtype == "bool" and rows and max(view.tobytes()) > 1:
        raise FormatError(f"{where}: column {head.name!r} holds bytes that are no booleans")
    if head.dtype != "str":
        return ()
    dictionary = tuple(head.dictionary or ())
    missing = not dictionary and valid is not None and not bitmap.count(valid, rows)
    if rows and max(view) >= (1 if missing else len(dictionary)):
        raise FormatError(f"{where}: column {head.name!r} names a text it does not hold")
    return dictionary


def cells(rows: int, columns: int) -> int:
    """What a table of this size counts for; one without columns, as if it had one."""
    return rows * max(1, columns)


def count_present(column: Column) -> int:
    """How many values of the column are there."""
    return len(column) if column.valid is None else bitmap.count(column.valid, len(column))
