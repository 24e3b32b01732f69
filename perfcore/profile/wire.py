"""The JSON of a profile: its fields, and the values of a column.

A column is a list that is written and read in parts, so that a long one is never as many Python objects.
"""

from __future__ import annotations

import contextlib
import functools
import math
import re
import struct
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Literal

import msgspec

from perfcore import files
from perfcore.errors import FormatError
from perfcore.model import PROFILE_FORMAT, Header, Tool
from perfcore.profile.columns import Role
from perfcore.profile.table import Column, ColumnBuilder, ColumnSpec, DType, Value
from perfcore.text import encodable


class Versioned(msgspec.Struct):
    """As much of a JSON text as says whether the rest can be understood."""

    format: int


class WireColumn(msgspec.Struct, omit_defaults=True):
    name: str
    dtype: DType
    values: msgspec.Raw
    unit: str = ""
    role: Role = "dimension"
    better: Literal["lower", "higher"] = "lower"
    exact: bool = False


class WireTable(msgspec.Struct, omit_defaults=True):
    rows: int
    columns: list[WireColumn] | None = None
    pieces: list[str] | None = None
    beside: list[str] = []
    shared: bool = False


class WireHeader(msgspec.Struct, omit_defaults=True):
    type: str
    argv: list[str] = []
    cmd: str = ""
    args: str = ""
    workload: str = ""
    shell: bool = False
    units: dict[str, str] = {}
    exitcode: int | None = None
    tags: list[str] = []


class WireTool(msgspec.Struct, omit_defaults=True):
    name: str
    version: str = ""
    params: dict[str, Any] = {}
    sampling: dict[str, Any] = {}


class WireProfile(msgspec.Struct, omit_defaults=True, kw_only=True):
    format: int
    seal: str = ""
    header: WireHeader
    created: int
    collector_info: WireTool
    origin: str | None = None
    dirty: bool = False
    incomplete: bool = False
    postprocessors: list[WireTool] = []
    machine: dict[str, Any] = {}
    config_id: str = ""
    environment_id: str = ""
    sources: list[str] = []
    notes: list[str] = []
    tables: dict[str, WireTable] = {}
    sha1: str = ""


_ENCODER = msgspec.json.Encoder()
MAX_CELLS = 1 << 23  # of a table in one piece, or without columns: 65,536 rows of 128 columns, 64 MiB at 8 bytes
_PART = 16_384  # values that are Python objects at a time, some 0.6 MB of numbers; larger parts are no quicker
_COLUMN: Mapping[DType, Any] = {
    "i64": list[int | None],
    "u64": list[int | None],
    "f64": list[float | str | None],
    "bool": list[bool | None],
    "str": list[str | None],
}
# Where a part ends: after so many texts; in other lists behind the next comma, since no value but a text holds one.
# All repeats are possessive (Python 3.11), so that a text without an end is looked at once.
_TEXTS = rb'(?s)(?>\s*+(?:"[^"\\]*+(?:\\.[^"\\]*+)*+"|null)\s*+,?+){1,%d}+' % _PART
_OTHERS = rb"(?s).{%d}[^,]*+,?+|.++" % (8 * _PART)
_DOUBLE = struct.Struct(">d")
_NAN = _DOUBLE.pack(math.nan)
_ID = r"[0-9a-f]{40}"
_UNREADABLE = (msgspec.MsgspecError, RecursionError, UnicodeDecodeError)


@functools.cache
def _decoder(type: Any) -> msgspec.json.Decoder[Any]:
    """Made when it is needed: measuring writes profiles and reads none."""
    return msgspec.json.Decoder(type)


def parse(data: bytes, where: str) -> WireProfile:
    try:
        wire: WireProfile = _decoder(WireProfile).decode(data)
    except _UNREADABLE as error:
        refuse_newer(data, PROFILE_FORMAT, where)
        raise FormatError(f"{where} is not a profile: {error}") from error
    if wire.format > PROFILE_FORMAT:
        refuse_newer(data, PROFILE_FORMAT, where)
    if wire.seal or wire.sha1:
        files.verify_seal(data, where)
    return _checked(wire, where)


def _checked(wire: WireProfile, where: str) -> WireProfile:
    """What the types of the fields do not say."""
    if not -(2**63) <= wire.created < 2**63:
        raise FormatError(f"{where}: {wire.created} is no time")
    for name, table in wire.tables.items():
        if (table.columns is None) == (table.pieces is None):
            raise FormatError(f"{where}: table {name!r} needs either columns or pieces")
        if table.columns == [] and table.rows > MAX_CELLS:
            raise FormatError(f"{where}: table {name!r} claims {table.rows:,} rows and has no columns")
        if table.rows < 0:
            raise FormatError(f"{where}: table {name!r} claims {table.rows} rows")
    for id in (*wire.sources, *piece_ids(wire)):
        if not re.fullmatch(_ID, id):
            raise FormatError(f"{where}: {id!r} is not the id of an object")
    return wire


