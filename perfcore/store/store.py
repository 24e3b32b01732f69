"""A store: objects and indexes over any storage. Safe for many writers, and for one that is killed anywhere."""

from __future__ import annotations

import contextlib
import functools
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from perfcore.errors import (
    ConflictError,
    FormatError,
    KeyExistsError,
    KeyMissingError,
    NotFoundError,
    PerfError,
    StorageError,
)
from perfcore.named_tuple import NamedTuple
from perfcore.store import index as indexes
from perfcore.store import objects
from perfcore.store.index import Index

if TYPE_CHECKING:
    from pathlib import Path

    from perfcore.hookspecs import Listed, Storage
    from perfcore.model import Entry, Profile
    from perfcore.profile import codec
    from perfcore.store.read_model import ReadModel
    from perfcore.store.stack_base import StackBases

_ReadMany = Callable[[Iterable[str]], Iterable[tuple[str, bytes]]]
OBJECTS = "objects/"
NOTE_LIST = b"nidx"  # the beginning of a list of notes (`perfcore.store.notes`)
_KEY = r"objects/[0-9a-f]{2}/[0-9a-f]{38}"
_TRIES = 1000  # writers that were faster, before a livelock is reported
_RESTORES = 20  # collections of garbage within one registration; a loop of them is an error
_BATCH = 4096  # keys: as many as a storage is asked for at once, so that an error costs no more than these again
_LARGE = 1 << 16  # bytes: what is smaller is read as quickly as its beginning
_SLACK = 1 << 20  # bytes by which zlib may lengthen an object (by 0.03 %: 80 kB of 256 MiB), and a header
_LOST_INDEX = "bring the file back from a copy; or move it away: then the version has no profiles, and can get new ones"


def object_key(id: str) -> str:
    return f"{OBJECTS}{id[:2]}/{id[2:]}"


def is_object_key(key: str) -> bool:
    """Whether objects, indexes and lists of notes are called so; anything else is somebody else's."""
    return re.fullmatch(_KEY, key) is not None


def hidden_key(key: str) -> str | None:
    """The key of an object whose place a folder has taken that holds this key."""
    hidden = "/".join(key.split("/")[:3])
    return hidden if hidden != key and is_object_key(hidden) else None


def key_id(key: str) -> str:
    """The id in a key of an object."""
    return key.removeprefix(OBJECTS).replace("/", "")


def table_object(table: str, piece: bytes) -> objects.Object:
    """A piece of a table as it is kept. The type is the table's name as far as that is a word."""
    word = "".join(c if c.isascii() and (c.isalnum() or c in ".-") else "-" for c in table.lower()).lstrip(".-")
    return objects.Object("table", word[:60] or "table", piece)


class Registration(NamedTuple):
    """A profile to register: its JSON, its type and its entry in the index."""

    content: bytes
    type: str
    entry: Entry


