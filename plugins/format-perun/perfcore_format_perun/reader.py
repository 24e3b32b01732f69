"""The format `perun`: profiles of Perun as files, and whole instances of it. Perfcore reads them and writes none."""

from __future__ import annotations

import functools
import json
import operator
import re
import shlex
import stat
import sys
from array import array
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from perfcore import environment, files
from perfcore.errors import FormatError, PerfError
from perfcore.hookspecs import VersionedProfile
from perfcore.model import EMPTY, Header, Profile, Tool
from perfcore.model.record import replace
from perfcore.text import encodable, printable
from perfcore_format_perun import index as perun_index
from perfcore_format_perun.index import PerunEntry, PerunIndex
from perfcore_format_perun.rows import Resources, amount, records

_FIELDS = "resources|resource_type_map|global|snapshots|models|origin|header|machine|metadata|collector_info"
_BEGINNING = re.compile(rb'\s*\{\s*"(?:%s|postprocessors|stats)"\s*:' % _FIELDS.encode())
_TELLING = re.compile(rb'"(?:amount|uid|resource_type_map|collector_info|snapshots|cmd|subtype)"\s*:')
_HEX2, _HEX38 = re.compile(r"[0-9a-f]{2}"), re.compile(r"[0-9a-f]{38}")
# A text without an end is one, too: otherwise every quote in it would be tried as a beginning.
_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|-?Infinity|NaN', re.DOTALL)
_UNREADABLE = (msgspec.MsgspecError, RecursionError, UnicodeDecodeError)
# Where an instance may be: the folder itself, or one of these names in it.
_PLACES = ("", ".perun", ".perf")
# Rows that are Python objects at a time; the rest of a file stays bytes.
_BATCH = 4096
_FIELDS_ALIKE = 64
# Every field of any row is a column of all rows, so a table can be very much larger than its file.
_CELLS, _CELLS_A_BYTE = 1 << 20, 16
_RECORDS = ("models", "metadata", "stats")


class _Rows(msgspec.Struct):
    """`global` and each of `snapshots`."""

    resources: msgspec.Raw = msgspec.Raw(b"[]")
    time: Any = None
    models: Any = None


class _Wire(msgspec.Struct, rename={"global_": "global"}):
    header: dict[str, Any]
    collector_info: dict[str, Any]
    postprocessors: list[dict[str, Any]] = []
    origin: str | None = None
    machine: dict[str, Any] = {}
    resources: list[msgspec.Raw] | dict[str, dict[str, msgspec.Raw]] = []
    resource_type_map: dict[str, dict[str, Any]] = {}
    global_: _Rows | list[msgspec.Raw] | None = None
    snapshots: list[_Rows] | None = None
    models: Any = None
    metadata: Any = None
    stats: Any = None


_DECODER = msgspec.json.Decoder(_Wire)
_LIST = msgspec.json.Decoder(list[msgspec.Raw])
_ROW = msgspec.json.Decoder(dict[str, Any])
_ROWS = msgspec.json.Decoder(list[dict[str, Any]])
_VALUES = msgspec.json.Decoder(list[Any])
_INTEGERS = msgspec.json.Decoder(list[int])


class PerunFormat:
    """Every form in which Perun wrote resources: `global`, `snapshots`, and `resources` as a list or by type."""

    contract = "perfcore_format_perun.contract:PerunContract"

    def sniff(self, head: bytes, name: str) -> bool:
        return bool(_BEGINNING.match(head) and _TELLING.search(head))

    def read(self, path: Path) -> Profile:
        content = files.read(path, sys.maxsize)
        return decode(content.data, created=content.stamp[-1], where=printable(str(path)))

    def read_all(self, path: Path) -> Iterator[VersionedProfile | FormatError]:
        """The profile of a file; of a directory, all those of the instance in it."""
        return read_instance(path) if path.is_dir() else iter([VersionedProfile(self.read(path))])


def read_instance(folder: Path) -> Iterator[VersionedProfile | FormatError]:
    """Every profile of the instance in this folder: those of its indexes, then the pending ones. For each that
    cannot be read there is an error that says why; the others are read all the same."""
    root = next((folder / directory for directory in _PLACES if (folder / directory / "objects").is_dir()), None)
    if root is None:
        raise FormatError(f"{printable(str(folder))} is no instance of Perun", hint="name its folder `.perun`")
    indexes, junk = _scan(root / "objects")
    for version, index in indexes.items():
        yield from _registered(root, version, index)
    named = {entry.profile for index in indexes.values() for entry in index.entries}
    yield from (error for id, error in junk.items() if id not in named)
    for path in sorted((root / "jobs").glob("*.perf")):
        try:
            profile = PerunFormat().read(path)
            yield VersionedProfile(profile, profile.origin, path.name)
        except PerfError as error:
            yield _format_error(error)