def piece_ids(wire: WireProfile) -> tuple[str, ...]:
    return tuple(dict.fromkeys(id for table in wire.tables.values() for id in (*(table.pieces or ()), *table.beside)))


def to_json(wire: WireProfile) -> bytes:
    try:
        try:
            return _ENCODER.encode(_checked(wire, "the profile"))
        except UnicodeEncodeError:  # rare: only then is every text looked at
            plain = msgspec.to_builtins(wire, builtin_types=(msgspec.Raw,))
            return _ENCODER.encode(_all_encodable(plain))
    except (TypeError, RecursionError, msgspec.MsgspecError) as error:
        raise FormatError(f"the profile holds something that JSON cannot: {error}") from error


def _all_encodable(value: Any) -> Any:
    if isinstance(value, str):
        return encodable(value)
    if isinstance(value, list):
        return [_all_encodable(item) for item in value]
    if isinstance(value, dict):
        return {_all_encodable(key): _all_encodable(item) for key, item in value.items()}
    return value


def of_header(header: Header) -> WireHeader:
    return WireHeader(
        type=header.type,
        argv=list(header.argv),
        cmd=header.cmd,
        args=header.args,
        workload=header.workload,
        shell=header.shell,
        units=dict(header.units),
        exitcode=header.exitcode,
        tags=list(header.tags),
    )


def of_tool(tool: Tool) -> WireTool:
    return WireTool(tool.name, tool.version, dict(tool.params), dict(tool.sampling))


def to_tool(wire: WireTool) -> Tool:
    return Tool(name=wire.name, version=wire.version, params=wire.params, sampling=wire.sampling)


def column_to_json(column: Column) -> bytes:
    """The list. Numbers that JSON does not have are words, text that is no Unicode has escapes."""
    odd = column.dtype == "f64" and not all(map(math.isfinite, column.data))
    values = iter(column)
    parts = [b"["]
    while chunk := list(islice(values, _PART)):
        if odd:
            chunk = [_word(v) if isinstance(v, float) and not math.isfinite(v) else v for v in chunk]
        parts += (_list(chunk)[1:-1], b",")
    return b"".join((*(parts[:-1] or parts), b"]"))


def column_of_json(data: msgspec.Raw, spec: ColumnSpec, where: str) -> Column:
    """The column. FormatError, opened by `where`, for anything else than values of its dtype."""
    builder = ColumnBuilder(spec.name, spec)
    try:
        for chunk in _parts(data, spec.dtype):
            values = _decoder(_COLUMN[spec.dtype]).decode(chunk)
            if spec.dtype == "f64":
                values = [_number(v, spec.name, where) if type(v) is str else v for v in values]
            builder.extend(values)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise FormatError(f"{where}: column {spec.name!r}: {error}") from error
    return builder.build(len(builder))


def _list(values: list[Value]) -> bytes:
    try:
        return _ENCODER.encode(values)
    except UnicodeEncodeError:
        return _ENCODER.encode([encodable(v) if isinstance(v, str) else v for v in values])


def _parts(data: msgspec.Raw, dtype: DType) -> Iterator[bytes | msgspec.Raw]:
    """Lists that are one after the other what the list in the data is; the data itself where it is short, or no such
    list, for the decoder to refuse."""
    view = memoryview(data)
    start, end = 1, len(view) - 1
    pattern = _TEXTS if dtype == "str" else _OTHERS
    is_long = end > _PART and bytes(view[:1]) == b"[" and bytes(view[end:]) == b"]"
    while not is_long or start < end:
        match = re.compile(pattern).match(view, start, end) if is_long else None
        if match is None or (match.end() < end and match[0].rstrip()[-1:] != b","):
            yield data
            return
        start = match.end()
        yield b"[%s]" % (match[0] if start == end else match[0].rstrip()[:-1])


def _word(value: float) -> str:
    """`inf`, `-inf`, `nan`; a NaN of other bits than the usual ones as `nan:fff8000000000000`."""
    packed = _DOUBLE.pack(value)
    return f"nan:{packed.hex()}" if math.isnan(value) and packed != _NAN else str(value)


def _number(word: str, column: str, where: str) -> float:
    if word in ("nan", "inf", "-inf"):
        return float(word)
    if re.fullmatch(r"nan:[0-9a-f]{16}", word):
        (value,) = _DOUBLE.unpack(bytes.fromhex(word[4:]))
        if math.isnan(value):
            return float(value)
    raise FormatError(f"{where}: column {column!r} is f64 and holds {word!r}")


def refuse_newer(data: bytes, known: int, where: str) -> None:
    """FormatError if the JSON, perhaps otherwise unreadable, says that its format is a later one."""
    with contextlib.suppress(msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        version = _decoder(Versioned).decode(data).format
        if version > known:
            raise FormatError(f"{where} has format {version}, made by a newer perfcore", hint="upgrade perfcore")


def cells(rows: int, columns: int) -> int:
    """What a table of this size counts for; one without columns, as if it had one."""
    return rows * max(1, columns)
