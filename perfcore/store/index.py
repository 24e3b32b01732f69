"""The index of a minor version: which profiles it has, with everything that a listing shows.

`merge` joins two indexes: entry by entry, a tombstone wins. It is commutative, associative and idempotent, so
stores can be shared by copying objects and merging indexes in any order.
"""

from __future__ import annotations

import operator
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from perfcore.digests import sha1
from perfcore.errors import FormatError
from perfcore.model import Entry, usable_tags
from perfcore.named_tuple import NamedTuple
from perfcore.store.objects import ID, MAX_BYTES
from perfcore.text import encodable

MAGIC = b"pidx"
UPGRADE = "upgrade perfcore"  # the hint where a newer one wrote what cannot be read
VERSIONS = (1, 3, 4)  # of the format that are read: that of Perun, and our own, of which the last is written
_HEAD = struct.Struct("<4sII")
_V1 = struct.Struct("<I20s")
_ENTRY = struct.Struct("<Bq20sI")
_LENGTH = struct.Struct("<I")
_TOMBSTONE = 1
_CHECKSUM = 20  # bytes of a SHA-1
_profile = operator.attrgetter("profile")  # a comparison of thousands without a step of Python for each
_NANO = 1_000_000_000  # version 1 keeps seconds, later ones nanoseconds
_Description = tuple[str, str, str, str, str, tuple[str, ...], tuple[str, ...], str, str]  # many profiles share it
_description: Callable[[Entry], _Description] = operator.attrgetter(
    "type", "cmd", "args", "workload", "collector", "postprocessors", "tags", "config_id", "environment_id"
)


# All fields, or merging would not commute for entries that differ only in one that is left out.
def _order(entry: Entry) -> tuple[int, Entry]:
    return entry.created, entry


class Index(NamedTuple):
    """Entries sorted by (created, profile), tombstones included."""

    vcs: str
    version: str
    entries: tuple[Entry, ...] = ()

    @property
    def live(self) -> tuple[Entry, ...]:
        return tuple(entry for entry in self.entries if not entry.tombstone)


def key_name(vcs: str, version: str) -> str:
    """The 40 hex digits under which the index of a version is kept."""
    if ID.fullmatch(version):
        return version
    return sha1(encodable(f"{vcs}\0{version}").encode()).hexdigest()


def merge(a: Index, b: Index) -> Index:
    """Every entry of both; one that is a tombstone in either is one. FormatError for two versions' indexes."""
    vcs, version = a.vcs or b.vcs, a.version or b.version
    if (b.vcs or vcs, b.version or version) != (vcs, version):
        raise FormatError(f"the indexes of {a.version} and {b.version} cannot be one: they are of two versions")
    return Index(vcs=vcs, version=version, entries=_joined((*a.entries, *b.entries)))


def add(index: Index, entry: Entry) -> Index:
    return index._replace(entries=_joined((*index.entries, storable(entry))))


def enter(index: Index, entries: Sequence[Entry]) -> tuple[Index, list[Entry], list[Entry]]:
    """(the index with these entries, what each is in it, those that are new). An entry whose profile is there already
    under its name stays as it is, and one that a tombstone would hide moves."""
    entries = [storable(entry) for entry in entries]
    profiles = {entry.profile for entry in entries}
    # Most profiles are in no index yet: only those that are need the comparison with what is there of them.
    there = () if profiles.isdisjoint(map(_profile, index.entries)) else index.entries
    related = index._replace(entries=tuple(e for e in there if e.profile in profiles))
    placed: list[Entry] = []
    new: list[Entry] = []
    for entry in entries:
        existing = current(related, entry) if related.entries else None
        placed.append(existing or (unburied(entry, related) if related.entries else entry))
        if existing is None:
            new.append(placed[-1])
            if len(profiles) < len(entries):  # the next one may be the same again
                related = add(related, placed[-1])
    new.sort(key=_order)
    if new and index.entries and _order(new[0]) <= _order(index.entries[-1]):
        return index._replace(entries=_joined((*index.entries, *new))), placed, new
    return index._replace(entries=(*index.entries, *new)), placed, new


def bury(index: Index, entry: Entry) -> Index:
    """The index with the entry turned into a tombstone. One from version 1 of the format, which says less than
    the completed entry that people see, is known by what it does say."""
    entry = storable(entry)
    matches = [e for e in index.live if e == entry or (not e.type and _v1_identity(e) == _v1_identity(entry))]
    buried = [e._replace(tombstone=True) for e in matches or (entry,)]
    return index._replace(entries=_joined((*index.entries, *buried)))


