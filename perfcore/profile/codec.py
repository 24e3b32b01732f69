"""Profiles as JSON: small tables inline, large ones as lists of table objects."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from perfcore import files
from perfcore.errors import FormatError, NotFoundError
from perfcore.model import PROFILE_FORMAT, Header, Profile
from perfcore.model.record import replace
from perfcore.profile import wire
from perfcore.profile.table import Column, ColumnSpec, Table

if TYPE_CHECKING:
    from perfcore.profile import pieces
    from perfcore.profile.stack_dedup import Chain, Split

INLINE_CELLS = 4096  # up to which a table stands in the JSON: a file of its own takes a block of the disk
MAX_CELLS = 1 << 27  # of all tables, 1 GiB at 8 bytes: pieces that repeat one value take no room, and then very much

PutPiece = Callable[[str, bytes], str]
GetPiece = Callable[[str], bytes]
Earlier = Callable[[], Mapping[str, "Chain"]]


class LazyTables(Mapping[str, Table]):
    """The tables of a profile, each decoded when it is looked at. Of shared stacks only its own are seen."""

    def __init__(self, document: Mapping[str, wire.WireTable], get: GetPiece) -> None:
        self._documents = document
        self._get = get
        self._ready: dict[str, Table] = {}
        self._stored: dict[str, Table] = {}
        self._left = MAX_CELLS  # what the tables to come may have

    def __getitem__(self, name: str) -> Table:
        if name not in self._ready:
            table = self.stored(name)
            self._ready |= self._renumbered(name, table) or {name: table}
        return self._ready[name]

    def _renumbered(self, name: str, table: Table) -> Mapping[str, Table]:
        """All tables, where this one belongs to shared stacks; otherwise none."""
        if not self._are_shared():
            return {}
        from perfcore.profile import stacks

        if name not in stacks.NAMES and not stacks.referring(table):
            return {}
        tables = stacks.renumbered({table_name: self.stored(table_name) for table_name in self})
        self._stored.clear()  # all tables are ready now
        return tables

    def __contains__(self, name: object) -> bool:
        return name in self._documents

    def __iter__(self) -> Iterator[str]:
        return iter(self._documents)

    def __len__(self) -> int:
        return len(self._documents)

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        """Pickled decoded: the reader of pieces belongs to this process."""
        return dict, ({name: self[name] for name in self},)

    def stored(self, name: str) -> Table:
        """The table as it is stored, of shared stacks with those of other profiles, until it is looked at."""
        if name in self._ready:
            return self._ready[name]
        if name not in self._stored:
            table = _decode_table(name, self._documents[name], self._get, self._left)
            self._left -= wire.cells(table.rows, len(table.columns))
            self._stored[name] = table
        return self._stored[name]

    def rows(self, name: str) -> int:
        """How many rows a table has, as the profile says."""
        return self._documents[name].rows

    def parts(self, name: str) -> Iterator[Table]:
        """The table in parts that follow one another, each decoded when it is asked for; in one, where it is here
        already or shares its stacks."""
        document = self._documents[name]
        if name in self._ready or not document.pieces or document.beside or self._are_shared():
            yield self[name]
            return
        from perfcore.profile import pieces

        title, rows, before = f"table {name!r}", 0, ""
        for id in document.pieces:
            piece, base = pieces.decode(self._get(id), f"{title}, object {id}")
            if base is not None and (base.rows, base.id) != (rows, before):
                raise FormatError(f"{title}: piece {id} continues another table")
            rows, before = rows + piece.rows, id
            yield replace(piece, name=name)

    def check(self) -> None:
        """Read every table, of those in pieces one after the other and nothing is kept. FormatError or NotFoundError
        for the first that is damaged or missing."""
        budget = MAX_CELLS
        for name, table in self._documents.items():
            if table.pieces is None or table.beside or self._are_shared():
                budget -= wire.cells(self[name].rows, len(self[name].columns))
            else:
                outline = _outline(name, table, self._get, budget)
                budget -= wire.cells(outline.rows, len(outline.specs))

    def _are_shared(self) -> bool:
        return any(table.shared for table in self._documents.values())


def encode(
    profile: Profile, put: PutPiece, *, inline: int = INLINE_CELLS, earlier: Earlier = dict, sealed: bool = False
) -> tuple[bytes, tuple[str, ...]]:
    """(JSON, ids of its table pieces). `put(table name, piece)` stores a piece and gives its id; tables of at
    most `inline` cells stand in the JSON. Large stacks continue the `chains` that `earlier()` gives. What is
    `sealed` ends with a checksum."""
    document = wire.WireProfile(
        format=PROFILE_FORMAT,
        seal=files.SEAL if sealed else "",
        header=wire.of_header(profile.header),
        created=profile.created,
        collector_info=wire.of_tool(profile.collector),
        origin=profile.origin,
        dirty=profile.dirty,
        incomplete=profile.incomplete,
        postprocessors=[wire.of_tool(tool) for tool in profile.postprocessors],
        machine=dict(profile.machine),
        config_id=profile.config_id,
        environment_id=profile.environment_id,
        sources=list(profile.sources),
        notes=list(profile.notes),
        tables=_encode_tables(profile.tables, put, inline, earlier),
    )
    data = wire.to_json(document)
    return files.seal(data) if sealed else data, wire.piece_ids(document)


def decode(data: bytes, get: GetPiece, *, where: str) -> Profile:
    """The profile in this JSON; `get(id)` gives the content of a table piece when a table is looked at."""
    document = wire.parse(data, where)
    header = document.header
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
        created=document.created,
        collector=wire.to_tool(document.collector_info),
        postprocessors=tuple(wire.to_tool(tool) for tool in document.postprocessors),
        machine=document.machine,
        config_id=document.config_id,
        environment_id=document.environment_id,
        sources=tuple(document.sources),
        origin=document.origin,
        dirty=document.dirty,
        incomplete=document.incomplete,
        notes=tuple(document.notes),
        tables=LazyTables(document.tables, get),
    )


def for_object(data: bytes, put: PutPiece, *, where: str, earlier: Earlier = dict) -> tuple[bytes, tuple[str, ...]]:
    """(JSON as it is registered, ids of its table pieces) of a pending profile: origin and seal are dropped, large
    tables that stand inline are put into pieces."""
    document = wire.parse(data, where)
    document.origin, document.seal, document.sha1 = None, "", ""
    inline = {name: _decode_inline(name, table) for name, table in document.tables.items() if table.columns is not None}
    if any(_is_large(table, INLINE_CELLS) for table in inline.values()):
        document.tables |= _encode_tables(inline, put, INLINE_CELLS, earlier)
    return wire.to_json(document), wire.piece_ids(document)


def shared_pieces(data: bytes, where: str) -> dict[str, list[str]]:
    """The ids of the pieces that hold the stacks of a stored profile; empty where it shares none."""
    shared = {name: table.pieces or [] for name, table in wire.parse(data, where).tables.items() if table.shared}
    if not shared:
        return {}
    from perfcore.profile.stacks import NAMES

    return {name: shared[name] for name in NAMES if name in shared}


def chains(ids: Mapping[str, Sequence[str]], get: GetPiece) -> dict[str, Chain]:
    """These pieces for another profile to continue; empty where some are missing or damaged."""
    from perfcore.profile import stacks
    from perfcore.profile.stack_dedup import Chain

    if not all(ids.get(name) for name in stacks.NAMES):
        return {}
    chains_by_name = {}
    with contextlib.suppress(NotFoundError, FormatError):
        for name in stacks.NAMES:
            raw = {id: get(id) for id in ids[name]}
            chains_by_name[name] = Chain(tuple(raw.values()), _join(name, list(raw), raw.__getitem__, MAX_CELLS))
        return chains_by_name
    return {}


def verify(profile: Profile) -> None:
    """Read every table of a profile; FormatError or NotFoundError for the first that is damaged or missing, and for
    call stacks that cannot be followed."""
    from perfcore.profile import stacks

    tables = profile.tables
    if not isinstance(tables, LazyTables):
        stacks.verify({name: tables[name] for name in tables})
    elif stacks.has_stacks(tables):
        stacks.verify({name: tables.stored(name) for name in tables})
    else:
        tables.check()


def piece_ids(data: bytes, where: str) -> tuple[str, ...]:
    """The ids of the table pieces that a profile refers to."""
    return wire.piece_ids(wire.parse(data, where))


def _encode_tables(
    tables: Mapping[str, Table], put: PutPiece, inline: int, earlier: Earlier
) -> dict[str, wire.WireTable]:
    encoded: dict[str, wire.WireTable] = {}
    if "stacks" in tables and _is_large(tables["stacks"], inline):
        from perfcore.profile.stack_dedup import split
        from perfcore.profile.stacks import NAMES

        if shared := split(tables, earlier()):
            encoded = {name: _encode_shared(name, shared, put) for name in NAMES}
            tables = shared.others
    encoded |= {name: _encode_table(name, tables[name], put, inline) for name in tables}
    return dict(sorted(encoded.items()))


def _encode_table(name: str, table: Table, put: PutPiece, inline: int) -> wire.WireTable:
    if not _is_large(table, inline):
        return wire.WireTable(table.rows, columns=[_encode_column(column) for column in table.columns])
    return wire.WireTable(table.rows, pieces=_put_pieces(name, table, put))


def _is_large(table: Table, inline: int) -> bool:
    return table.rows * len(table.columns) > inline


def _encode_shared(name: str, split: Split, put: PutPiece) -> wire.WireTable:
    from perfcore.profile import pieces

    chain = split.earlier.get(name)
    ids = [put(name, piece) for piece in chain.pieces] if chain else []
    rows = chain.table.rows if chain else 0
    ids += _put_pieces(name, split.new_rows[name], put, pieces.Base(ids[-1], rows) if ids else None)
    local = split.local.get(name)
    return wire.WireTable(
        rows + split.new_rows[name].rows,
        pieces=ids,
        beside=_put_pieces(name, local, put) if local and local.columns else [],
        shared=True,
    )


def _put_pieces(name: str, table: Table, put: PutPiece, base: pieces.Base | None = None) -> list[str]:
    """The ids of the table's pieces, the first of which continues `base`."""
    from perfcore.profile import pieces

    ids = []
    for piece in pieces.split(replace(table, name=name)):
        ids.append(put(name, pieces.encode(piece, base)))
        base = None  # the other pieces follow one another in the list
    return ids