def decode(data: bytes, *, created: int, where: str) -> Profile:
    """The profile in this JSON. FormatError, opened by `where`, for anything that is none."""
    try:
        wire = _parse(data)
        most = _CELLS + _CELLS_A_BYTE * len(data)
        resources = Resources(_units(wire.header), _renamed(wire.collector_info), most)
        _add_all(wire, resources)
        return _profile(wire, resources, created, most)
    except _UNREADABLE as error:
        raise FormatError(f"{where} is not a profile of Perun: {printable(str(error))}") from error
    except FormatError as error:
        raise FormatError(f"{where}: {printable(error.message)}", hint=error.hint) from error


def _parse(data: bytes) -> _Wire:
    try:
        return _DECODER.decode(data)
    except _UNREADABLE:
        # Only where strict JSON failed: the pass over the whole text takes longer than decoding it.
        return _DECODER.decode(_TOKEN.sub(_tamed, data))


def _tamed(match: re.Match[bytes]) -> bytes:
    """What Python writes as JSON although it is none: numbers that are not finite, and halves of characters."""
    token = match[0]
    if token[:1] != b'"':
        return {b"NaN": b'"nan"', b"Infinity": b'"inf"'}.get(token, b'"-inf"')
    if b"\\ud" not in token:
        return token
    try:
        return json.dumps(encodable(json.loads(token))).encode()
    except ValueError:
        return token


def _add_all(wire: _Wire, resources: Resources) -> None:
    if isinstance(wire.global_, _Rows):
        _add_rows(_LIST.decode(wire.global_.resources), resources, {"time": wire.global_.time})
    elif wire.global_ is not None:
        _add_rows(wire.global_, resources)
    for index, snapshot in enumerate(wire.snapshots or ()):
        resources.note_time(index, snapshot.time)
        _add_rows(_LIST.decode(snapshot.resources), resources, {"snapshot": index})
    if isinstance(wire.resources, dict):
        _add_blocks(wire.resources, wire.resource_type_map, resources)
    else:
        _add_rows(wire.resources, resources)


def _add_rows(rows: list[msgspec.Raw], resources: Resources, around: Mapping[str, Any] = EMPTY) -> None:
    for start in range(0, len(rows), _BATCH):
        batch = b"[%s]" % b",".join(rows[start : start + _BATCH])
        columns = _columns(rows[start], batch)
        if columns is None:
            resources.add_rows([{**around, **row} for row in _ROWS.decode(batch)])
        else:
            count = len(next(iter(columns.values())))
            resources.add_columns({**{name: [value] * count for name, value in around.items()}, **columns}, count)


def _columns(first: msgspec.Raw, batch: bytes) -> dict[str, list[Any]] | None:
    """The columns of a batch of rows that all have the fields of the first one and no others; None of other rows."""
    names = tuple(_ROW.decode(first))
    try:
        decoded = _alike(names).decode(batch) if 0 < len(names) <= _FIELDS_ALIKE else None
    except (msgspec.ValidationError, ValueError):  # a name with an escape is none of a field
        return None
    if decoded is None:
        return None
    return {name: list(map(operator.attrgetter(f"field{i}"), decoded)) for i, name in enumerate(names)}


@functools.lru_cache(maxsize=16)
def _alike(names: tuple[str, ...]) -> msgspec.json.Decoder[list[Any]]:
    """Reads rows of these fields, several times as quick as dictionaries."""
    fields = {f"field{i}": name for i, name in enumerate(names)}
    row = msgspec.defstruct(
        "Row", [(field, Any) for field in fields], rename=fields, forbid_unknown_fields=True, gc=False
    )
    return msgspec.json.Decoder(list[row])  # type: ignore[valid-type]


def _add_blocks(
    blocks: Mapping[str, Mapping[str, msgspec.Raw]], types: Mapping[str, dict[str, Any]], resources: Resources
) -> None:
    for name, columns in blocks.items():
        shared = types.get(name)
        if shared is None:
            raise FormatError(f"resource_type_map does not say what {name!r} is")
        resources.add_block(shared, {key: _values(values) for key, values in columns.items()})


def _values(said: msgspec.Raw) -> Sequence[Any]:
    """The values of a column; a buffer where all of them are integers of 64 bits."""
    try:
        return array("q", _INTEGERS.decode(said))
    except (msgspec.MsgspecError, OverflowError):
        return _VALUES.decode(said)


def _profile(wire: _Wire, resources: Resources, created: int, most: int) -> Profile:
    header = _header(wire.header)
    collector = _tool(wire.collector_info)
    postprocessors = tuple(_tool(tool) for tool in wire.postprocessors)
    machine = _machine(wire.machine)
    models = wire.models or (wire.global_.models if isinstance(wire.global_, _Rows) else None)
    further = {
        name: records(name, rows, most)
        for name, rows in zip(_RECORDS, (models, wire.metadata, wire.stats), strict=True)
    }
    return Profile(
        header=header,
        created=created,
        collector=collector,
        postprocessors=postprocessors,
        machine=machine,
        config_id=_config_id(header, collector, postprocessors),
        environment_id=environment.environment_id(machine) if machine else "",
        origin=wire.origin,
        tables=resources.tables() | {name: table for name, table in further.items() if table is not None},
    )