def current(index: Index, entry: Entry) -> Entry | None:
    """What has become of an entry that was read earlier: itself, or the same profile with other tags; None where
    it was taken off."""
    entry = storable(entry)
    if any(e == entry or (not e.type and _v1_identity(e) == _v1_identity(entry)) for e in index.live):
        return entry
    return next((e for e in index.live if (e.profile, e.name) == (entry.profile, entry.name)), None)


def unburied(entry: Entry, index: Index) -> Entry:
    """The entry, moved by nanoseconds while a tombstone of just this entry would hide it."""
    entry = storable(entry)
    buried = {e._replace(tombstone=False) for e in index.entries if e.tombstone}
    while entry in buried:
        entry = entry._replace(created=entry.created + 1)  # a tombstone stays for good
    return entry


def storable(entry: Entry) -> Entry:
    """The entry as it is read back: text that is no Unicode is stored with escapes."""
    changed: dict[str, Any] = {}
    for name, value in entry._asdict().items():
        if isinstance(value, str):
            changed[name] = encodable(value)
        elif isinstance(value, tuple):
            changed[name] = tuple(map(encodable, value))
    return entry._replace(**changed)


class Encoded(NamedTuple):
    """An index, its bytes, and the numbers of the descriptions in them."""

    decoded: Index
    data: bytes
    numbers: dict[_Description, int]


def encode(index: Index) -> bytes:
    """The index as bytes."""
    return encode_after(None, index).data


def encode_after(earlier: Encoded | None, index: Index) -> Encoded:
    """The index as bytes, quickly where it has the entries of an earlier one and then others."""
    start = 0 if earlier is None else len(earlier.decoded.entries)
    if earlier is None or index[:2] != earlier.decoded[:2] or index.entries[:start] != earlier.decoded.entries:
        start, numbers, before = 0, {}, memoryview(_text(index.vcs) + _text(index.version))
    else:
        numbers, before = dict(earlier.numbers), memoryview(earlier.data)[_HEAD.size : -_CHECKSUM]
    parts: list[bytes | memoryview] = [_HEAD.pack(MAGIC, VERSIONS[-1], len(index.entries)), before]
    parts += [_encode_entry(entry, numbers) for entry in index.entries[start:]]
    return Encoded(index, b"".join((*parts, sha1(*parts).digest())), numbers)


def decode(data: bytes, *, where: str, vcs: str = "", version: str = "", key: str = "", ruled: bool = True) -> Index:
    """The index in these bytes: their checksum first, then their id where `key` names one. `vcs` and `version`
    fill in what version 1 does not say. Tags that `perf tag` would not give are left out, unless `ruled` is off."""
    if not is_index(data):
        raise FormatError(f"{where} is not an index")
    payload, checksum = data[:-_CHECKSUM], data[-_CHECKSUM:]
    if len(payload) < _HEAD.size or sha1(payload).digest() != checksum:
        raise FormatError(f"{where} is damaged: its checksum does not fit")
    _, format_version, count = _HEAD.unpack_from(payload)
    if format_version not in VERSIONS:
        hint = UPGRADE if format_version > max(VERSIONS) else "if another tool made it: perf import FORMAT DIR"
        raise FormatError(f"{where} is an index of version {format_version}", hint=hint)
    reader = _Reader(payload, _HEAD.size, where)
    if format_version == 1:
        entries = [_decode_v1(reader) for _ in range(count)]
    else:
        vcs, version = reader.text(), reader.text()
        descriptions: list[tuple[_Description, int]] = []
        entries = [_decode_entry(reader, descriptions, numbered=format_version > 3) for _ in range(count)]
    if reader.offset != len(payload):
        raise FormatError(f"{where} is damaged: it holds more than its {count} entries")
    if key and version and key_name(vcs, version) != key:
        raise FormatError(f"{where} belongs to another version, {version}")
    return Index(vcs=vcs, version=version, entries=_joined(_ruled(entries) if ruled else entries))


def _ruled(entries: Sequence[Entry]) -> Iterator[Entry]:
    """The entries with tags alone that `perf tag` would give: whatever an index says that was pulled or copied."""
    for entry in entries:
        if (tags := entry.tags and usable_tags(entry.tags)) == entry.tags:
            yield entry
        # A tombstone that lost its bad tag would hide the entry that took its place.
        elif not entry.tombstone or entry._replace(tags=tags, tombstone=False) not in entries:
            yield entry._replace(tags=tags)


