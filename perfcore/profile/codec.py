"""Profiles as JSON: small tables inline, large ones as lists of table objects."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal

import msgspec

from perfcore.errors import FormatError
from perfcore.model import PROFILE_FORMAT, Header, Profile, Tool
from perfcore.profile import pieces
from perfcore.profile.table import Column, ColumnBuilder, ColumnSpec, DType, Role, Table, Value

INLINE_CELLS = 4096

PutPiece = Callable[[str, bytes], str]
GetPiece = Callable[[str], bytes]


class _WireColumn(msgspec.Struct, omit_defaults=True):
    name: str
    dtype: DType
    values: list[int | float | bool | str | None]
    unit: str = ""
    role: Role = "dimension"
    better: Literal["lower", "higher"] = "lower"


class _WireTable(msgspec.Struct, omit_defaults=True):
    rows: int
    columns: list[_WireColumn] | None = None
    pieces: list[str] | None = None


class _WireHeader(msgspec.Struct, omit_defaults=True):
    type: str
    argv: list[str] = []
    cmd: str = ""
    args: str = ""
    workload: str = ""
    shell: bool = False
    units: dict[str, str] = {}
    exitcode: int | None = None
    tags: list[str] = []


class _WireTool(msgspec.Struct, omit_defaults=True):
    name: str
    version: str = ""
    params: dict[str, Any] = {}
    sampling: dict[str, Any] = {}


class _WireProfile(msgspec.Struct, omit_defaults=True):
    format: int
    header: _WireHeader
    created: int
    collector_info: _WireTool
    origin: str | None = None
    dirty: bool = False
    postprocessors: list[_WireTool] = []
    machine: dict[str, Any] = {}
    config_id: str = ""
    environment_id: str = ""
    sources: list[str] = []
    notes: list[str] = []
    tables: dict[str, _WireTable] = {}


_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(_WireProfile)


class LazyTables(Mapping[str, Table]):
    """The tables of a profile, each decoded when it is looked at."""

    def __init__(self, wire: Mapping[str, _WireTable], get: GetPiece) -> None:
        self._wire = wire
        self._get = get
        self._ready: dict[str, Table] = {}

    def __getitem__(self, name: str) -> Table:
        if name not in self._ready:
            self._ready[name] = _decode_table(name, self._wire[name], self._get)
        return self._ready[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._wire)

    def __len__(self) -> int:
        return len(self._wire)


def encode(profile: Profile, put: PutPiece, *, inline: int = INLINE_CELLS) -> tuple[bytes, tuple[str, ...]]:
    """(JSON, ids of its table pieces). `put(table name, piece)` stores a piece and gives its id; tables of at
    most `inline` cells stand in the JSON."""
    ids: list[str] = []
    tables = {}
    for name in sorted(profile.tables):
        table = profile.tables[name]
        if table.rows * len(table.columns) <= inline:
            tables[name] = _WireTable(table.rows, columns=[_encode_column(column) for column in table.columns])
        else:
            placed = [put(name, pieces.encode(piece)) for piece in pieces.split(table)]
            ids += placed
            tables[name] = _WireTable(table.rows, pieces=placed)
    wire = _WireProfile(
        format=PROFILE_FORMAT,
        header=_wire_header(profile.header),
        created=profile.created,
        collector_info=_wire_tool(profile.collector),
        origin=profile.origin,
        dirty=profile.dirty,
        postprocessors=[_wire_tool(tool) for tool in profile.postprocessors],
        machine=dict(profile.machine),
        config_id=profile.config_id,
        environment_id=profile.environment_id,
        sources=list(profile.sources),
        notes=list(profile.notes),
        tables=tables,
    )
    return _to_json(wire), tuple(dict.fromkeys(ids))


def decode(data: bytes, get: GetPiece, *, where: str) -> Profile:
    """The profile in this JSON; `get(id)` gives the content of a table piece when a table is looked at."""
    wire = _parse(data, where)
    header = wire.header
    return Profile(
        header=Header(
            type=header.type,
            argv=tuple(header.argv),
            cmd=header.cmd,
            args=header.args,
            workload=header.workload,
            shell=header.shell,
            units=header.units,
            exitcode=header.exitcode,
            tags=tuple(header.tags),
        ),
        created=wire.created,
        collector=_tool(wire.collector_info),
        postprocessors=tuple(_tool(tool) for tool in wire.postprocessors),
        machine=wire.machine,
        config_id=wire.config_id,
        environment_id=wire.environment_id,
        sources=tuple(wire.sources),
        origin=wire.origin,
        dirty=wire.dirty,
        notes=tuple(wire.notes),
        tables=LazyTables(wire.tables, get),
    )


def for_object(data: bytes, where: str) -> tuple[bytes, tuple[str, ...]]:
    """(JSON as it is registered, ids of its table pieces) of a pending profile: the origin is dropped, the tables
    are not touched."""
    wire = _parse(data, where)
    wire.origin = None
    return _to_json(wire), tuple(dict.fromkeys(id for table in wire.tables.values() for id in table.pieces or ()))


def verify(profile: Profile) -> None:
    """Read every table of a profile; FormatError or NotFoundError for the first that is damaged or missing."""
    for name in profile.tables:
        profile.tables[name]


def piece_ids(data: bytes, where: str) -> tuple[str, ...]:
    """The ids of the table pieces that a profile refers to."""
    wire = _parse(data, where)
    return tuple(dict.fromkeys(id for table in wire.tables.values() for id in table.pieces or ()))


def _parse(data: bytes, where: str) -> _WireProfile:
    try:
        wire = _DECODER.decode(data)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise FormatError(f"{where} is not a profile: {error}") from error
    if wire.format > PROFILE_FORMAT:
        raise FormatError(f"{where} has format {wire.format}, made by a newer perfcore", hint="upgrade perfcore")
    for name, table in wire.tables.items():
        if (table.columns is None) == (table.pieces is None):
            raise FormatError(f"{where}: table {name!r} needs either columns or pieces")
    return wire


def _to_json(wire: _WireProfile) -> bytes:
    try:
        return _ENCODER.encode(wire)
    except UnicodeEncodeError:
        return _ENCODER.encode(_without_surrogates(msgspec.to_builtins(wire)))
    except (TypeError, msgspec.MsgspecError) as error:
        raise FormatError(f"the profile holds something that JSON cannot: {error}") from error


def _without_surrogates(value: Any) -> Any:
    """Text that is no Unicode (names of files in other encodings) with its bytes written as escapes."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, list):
        return [_without_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {_without_surrogates(key): _without_surrogates(item) for key, item in value.items()}
    return value


def _encode_column(column: Column) -> _WireColumn:
    values: list[Any] = list(column)
    if column.dtype == "f64":
        values = [v if v is None or math.isfinite(v) else str(v) for v in values]
    spec = column.spec
    return _WireColumn(spec.name, spec.dtype, values, spec.unit, spec.role, spec.better)


def _decode_table(name: str, wire: _WireTable, get: GetPiece) -> Table:
    where = f"table {name!r}"
    if wire.columns is not None:
        table = Table(name, tuple(_decode_column(column, where) for column in wire.columns), wire.rows)
    else:
        parts = []
        for id in wire.pieces or ():
            piece, base = pieces.decode(get(id), f"{where}, object {id}")
            parts.append((id, piece, base))
        table = pieces.join(parts, where) if parts else Table(name, (), 0)
    if table.rows != wire.rows:
        raise FormatError(f"{where} has {table.rows} rows and claims {wire.rows}")
    return Table(name, table.columns, table.rows)


def _decode_column(wire: _WireColumn, where: str) -> Column:
    builder = ColumnBuilder(wire.name, ColumnSpec(wire.name, wire.dtype, wire.unit, wire.role, wire.better))
    for value in wire.values:
        builder.append(_special(value) if wire.dtype == "f64" else _typed(value, wire, where))
    return builder.build(len(wire.values))


def _special(value: Value) -> Value:
    if isinstance(value, str):
        return float(value) if value in ("nan", "inf", "-inf") else value
    return float(value) if type(value) is int else value


def _typed(value: Value, wire: _WireColumn, where: str) -> Value:
    wanted = {"i64": int, "u64": int, "bool": bool, "str": str}[wire.dtype]
    if value is not None and type(value) is not wanted:
        raise FormatError(f"{where}: column {wire.name!r} is {wire.dtype} and holds {value!r}")
    return value


def _wire_header(header: Header) -> _WireHeader:
    return _WireHeader(
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


def _wire_tool(tool: Tool) -> _WireTool:
    return _WireTool(tool.name, tool.version, dict(tool.params), dict(tool.sampling))


def _tool(wire: _WireTool) -> Tool:
    return Tool(name=wire.name, version=wire.version, params=wire.params, sampling=wire.sampling)
