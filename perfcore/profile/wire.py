"""The JSON fields of a profile, encoded and decoded; tables stay in their coded form."""

from __future__ import annotations

import re
from typing import Any, Literal

import msgspec

from perfcore.errors import FormatError
from perfcore.model import PROFILE_FORMAT, Header, Tool
from perfcore.profile import checksum, pieces
from perfcore.profile.columns import DType, Role
from perfcore.text import encodable


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
_DECODER = msgspec.json.Decoder(WireProfile)
_ID = re.compile(r"[0-9a-f]{40}")
_UNREADABLE = (msgspec.MsgspecError, RecursionError, UnicodeDecodeError)


def parse(data: bytes, where: str) -> WireProfile:
    try:
        wire = _DECODER.decode(data)
    except _UNREADABLE as error:
        pieces.refuse_newer(data, PROFILE_FORMAT, where)
        raise FormatError(f"{where} is not a profile: {error}") from error
    if wire.format > PROFILE_FORMAT:
        pieces.refuse_newer(data, PROFILE_FORMAT, where)
    if wire.seal or wire.sha1:
        checksum.verify(data, where)
    return _checked(wire, where)


def _checked(wire: WireProfile, where: str) -> WireProfile:
    """What the types of the fields do not say."""
    if not -(2**63) <= wire.created < 2**63:
        raise FormatError(f"{where}: {wire.created} is no time")
    for name, table in wire.tables.items():
        if (table.columns is None) == (table.pieces is None):
            raise FormatError(f"{where}: table {name!r} needs either columns or pieces")
        if table.columns == [] and table.rows > pieces.MAX_CELLS:
            raise FormatError(f"{where}: table {name!r} claims {table.rows:,} rows and has no columns")
        if table.rows < 0:
            raise FormatError(f"{where}: table {name!r} claims {table.rows} rows")
    for id in (*wire.sources, *piece_ids(wire)):
        if not _ID.fullmatch(id):
            raise FormatError(f"{where}: {id!r} is not the id of an object")
    return wire


def piece_ids(wire: WireProfile) -> tuple[str, ...]:
    return tuple(dict.fromkeys(id for table in wire.tables.values() for id in (*(table.pieces or ()), *table.beside)))


def to_json(wire: WireProfile) -> bytes:
    try:
        try:
            return _ENCODER.encode(_checked(wire, "the profile"))
        except UnicodeEncodeError:
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