def is_index(data: bytes) -> bool:
    return data[:4] == MAGIC


def _joined(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    unique: dict[Entry, Entry] = {}
    for entry in entries:
        key = entry._replace(tombstone=False) if entry.tombstone else entry
        if key not in unique or entry.tombstone:
            unique[key] = entry
    return tuple(sorted(unique.values(), key=_order))


def _v1_identity(entry: Entry) -> tuple[object, ...]:
    return (entry.profile, entry.created // _NANO, entry.name)


def _text(value: str) -> bytes:
    data = encodable(value).encode()
    return _LENGTH.pack(len(data)) + data


def _texts(values: tuple[str, ...]) -> bytes:
    return _LENGTH.pack(len(values)) + b"".join(map(_text, values))


def _encode_entry(entry: Entry, numbers: dict[_Description, int]) -> bytes:
    flags = _TOMBSTONE if entry.tombstone else 0
    head = _ENTRY.pack(flags, entry.created, bytes.fromhex(entry.profile), len(entry.tables))
    tables = b"".join(bytes.fromhex(id) for id in entry.tables)
    description = _description(entry)
    new = len(numbers)
    number = numbers.setdefault(description, new)
    fields = (_text(field) if isinstance(field, str) else _texts(field) for field in description)
    return head + tables + _text(entry.name) + _LENGTH.pack(number) + (b"".join(fields) if number == new else b"")


def _decode_v1(reader: _Reader) -> Entry:
    seconds, profile = _V1.unpack(reader.take(_V1.size))
    name = reader.until_nul()
    return Entry(profile=profile.hex(), created=seconds * _NANO, name=name, type="")


def _decode_entry(reader: _Reader, descriptions: list[tuple[_Description, int]], *, numbered: bool) -> Entry:
    """An entry with its description, or, where they are `numbered`, with its number and what has a new one. The
    `descriptions` so far come with their bytes."""
    flags, created, profile, count = _ENTRY.unpack(reader.take(_ENTRY.size))
    if flags & ~_TOMBSTONE:  # a later version may mean anything by it
        raise FormatError(f"{reader.where} has an entry of a kind this perfcore does not know", hint=UPGRADE)
    blob = reader.take(20 * count)
    tables = tuple(blob[i : i + 20].hex() for i in range(0, len(blob), 20))
    name = reader.text()
    number = reader.number() if numbered else len(descriptions)
    if number == len(descriptions):
        start = reader.offset
        descriptions.append((reader.description(), reader.offset - start))
    elif number > len(descriptions):
        raise FormatError(f"{reader.where} is damaged: the description of an entry is missing")
    description, size = descriptions[number]
    reader.described += size
    if reader.described > MAX_BYTES:
        raise FormatError(f"{reader.where} is damaged: its descriptions are longer than {MAX_BYTES:,} bytes")
    type, tombstone = description[0], bool(flags & _TOMBSTONE)
    return Entry(profile.hex(), created, name, type, tables, *description[1:], tombstone)


class _Reader:
    """Takes fields off bytes, one after the other, and never past their end."""

    def __init__(self, data: bytes, offset: int, where: str) -> None:
        self.data = data
        self.offset = offset
        self.where = where
        self.described = 0  # bytes of descriptions, as often as entries have them

    def take(self, size: int) -> bytes:
        end = self.offset + size
        if end > len(self.data):
            raise FormatError(f"{self.where} is damaged: an entry is cut short")
        field = self.data[self.offset : end]
        self.offset = end
        return field

    def number(self) -> int:
        return int.from_bytes(self.take(_LENGTH.size), "little")

    def text(self) -> str:
        return self._decoded(self.take(self.number()))

    def description(self) -> _Description:
        words = self.text(), self.text(), self.text(), self.text(), self.text()
        return *words, self.texts(), self.texts(), self.text(), self.text()

    def texts(self) -> tuple[str, ...]:
        count = self.number()
        if count > len(self.data):  # each text takes 4 bytes: a wrong count must not keep the loop going
            raise FormatError(f"{self.where} is damaged: a list is longer than the file")
        return tuple(self.text() for _ in range(count))

    def until_nul(self) -> str:
        end = self.data.find(b"\0", self.offset)
        if end < 0:
            raise FormatError(f"{self.where} is damaged: a name does not end")
        text = self._decoded(self.take(end - self.offset))
        self.offset += 1
        return text

    def _decoded(self, data: bytes) -> str:
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            raise FormatError(f"{self.where} is damaged: a name is not UTF-8") from error
