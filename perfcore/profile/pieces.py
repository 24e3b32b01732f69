"""Tables as bytes: pieces of at most 65,536 rows, each a JSON head and the columns as byte planes.

A piece is a u32 (little endian) with the length of the head, the head, and the data. Every item of a column
has a fixed width in bytes, little endian; plane k holds byte k of every item. The head gives for each plane
either null (the plane stands in the data) or the byte that all of it consists of. Planes compress far better
than items and cost two slices each. `docs/formats.md` describes every field.
"""

from __future__ import annotations

import itertools
import operator
import struct
import sys
from array import array
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from perfcore.errors import FormatError
from perfcore.named_tuple import NamedTuple
from perfcore.profile import bitmap, decimals
from perfcore.profile.columns import WIDTHS
from perfcore.profile.relative import BOUND, Relative, reduced, restored
from perfcore.profile.table import CODES, Column, ColumnSpec, DType, Role, Table, concat, refuse_unlike
from perfcore.profile.wire import MAX_CELLS, cells, refuse_newer
from perfcore.text import encodable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

FORMAT = 3  # of a piece with `relative`; 2 with decimals, 1 of any other; a newer one is refused
PIECE_ROWS = 65_536  # more compress hardly better, and a reader holds a piece at a time
_LENGTH = struct.Struct("<I")


class Base(msgspec.Struct, forbid_unknown_fields=True):
    """What a piece continues: the piece before it and how many rows stand before its own."""

    id: str
    rows: int


class _ColumnHead(msgspec.Struct, omit_defaults=True):
    name: str
    dtype: DType
    unit: str = ""
    role: Role = "dimension"
    better: Literal["lower", "higher"] = "lower"
    planes: list[int | None] = msgspec.field(default_factory=list)
    valid: bool = False
    dictionary: list[str] | None = None
    exact: bool = False
    decimals: int | None = None
    relative: Relative | None = None


class _Head(msgspec.Struct, omit_defaults=True):
    format: int
    name: str
    rows: int
    columns: list[_ColumnHead]
    base: Base | None = None


class Outline(NamedTuple):
    """What a piece holds, without its values: its rows, its columns and what it continues."""

    rows: int
    specs: tuple[ColumnSpec, ...]
    base: Base | None = None


_Planes: TypeAlias = "Sequence[memoryview | int]"  # from the lowest byte up; a number is the byte that all of it is
_Part: TypeAlias = "tuple[_Planes, bytes | None, bytes | None]"  # and bitmaps: of presence, of items that are unusual
_BYTES = bytes(range(256))
_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(_Head)


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
    # Who cannot read decimals must not take them for the bits of other numbers.
    format = 1 if all(head.decimals is None for head in heads) else 2
    format = format if all(head.relative is None for head in heads) else FORMAT
    head_bytes = _ENCODER.encode(_Head(format, encodable(piece.name), piece.rows, heads, base))
    return b"".join((_LENGTH.pack(len(head_bytes)), head_bytes, *data))


def decode(data: bytes, where: str, *, most: int = MAX_CELLS) -> tuple[Table, Base | None]:
    """The piece and what it continues. FormatError, opened by `where`, for anything that does not add up, and for
    more than `most` cells."""
    head, parts = _checked_parts(data, where, most)
    columns = [_decode_column(column, head.rows, *planes) for column, planes in zip(head.columns, parts, strict=True)]
    return Table(head.name, tuple(columns), head.rows), head.base


def outline(data: bytes, where: str, *, most: int = MAX_CELLS) -> Outline:
    """What the piece holds, checked as `decode` does and without making columns of it."""
    head, _ = _checked_parts(data, where, most)
    return Outline(head.rows, tuple(map(_spec, head.columns)), head.base)


def join(pieces: Sequence[tuple[str, Table, Base | None]], where: str) -> Table:
    """The table of its pieces (id, rows, base), checked to continue one another."""
    _refuse_strangers([(id, piece.rows, base) for id, piece, base in pieces], where)
    return concat([piece for _, piece, _ in pieces])