def _encode_column(column: Column) -> wire.WireColumn:
    spec, data = column.spec, msgspec.Raw(wire.column_to_json(column))
    return wire.WireColumn(spec.name, spec.dtype, data, spec.unit, spec.role, spec.better, spec.exact)


def _decode_table(name: str, document: wire.WireTable, get: GetPiece, most: int) -> Table:
    if document.pieces is None:
        return _decode_inline(name, document)
    table = _join(name, document.pieces, get, most)
    local = _join(name, document.beside, get, most) if document.beside else Table(name, (), document.rows)
    for source in (table, local):
        _refuse_other_rows(name, source.rows, document)
    return Table(name, (*table.columns, *local.columns), document.rows)


def _join(name: str, ids: Sequence[str], get: GetPiece, most: int) -> Table:
    from perfcore.profile import pieces

    title = f"table {name!r}"
    parts = []
    for id in ids:
        piece, base = pieces.decode(get(id), f"{title}, object {id}", most=most)
        most -= wire.cells(piece.rows, len(piece.columns))
        parts.append((id, piece, base))
    return replace(pieces.join(parts, title), name=name) if parts else Table(name, (), 0)


def _outline(name: str, document: wire.WireTable, get: GetPiece, most: int) -> pieces.Outline:
    """What the table in pieces holds, of which only one is in memory at a time."""
    from perfcore.profile import pieces

    title = f"table {name!r}"
    parts = []
    for id in document.pieces or ():
        piece = pieces.outline(get(id), f"{title}, object {id}", most=most)
        most -= wire.cells(piece.rows, len(piece.specs))
        parts.append((id, piece))
    outline = pieces.join_outlines(parts, title) if parts else pieces.Outline(0, ())
    _refuse_other_rows(name, outline.rows, document)
    return outline


def _refuse_other_rows(name: str, rows: int, document: wire.WireTable) -> None:
    if rows != document.rows:
        raise FormatError(f"table {name!r} has {rows} rows and claims {document.rows}")


def _decode_inline(name: str, document: wire.WireTable) -> Table:
    return Table(
        name, tuple(_decode_column(column, f"table {name!r}") for column in document.columns or ()), document.rows
    )


def _decode_column(column: wire.WireColumn, where: str) -> Column:
    spec = ColumnSpec(column.name, column.dtype, column.unit, column.role, column.better, column.exact)
    return wire.column_of_json(column.values, spec, where)
