"""Profiles as JSON: small tables inline, large ones as lists of table objects."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

import attrs
import msgspec

from perfcore.errors import FormatError, NotFoundError
from perfcore.model import PROFILE_FORMAT, Header, Profile, Tool
from perfcore.profile import checksum, pieces, stacks, values
from perfcore.profile.stack_dedup import Chain, Share, share
from perfcore.profile.table import Column, ColumnSpec, DType, Role, Table
from perfcore.text import encodable

INLINE_CELLS = 4096
MAX_CELLS = 1 << 27  # of all tables of a profile: pieces that repeat one value take no room, and then very much

PutPiece = Callable[[str, bytes], str]
GetPiece = Callable[[str], bytes]
Earlier = Callable[[], Mapping[str, Chain]]


class _WireColumn(msgspec.Struct, omit_defaults=True):
    name: str
    dtype: DType
    values: msgspec.Raw
    unit: str = ""
    role: Role = "dimension"
    better: Literal["lower", "higher"] = "lower"


class _WireTable(msgspec.Struct, omit_defaults=True):
    rows: int
    columns: list[_WireColumn] | None = None
    pieces: list[str] | None = None
    beside: list[str] = []
    shared: bool = False


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


class _WireProfile(msgspec.Struct, omit_defaults=True, kw_only=True):
    format: int
    seal: str = ""
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
    sha1: str = ""


_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(_WireProfile)
_ID = re.compile(r"[0-9a-f]{40}")
_UNREADABLE = (msgspec.MsgspecError, RecursionError, UnicodeDecodeError)


class LazyTables(Mapping[str, Table]):
    """The tables of a profile, each decoded when it is looked at. Of shared stacks only its own are seen."""

    def __init__(self, wire: Mapping[str, _WireTable], get: GetPiece) -> None:
        self._wire = wire
        self._get = get
        self._ready: dict[str, Table] = {}
        self._stored: dict[str, Table] = {}
        self._left = MAX_CELLS

    def __getitem__(self, name: str) -> Table:
        if name not in self._ready:
            table = self.stored(name)
            if self._are_shared() and (name in stacks.NAMES or stacks.referring(table)):
                self._ready |= stacks.renumbered({other: self.stored(other) for other in self})
                self._stored.clear()
            else:
                self._ready[name] = table
        return self._ready[name]

    def __contains__(self, name: object) -> bool:
        return name in self._wire

    def __iter__(self) -> Iterator[str]:
        return iter(self._wire)

    def __len__(self) -> int:
        return len(self._wire)

    def stored(self, name: str) -> Table:
        """The table as it is stored, of shared stacks with those of other profiles, until it is looked at."""
        if name in self._ready:
            return self._ready[name]
        if name not in self._stored:
            table = _decode_table(name, self._wire[name], self._get, self._left)
            self._left -= pieces.cells(table.rows, len(table.columns))
            self._stored[name] = table
        return self._stored[name]

    def check(self) -> None:
        """Read every table, of those in pieces one after the other and nothing is kept. FormatError or NotFoundError
        for the first that is damaged or missing."""
        left = MAX_CELLS
        for name, table in self._wire.items():
            if table.pieces is None or table.beside or self._are_shared():
                left -= pieces.cells(self[name].rows, len(self[name].columns))
            else:
                found = _outline(name, table, self._get, left)
                left -= pieces.cells(found.rows, len(found.specs))

    def _are_shared(self) -> bool:
        return any(table.shared for table in self._wire.values())


def encode(
    profile: Profile, put: PutPiece, *, inline: int = INLINE_CELLS, earlier: Earlier = dict, sealed: bool = False
) -> tuple[bytes, tuple[str, ...]]:
    """(JSON, ids of its table pieces). `put(table name, piece)` stores a piece and gives its id; tables of at
    most `inline` cells stand in the JSON. Large stacks continue the `chains` that `earlier()` gives. What is
    `sealed` ends with a checksum."""
    wire = _WireProfile(
        format=PROFILE_FORMAT,
        seal=checksum.KIND if sealed else "",
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
        tables=_encode_tables(profile.tables, put, inline, earlier),
    )
    data = _to_json(wire)
    return checksum.close(data) if sealed else data, _ids(wire)


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


def for_object(data: bytes, put: PutPiece, *, where: str, earlier: Earlier = dict) -> tuple[bytes, tuple[str, ...]]:
    """(JSON as it is registered, ids of its table pieces) of a pending profile: origin and seal are dropped, large
    tables that stand inline are put into pieces."""
    wire = _parse(data, where)
    wire.origin, wire.seal, wire.sha1 = None, "", ""
    inline = {name: _decode_inline(name, table) for name, table in wire.tables.items() if table.columns is not None}
    if any(_is_large(table, INLINE_CELLS) for table in inline.values()):
        wire.tables |= _encode_tables(inline, put, INLINE_CELLS, earlier)
    return _to_json(wire), _ids(wire)


def shared_pieces(data: bytes, where: str) -> dict[str, list[str]]:
    """The ids of the pieces that hold the stacks of a stored profile; empty where it shares none."""
    wire = _parse(data, where)
    found = {name: wire.tables.get(name) for name in stacks.NAMES}
    return {name: table.pieces or [] for name, table in found.items() if table is not None and table.shared}


def chains(ids: Mapping[str, Sequence[str]], get: GetPiece) -> dict[str, Chain]:
    """These pieces for another profile to continue; empty where some are missing or damaged."""
    if not all(ids.get(name) for name in stacks.NAMES):
        return {}
    found = {}
    with contextlib.suppress(NotFoundError, FormatError):
        for name in stacks.NAMES:
            raw = {id: get(id) for id in ids[name]}
            found[name] = Chain(tuple(raw.values()), _join(name, list(raw), raw.__getitem__, MAX_CELLS))
        return found
    return {}


def verify(profile: Profile) -> None:
    """Read every table of a profile; FormatError or NotFoundError for the first that is damaged or missing, and for
    call stacks that cannot be followed."""
    tables = profile.tables
    if not isinstance(tables, LazyTables):
        stacks.verify({name: tables[name] for name in tables})
    elif stacks.has_stacks(tables):
        stacks.verify({name: tables.stored(name) for name in tables})
    else:
        tables.check()


def piece_ids(data: bytes, where: str) -> tuple[str, ...]:
    """The ids of the table pieces that a profile refers to."""
    return _ids(_parse(data, where))


def _parse(data: bytes, where: str) -> _WireProfile:
    try:
        wire = _DECODER.decode(data)
    except _UNREADABLE as error:
        pieces.refuse_newer(data, PROFILE_FORMAT, where)
        raise FormatError(f"{where} is not a profile: {error}") from error
    if wire.format > PROFILE_FORMAT:
        pieces.refuse_newer(data, PROFILE_FORMAT, where)
    if wire.seal or wire.sha1:
        checksum.check(data, where)
    return _checked(wire, where)


def _checked(wire: _WireProfile, where: str) -> _WireProfile:
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
    for id in (*wire.sources, *_ids(wire)):
        if not _ID.fullmatch(id):
            raise FormatError(f"{where}: {id!r} is not the id of an object")
    return wire


def _ids(wire: _WireProfile) -> tuple[str, ...]:
    return tuple(dict.fromkeys(id for table in wire.tables.values() for id in (*(table.pieces or ()), *table.beside)))


def _to_json(wire: _WireProfile) -> bytes:
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


def _encode_tables(tables: Mapping[str, Table], put: PutPiece, inline: int, earlier: Earlier) -> dict[str, _WireTable]:
    if "stacks" in tables and _is_large(tables["stacks"], inline) and (shared := share(tables, earlier())):
        encoded = {name: _encode_shared(name, shared, put) for name in stacks.NAMES}
        tables = shared.others
    else:
        encoded = {}
    encoded |= {name: _encode_table(name, tables[name], put, inline) for name in tables}
    return dict(sorted(encoded.items()))


def _encode_table(name: str, table: Table, put: PutPiece, inline: int) -> _WireTable:
    if not _is_large(table, inline):
        return _WireTable(table.rows, columns=[_encode_column(column) for column in table.columns])
    return _WireTable(table.rows, pieces=_put_pieces(name, table, put))


def _is_large(table: Table, inline: int) -> bool:
    return table.rows * len(table.columns) > inline


def _encode_shared(name: str, share: Share, put: PutPiece) -> _WireTable:
    chain = share.earlier.get(name)
    ids = [put(name, piece) for piece in chain.pieces] if chain else []
    rows = chain.table.rows if chain else 0
    ids += _put_pieces(name, share.fresh[name], put, pieces.Base(ids[-1], rows) if ids else None)
    beside = share.beside.get(name)
    return _WireTable(
        rows + share.fresh[name].rows,
        pieces=ids,
        beside=_put_pieces(name, beside, put) if beside and beside.columns else [],
        shared=True,
    )


def _put_pieces(name: str, table: Table, put: PutPiece, base: pieces.Base | None = None) -> list[str]:
    """The ids of the table's pieces, the first of which continues `base`."""
    ids = []
    for piece in pieces.split(attrs.evolve(table, name=name)):
        ids.append(put(name, pieces.encode(piece, base)))
        base = None
    return ids