class Store:
    """Objects by id and indexes by version. `storage` is the driver that holds the bytes, `derived` is the file of the
    read model, which keeps what was derived from them; None for nowhere. `is_version` tells the id of a version, under
    which no list of notes belongs. `nearest_stacks` looks elsewhere for stacks that a profile may continue."""

    def __init__(self, storage: Storage, derived: Path | None = None) -> None:
        self.storage = storage
        self._derived = derived
        self.nearest_stacks: Callable[[Profile], Mapping[str, Sequence[str]]] = lambda profile: {}
        self.is_version: Callable[[str], bool] = lambda id: False
        self._written: indexes.Encoded | None = None  # the index that was written last

    @functools.cached_property
    def read_model(self) -> ReadModel:
        from perfcore.store.read_model import ReadModel

        return ReadModel(self._derived)

    @functools.cached_property
    def stack_bases(self) -> StackBases:
        from perfcore.store.stack_base import StackBases

        return StackBases(self.read_model)

    def put(self, item: objects.Object) -> str:
        """Keep an object and give its id. One that is there already is made to look new, and mended if damaged."""
        id, data = objects.encode(item)
        self.put_stored(id, data)
        return id

    def put_stored(self, id: str, data: bytes) -> None:
        """The same for an object as it is stored."""
        while True:
            try:
                self.storage.create(object_key(id), data)
                return
            except KeyExistsError:
                if self._reuse(id, data):
                    return

    def get(self, id: str, kind: str | None = None) -> objects.Object:
        """NotFoundError where there is none, FormatError where it is damaged or of another kind."""
        return opened(id, self.read_stored(id), kind)

    def read_stored(self, id: str) -> bytes:
        """An object as it is stored, unverified. NotFoundError where there is none."""
        try:
            return self.storage.read(object_key(id)).data
        except KeyMissingError as error:
            raise NotFoundError(f"object {id} is not in the store", hint="`perf fsck` lists what is missing") from error

    def put_piece(self, table: str, piece: bytes) -> str:
        """Keep a piece of a table and give its id."""
        return self.put(table_object(table, piece))

    def get_piece(self, id: str) -> bytes:
        return self.get(id, "table").content

    def encode_profile(
        self, profile: Profile, earlier: codec.Earlier = dict, *, sealed: bool = False
    ) -> tuple[bytes, tuple[str, ...]]:
        """The JSON of a profile, its large tables put into the store, and their ids. Large stacks continue
        `earlier`: the same again gives the same ids. What is `sealed` ends with a checksum."""
        from perfcore.profile import codec

        return codec.encode(profile, self.put_piece, earlier=earlier, sealed=sealed)

    def earlier(self, profile: Profile) -> codec.Earlier:
        """The stacks that a new profile continues, read when they are asked for and then kept."""
        from perfcore.profile import codec

        return functools.cache(
            lambda: codec.chains(self.stack_bases.pieces(profile) or self.nearest_stacks(profile), self.get_piece)
        )

    def decode_profile(self, data: bytes, where: str) -> Profile:
        """The profile in this JSON; its tables are read from the store when they are looked at."""
        from perfcore.profile import codec

        return codec.decode(data, self.get_piece, where=where)

    def load(self, id: str) -> Profile:
        """The profile of this id."""
        return self._profile(id, self.read_stored(id))

    def load_many(self, ids: Iterable[str]) -> Iterator[tuple[str, Profile]]:
        """The profiles of these ids that are there and whole, in any order."""
        for key, data in self.read_many(map(object_key, ids)):
            with contextlib.suppress(FormatError):
                if not isinstance(data, PerfError):
                    yield key_id(key), self._profile(key_id(key), data)

    def _profile(self, id: str, data: bytes) -> Profile:
        return self.decode_profile(opened(id, data, "profile").content, f"profile {id}")

    def read_index(self, vcs: str, version: str) -> Index:
        """The index of a version, empty where there is none yet."""
        return self._read_index(vcs, version)[0]

    def update_index(self, vcs: str, version: str, change: Callable[[Index], Index]) -> Index:
        """Replace an index by what `change` makes of it, again whenever somebody else was faster."""
        key = object_key(indexes.key_name(vcs, version))
        for _ in range(_TRIES):
            current, tag = self._read_index(vcs, version)
            changed = change(current)
            if len(changed.entries) == len(current.entries) and changed == current:
                return current
            try:
                # Who registers one profile after the other decodes and encodes only the new.
                self._written = indexes.encode_after(self._written, changed)
                self.storage.replace(key, self._written.data, tag)
                return changed
            except ConflictError:
                continue
        raise StorageError(f"the index of {version} keeps changing: {_TRIES} tries to update it failed")

    def register(self, vcs: str, version: str, profile: bytes, type: str, entry: Entry) -> Entry:
        """`register_many` of one profile."""
        return self.register_many(vcs, version, [Registration(profile, type, entry)])[0]

    def register_many(
        self,
        vcs: str,
        version: str,
        registrations: Sequence[Registration],
        *,
        restore: Callable[[], object] | None = None,
    ) -> list[Entry]:
        """Keep the JSON of profiles and enter all of them in the index of a version, which is written once.
        `restore` puts tables that went meanwhile; without it KeyMissingError says so, and nothing is entered.
        A profile that is registered under this name already keeps its entry, with the tags that it got since."""
        # What the entries refer to is made to look new before the index is changed and looked for again afterwards,
        # so that no collection of garbage can come in between.
        if not registrations:
            return []
        entries = [registration.entry for registration in registrations]
        tables = tuple(dict.fromkeys(id for entry in entries for id in entry.tables))
        placed: list[Entry] = []
        entered: list[Entry] = []

        def enter(index: Index) -> Index:
            changed, placed[:], new = indexes.enter(index, entries)
            entered.extend(new)
            return changed

        try:
            for _ in range(_TRIES):
                for registration in registrations:  # first: an index never names what is not there yet
                    self.put(objects.Object("profile", registration.type, registration.content))
                self._secure(tables, restore)
                self.update_index(vcs, version, enter)
                with contextlib.suppress(KeyMissingError):  # collected meanwhile: all of it once more
                    self.touch((*(entry.profile for entry in entries), *tables))
                    return placed
        except KeyMissingError:
            self.update_index(vcs, version, lambda now: functools.reduce(indexes.bury, {*now.live} & {*entered}, now))
            raise
        raise StorageError(
            f"profile {entries[0].profile} disappears as soon as it is written: is `perf gc` running in a loop?"
        )

    def touch(self, ids: Iterable[str]) -> None:
        """Make objects look new. KeyMissingError for one that is not there."""
        for id in ids:
            self.storage.touch(object_key(id))

    def indexes(self) -> Iterator[tuple[str, Index | FormatError]]:
        """Every index there is by its key; one that is damaged or has lost its place is given as the error."""
        others: set[str] = set()
        entries: list[Entry] = []
        for listed in self.storage.list(OBJECTS):
            try:
                if (index := self.index_at(listed, others)) is not None:
                    entries += index.entries
                    yield listed.key, index
            except FormatError as error:
                yield hidden_key(listed.key) or listed.key, error
        yield from self.misplaced(others, entries)

    def misplaced(self, ids: set[str], entries: Iterable[Entry]) -> Iterator[tuple[str, FormatError]]:
        """The keys of the objects that are not what their ids say or cannot be read, of those that no entry names: they
        may have taken the place of an index. What an entry names is verified when it is read."""
        named = {id for entry in entries for id in (entry.profile, *entry.tables)} if ids else set[str]()
        for key, data in self.read_many(map(object_key, sorted(ids - named))):
            try:
                if isinstance(data, PerfError):
                    raise data
                objects.decode(data, key_id(key))
            except PerfError as error:
                yield key, FormatError(f"{error.message}; nothing refers to it: it may have been an index")

    def index_at(self, row: Listed, others: set[str]) -> Index | None:
        """The index under a listed key; None where something else is there, or nothing any more. `others` gets the ids
        of objects that are not whole, or too large to look. FormatError where it is damaged or may have been one."""
        if hidden := hidden_key(row.key):
            raise FormatError(objects.folder_in_place(hidden))
        if not is_object_key(row.key) or (data := self.read_beginning(row)) is None:
            return None
        if data.startswith(NOTE_LIST):
            self.check_list(row.key)
            return None
        id = key_id(row.key)
        if objects.is_compressed(data):
            with contextlib.suppress(FormatError):
                objects.decode(data, id)
                return None
            others.add(id)
            return None
        if indexes.is_index(data):
            return indexes.decode(data, where=f"index {row.key}", version=id, key=id)  # version 1 leaves it out
        raise FormatError(objects.not_stored(row.key))

    def check_list(self, key: str) -> None:
        """FormatError where a list of notes has taken the place of an index: it does not say what it is about."""
        if self.is_version(key_id(key)):
            raise FormatError(f"{key} is a list of notes, and should be the index of a version")

    def read_key(self, key: str) -> bytes | None:
        """Bytes under a listed key, None where it has gone since."""
        try:
            return self.storage.read(key).data
        except KeyMissingError:
            return None

    def read_many(self, keys: Iterable[str]) -> Iterator[tuple[str, bytes | PerfError]]:
        """Keys with their bytes, in any order; those that went are left out, and an error stands for what cannot be
        read. A storage without `read_many` reads one by one."""
        read: _ReadMany = getattr(self.storage, "read_many", self._read_each)
        remaining = iter(keys)
        while batch := dict.fromkeys(itertools.islice(remaining, _BATCH)):
            try:
                for key, data in read(tuple(batch)):
                    batch.pop(key, None)
                    yield key, data
            except PerfError:  # of one key, which ended the others
                for key in batch:
                    try:
                        yield from self._read_each((key,))
                    except PerfError as error:
                        yield key, error

    def _read_each(self, keys: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        return ((key, data) for key in keys if (data := self.read_key(key)) is not None)

    def missing(self, ids: Iterable[str]) -> Iterator[str]:
        """The ids of objects that are not there. A storage without `missing` looks for them one by one."""
        keys = map(object_key, ids)
        if hasattr(self.storage, "missing"):
            return map(key_id, self.storage.missing(keys))
        return (key_id(key) for key in keys if not any(row.key == key for row in self.storage.list(key)))

    def read_beginning(self, row: Listed) -> bytes | None:
        """The bytes under a listed key. Of a large object only the beginning, where the storage reads ranges.
        FormatError where it is larger than anything that is ever written there."""
        if text := too_large(row):
            raise FormatError(text)
        if row.size > _LARGE and hasattr(self.storage, "read_range"):
            with contextlib.suppress(KeyMissingError):
                beginning = self.storage.read_range(row.key, 0, 2)
                if objects.is_compressed(beginning):
                    return beginning
        return self.read_key(row.key)

    def _secure(self, tables: tuple[str, ...], restore: Callable[[], object] | None) -> None:
        """Make tables look new that are there, or that `restore` puts again."""
        for put_again in [restore] * _RESTORES if restore else ():
            with contextlib.suppress(KeyMissingError):
                self.touch(tables)
                return
            put_again()
        self.touch(tables)

    def _reuse(self, id: str, data: bytes) -> bool:
        """Whether the object that is there could be taken over."""
        key = object_key(id)
        try:
            stored = self.storage.read(key)
            try:
                objects.decode(stored.data, id)
            except FormatError:
                self.storage.replace(key, data, stored.tag)
            self.storage.touch(key)
        except (KeyMissingError, ConflictError):
            return False
        return True

    def _read_index(self, vcs: str, version: str) -> tuple[Index, str | None]:
        key = object_key(indexes.key_name(vcs, version))
        try:
            data, tag = self.storage.read(key)
        except KeyMissingError:
            return Index(vcs=vcs, version=version), None
        try:
            if self._written is not None and self._written.data == data:
                index = self._written.decoded
            else:
                index = indexes.decode(data, where=f"the index of {version} ({key})", vcs=vcs, version=version)
        except FormatError as error:
            raise FormatError(error.message, hint=error.hint or _LOST_INDEX) from error
        if (index.vcs, index.version) not in ((vcs, version), ("", version)):
            raise FormatError(f"{key} is the index of {index.version}, not of {version}")
        return index, tag


def too_large(row: Listed) -> str:
    """What to say of a key with more bytes than anything has that is written there; else nothing."""
    is_large = row.size > objects.MAX_BYTES + _SLACK
    return f"{row.key} is damaged: nothing that is kept has {row.size:,} bytes" if is_large else ""


def opened(id: str, data: bytes, kind: str | None) -> objects.Object:
    """The object in stored bytes, verified."""
    if indexes.is_index(data):
        raise FormatError(f"{id} is the index of a version, not an object")
    item = objects.decode(data, id)
    if kind is not None and item.kind != kind:
        raise FormatError(f"object {id} is a {item.kind}, not a {kind}")
    return item