def join_outlines(pieces: Sequence[tuple[str, Outline]], where: str) -> Outline:
    """The same for what pieces hold: FormatError where they could not be joined."""
    _refuse_strangers([(id, piece.rows, piece.base) for id, piece in pieces], where)
    refuse_unlike([piece.specs for _, piece in pieces], where)
    return Outline(sum(piece.rows for _, piece in pieces), pieces[0][1].specs)


def _encode_column(column: Column) -> tuple[_ColumnHead, list[bytes]]:
    raw, dictionary, places, relative = column.data.tobytes(), None, None, None
    if column.dtype == "str":
        raw, dictionary = _encode_texts(column)
    marks = b""
    if column.dtype == "i64" and (shorter := reduced(column.data)):
        relative, raw, marks = shorter
    planes, parts = _encode_planes(raw, WIDTHS[column.dtype])
    if column.dtype == "f64" and parts and (scaled := decimals.scaled(column.data, raw)):
        integers = _encode_planes(scaled[1], WIDTHS[column.dtype])
        if _variety(integers[1]) < _variety(parts):
            places, (planes, parts) = scaled[0], integers
    if marks:
        parts.insert(0, marks)
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
        spec.exact,
        places,
        relative,
    )
    return head, parts


def _encode_planes(raw: bytes, width: int) -> tuple[list[int | None], list[bytes]]:
    """(what the head says of the planes, those that stand in the data)."""
    planes: list[int | None] = []
    parts = []
    for lane in _lanes(width):
        plane = raw[lane]
        if _is_constant(plane, 1):
            planes.append(plane[0] if plane else 0)
        else:
            planes.append(None)
            parts.append(plane)
    return planes, parts


def _variety(planes: Sequence[bytes]) -> int:
    """How many different bytes planes have together: planes of few are short when they are compressed."""
    return sum(len(set(plane)) for plane in planes)


def _encode_texts(column: Column) -> tuple[bytes, list[str]]:
    """(codes, dictionary) with the texts in the order in which they occur, and only those that do."""
    present = None if column.valid is None else bitmap.flags(column.valid, len(column))
    if present is None and _is_constant(column.data.tobytes(), WIDTHS["str"]):
        return bytes(column.data.nbytes), [encodable(column.dictionary[code]) for code in column.data[:1]]
    # In the order of their first use: equal pieces have equal bytes, and so one id.
    first = dict.fromkeys(column.data if present is None else itertools.compress(column.data, present))
    dictionary = [encodable(column.dictionary[code]) for code in first]
    if present is None and all(map(operator.eq, first, range(len(first)))):
        return column.data.tobytes(), dictionary
    moved = map({code: i for i, code in enumerate(first)}.get, column.data, itertools.repeat(0))
    return array("I", moved if present is None else map(operator.mul, moved, present)).tobytes(), dictionary