def _header(said: Mapping[str, Any]) -> Header:
    cmd, args, workload = (_text(said.get(name)) for name in ("cmd", "args", "workload"))
    type = re.sub(r"[^a-z0-9.-]", "-", _text(said.get("type")).lower()).lstrip(".-")[:200]
    if not type:
        raise FormatError("the header does not say of what type it is")
    label = _text(said.get("label"))
    return Header(
        type=type,
        argv=_split(" ".join(text for text in (cmd, args, workload) if text)),
        cmd=cmd,
        args=args,
        workload=workload,
        units=_units(said),
        exitcode=_exitcode(said.get("exitcode")),
        tags=(label,) if label else (),
    )


def _split(command: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(command))
    except ValueError:
        return tuple(command.split())


def _exitcode(said: Any) -> int | None:
    codes = [code for code in (said if isinstance(said, list) else [said]) if type(code) is int and abs(code) < 2**31]
    return max(codes, key=abs, default=None)


def _units(header: Mapping[str, Any]) -> dict[str, str]:
    units = header.get("units")
    return {key: _text(unit) for key, unit in units.items()} if isinstance(units, dict) else {}


def _renamed(collector: Mapping[str, Any]) -> dict[str, str]:
    """The collector of times numbered its repetitions in `order`."""
    return {"order": "run"} if collector.get("name") == "time" else {}


def _tool(said: Mapping[str, Any]) -> Tool:
    params = said.get("params")
    return Tool(name=_text(said.get("name")), params=params if isinstance(params, dict) else {})


def _machine(said: Mapping[str, Any]) -> dict[str, Any]:
    """Perun's facts under the names they have here, and as they were."""
    if not said:
        return {}
    named = {"system": "system", "release": "release", "host": "host", "arch": "architecture"}
    facts = {ours: said[theirs] for ours, theirs in named.items() if isinstance(said.get(theirs), str)}
    cpu, memory = said.get("cpu"), said.get("memory")
    if isinstance(cpu, dict) and type(cpu.get("total")) is int:
        facts["cpus"] = cpu["total"]
    gib = _gib(memory.get("total_ram") if isinstance(memory, dict) else None)
    return facts | ({} if gib is None else {"memory_gib": gib}) | {"perun": dict(said)}


def _gib(said: Any) -> int | None:
    try:
        gibibytes = amount(said)
    except FormatError:
        return None
    return round(gibibytes[0]) if gibibytes and gibibytes[1] == "GiB" else None


def _config_id(header: Header, collector: Tool, postprocessors: tuple[Tool, ...]) -> str:
    """What Perun itself compared profiles by."""
    tools = [collector.name, *(tool.name for tool in postprocessors)]
    return environment.config_id({"perun": [header.cmd, header.args, header.workload, *tools]})


def _text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else json.dumps(value)


def _stored(objects: Path) -> Iterator[Path]:
    """Files that are called as objects and indexes are, sorted."""
    for folder in sorted(path for path in objects.iterdir() if _HEX2.fullmatch(path.name) and path.is_dir()):
        yield from sorted(path for path in folder.iterdir() if _HEX38.fullmatch(path.name))


def _start(path: Path) -> bytes:
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise FormatError(f"{printable(str(path))} is no regular file")
        with path.open("rb") as file:
            return file.read(4)
    except OSError as error:
        raise FormatError(f"cannot read {printable(str(path))}: {error.strerror}") from error


def _scan(objects: Path) -> tuple[dict[str, PerunIndex], dict[str, FormatError]]:
    """(the indexes by their versions, what is wrong with files that are neither an index nor an object)."""
    indexes, junk = {}, {}
    for path in _stored(objects):
        id, printable_path = path.parent.name + path.name, printable(str(path))
        try:
            start = _start(path)
            if perun_index.is_index(start):
                indexes[id] = perun_index.decode_index(files.read(path, perun_index.MAX_BYTES).data, printable_path)
            elif not perun_index.is_object(start):
                raise FormatError(f"{printable_path} is neither an index nor an object")
        except PerfError as error:
            junk[id] = _format_error(error)
    return indexes, junk


def _registered(root: Path, version: str, index: PerunIndex) -> Iterator[VersionedProfile | FormatError]:
    for entry in index.entries:
        try:
            yield VersionedProfile(_load(root, entry), version, entry.path, registered=True)
        except PerfError as error:
            yield FormatError(f"{printable(entry.path)} of {version[:10]}: {error.message}", hint=error.hint)
    if index.damage:
        yield FormatError(index.damage)


def _load(root: Path, entry: PerunEntry) -> Profile:
    path = root / "objects" / entry.profile[:2] / entry.profile[2:]
    printable_path = printable(str(path))
    body = perun_index.decode_object(files.read(path, perun_index.MAX_BYTES).data, entry.profile, printable_path)
    profile = decode(body, created=entry.created, where=printable_path)
    return replace(profile, origin=None, notes=(f"Perun called it {entry.path}",))


def _format_error(error: PerfError) -> FormatError:
    return error if isinstance(error, FormatError) else FormatError(error.message, hint=error.hint)