def _encode_column(column: Column) -> _WireColumn:
    spec, data = column.spec, msgspec.Raw(values.to_json(column))
    return _WireColumn(spec.name, spec.dtype, data, spec.unit, spec.role, spec.better)


def _decode_table(name: str, wire: _WireTable, get: GetPiece, most: int) -> Table:
    if wire.pieces is None:
        return _decode_inline(name, wire)
    table = _join(name, wire.pieces, get, most)
    beside = _join(name, wire.beside, get, most) if wire.beside else Table(name, (), wire.rows)
    for part in (table, beside):
        _refuse_other_rows(name, part.rows, wire)
    return Table(name, (*table.columns, *beside.columns), wire.rows)


def _join(name: str, ids: Sequence[str], get: GetPiece, most: int) -> Table:
    where = f"table {name!r}"
    parts = []
    for id in ids:
        piece, base = pieces.decode(get(id), f"{where}, object {id}", most=most)
        most -= pieces.cells(piece.rows, len(piece.columns))
        parts.append((id, piece, base))
    return attrs.evolve(pieces.join(parts, where), name=name) if parts else Table(name, (), 0)


def _outline(name: str, wire: _WireTable, get: GetPiece, most: int) -> pieces.Outline:
    """What the table in pieces holds, of which only one is in memory at a time."""
    where = f"table {name!r}"
    parts = []
    for id in wire.pieces or ():
        piece = pieces.outline(get(id), f"{where}, object {id}", most=most)
        most -= pieces.cells(piece.rows, len(piece.specs))
        parts.append((id, piece))
    found = pieces.join_outlines(parts, where) if parts else pieces.Outline(0, ())
    _refuse_other_rows(name, found.rows, wire)
    return found


def _refuse_other_rows(name: str, rows: int, wire: _WireTable) -> None:
    if rows != wire.rows:
        raise FormatError(f"table {name!r} has {rows} rows and claims {wire.rows}")


def _decode_inline(name: str, wire: _WireTable) -> Table:
    return Table(name, tuple(_decode_column(column, f"table {name!r}") for column in wire.columns or ()), wire.rows)


def _decode_column(wire: _WireColumn, where: str) -> Column:
    return values.from_json(wire.values, ColumnSpec(wire.name, wire.dtype, wire.unit, wire.role, wire.better), where)


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