def _is_constant(items: bytes, width: int) -> bool:
    """Whether all the items of this width are the same."""
    return items == items[:width] * (len(items) // width)  # one comparison of bytes, not one for each item


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
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:  # perhaps of a newer format
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


def _checked_parts(data: bytes, where: str, most: int) -> tuple[_Head, list[_Part]]:
    """The head and, for each column, its planes and its bitmap."""
    head, offset = _decode_head(data, where, most)
    view = memoryview(data)
    parts = []
    for column in head.columns:
        column_parts, offset = _column_part(column, head.rows, view, offset, where)
        _check_values(column, head.rows, *column_parts, where)
        parts.append(column_parts)
    if offset != len(data):
        raise FormatError(f"{where} is damaged: {len(data) - offset} bytes too many")
    return head, parts


def _column_part(head: _ColumnHead, rows: int, data: memoryview, offset: int, where: str) -> tuple[_Part, int]:
    """(planes and bitmap of the column that begins at the offset, where the next one does)."""
    width = WIDTHS[head.dtype]
    if len(head.planes) != width:
        raise FormatError(f"{where}: column {head.name!r} has {len(head.planes)} planes, not {width}")
    for constant in head.planes:
        if constant is not None and not 0 <= constant <= 255:
            raise FormatError(f"{where}: column {head.name!r} repeats {constant}, which is no byte")
    marks, items, bits = None, rows, (rows + 7) // 8
    if head.relative is not None and head.relative.usual is not None:
        marks, offset = bytes(data[offset : offset + bits]), offset + bits
        items = bitmap.count(marks.ljust(bits, b"\0"), rows)
    sizes = [items for constant in head.planes if constant is None] + [bits] * head.valid
    slices = []
    for size in sizes:
        slices.append(data[offset : offset + size])
        offset += size
    if offset > len(data):
        raise FormatError(f"{where} is damaged: column {head.name!r} is cut short")
    stored = iter(slices)
    planes = [next(stored) if constant is None else constant for constant in head.planes]
    return (planes, bytes(next(stored)) if head.valid else None, marks), offset


def _check_values(
    head: _ColumnHead, rows: int, planes: _Planes, valid: bytes | None, _: bytes | None, where: str
) -> None:
    """What the dtype asks of the values beyond their width."""
    relative = head.relative or Relative("row")
    most = max(abs(relative.start) >> 22, abs(relative.least), abs(relative.usual or 0))
    if head.relative is not None and (head.dtype != "i64" or any(planes[5:]) or most > BOUND):
        raise FormatError(f"{where}: column {head.name!r} has items beyond the bounds of the format")
    if head.decimals is not None and (head.dtype != "f64" or not 0 <= head.decimals <= decimals.MOST):
        raise FormatError(f"{where}: column {head.name!r} has {head.decimals} decimals, which cannot be")
    if head.dtype == "bool" and not _are_below(2, planes, rows):
        raise FormatError(f"{where}: column {head.name!r} holds bytes that are no booleans")
    if head.dtype == "str":
        texts = len(head.dictionary or ())
        missing = not texts and valid is not None and not bitmap.count(valid, rows)
        if not _are_below(1 if missing else texts, planes, rows):
            raise FormatError(f"{where}: column {head.name!r} names a text it does not hold")


def _are_below(bound: int, planes: _Planes, rows: int) -> bool:
    """Whether all the numbers in these planes are below `bound`."""
    # From the highest byte down, those are compared on that have been equal to the greatest number so far: `tied` has
    # all bits of their bytes set, so that one `&` of long integers leaves the bytes of these and 0 for the others.
    if not bound or not rows:
        return not rows
    tied = -1
    for byte, plane in reversed(list(enumerate(planes))):
        most = bound - 1 >> 8 * byte & 255  # this byte of the greatest number
        if isinstance(plane, int):
            if plane != most:
                return plane < most
            continue
        values = bytes(plane)
        if tied != -1:
            values = (int.from_bytes(values, "little") & tied).to_bytes(rows, "little")
        if values.translate(None, _BYTES[: most + 1]):  # what is left is greater
            return False
        tied &= int.from_bytes(values.translate(bytes(most) + b"\xff" + bytes(255 - most)), "little")
        if not tied:
            return True
    return True


def _decode_column(head: _ColumnHead, rows: int, planes: _Planes, valid: bytes | None, marks: bytes | None) -> Column:
    width = WIDTHS[head.dtype]
    count = rows if marks is None else bitmap.count(marks, rows)
    raw = bytearray(count * width)
    for lane, plane in zip(_lanes(width), planes, strict=True):
        if not isinstance(plane, int):
            raw[lane] = plane
        elif plane:
            raw[lane] = bytes((plane,)) * count
    items: bytes | bytearray = raw if head.decimals is None else decimals.restored(raw, head.decimals)
    if head.relative is not None:
        items = restored(raw, marks, head.relative, rows)
    view = memoryview(items).toreadonly().cast(CODES[head.dtype])  # type: ignore[call-overload]
    return Column(_spec(head), view, valid, tuple(head.dictionary or ()) if head.dtype == "str" else ())


def _spec(head: _ColumnHead) -> ColumnSpec:
    return ColumnSpec(head.name, head.dtype, head.unit, head.role, head.better, head.exact)


def _refuse_strangers(pieces: Sequence[tuple[str, int, Base | None]], where: str) -> None:
    """FormatError for one of the pieces (id, rows, base) that does not continue those before it."""
    rows, previous = 0, None
    for id, piece_rows, base in pieces:
        if base is not None and (base.rows != rows or base.id != previous):
            raise FormatError(f"{where}: piece {id} continues another table")
        rows, previous = rows + piece_rows, id
