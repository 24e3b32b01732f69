"""The indexes as they were last read: a row of the read model for each folder of objects, or sixteen where it is large.

What a row says of a folder counts only while the storage gives that folder the stamp that it had before it was read
(`Storage.stamps`), and only if a perfcore of this version wrote it; otherwise the folder is read again. So a writer of
indexes needs no lock, may be killed anywhere, and never has to tell the readers what it changed.
"""

from __future__ import annotations

import contextlib
import itertools
import re
from collections.abc import Callable, Collection, Iterator, Mapping

import msgspec

from perfcore import __version__
from perfcore.errors import FormatError
from perfcore.model import Entry
from perfcore.store import index as indexes
from perfcore.store.index import Index
from perfcore.store.read_model import ReadModel
from perfcore.store.store import OBJECTS, Store, hidden_key, is_object_key, key_id

_SPACE, _LAYOUT = "indexes", 6  # of the rows; another layout makes all of them unread
_FEW = 24  # folders: who reads more of them reads nearly all in the end
_LARGE = 256  # names: a folder of more is kept in parts, so that few versions of a long history are few bytes
_UNREADABLE = (msgspec.MsgspecError, RecursionError, UnicodeDecodeError)
_FOLDER = re.compile(rf"{OBJECTS}([0-9a-f]{{2}})/")
# Names of fields and not only the version: while perfcore is worked on, they change without it.
_HEAD = repr(("indexes", _LAYOUT, __version__, Entry._fields)).encode() + b"\n"


class _CachedIndex(msgspec.Struct, array_like=True, frozen=True, gc=False):  # gc: entries make no cycles
    """The live entries of one index."""

    vcs: str
    version: str
    entries: tuple[Entry, ...]


class _Folder(msgspec.Struct, array_like=True, gc=False):
    """A row: the indexes of a folder of objects, or of a part of it, by key, and the keys of which nobody knows whether
    they are one. A key in neither is none."""

    stamp: str
    indexes: dict[str, msgspec.Raw]
    unread: set[str]
    learned: bool

    def learn(self, key: str, index: Index | None) -> None:
        self.unread.discard(key)
        self.learned = True
        if index is not None:
            self.indexes[key] = msgspec.Raw(_encode((index.vcs, index.version, index.live)))


_decode_index = msgspec.msgpack.Decoder(_CachedIndex).decode
_decode_folder = msgspec.msgpack.Decoder(_Folder).decode
_encode = msgspec.msgpack.Encoder(order="deterministic").encode

Row = tuple[str, tuple[Entry, ...]]


class Catalog:
    """The indexes of a store as they were when this was made, or later. `save` keeps what was learned."""

    def __init__(self, store: Store, model: ReadModel) -> None:
        self._store = store
        self._model = model
        stamps: Callable[[str], Mapping[str, str]] | None = getattr(store.storage, "stamps", None)
        # Before any read: a folder that is changed later has another stamp.
        self._stamps = None if stamps is None else stamps(OBJECTS)
        self._folders: dict[str, _Folder] = {}  # and parts, by what their keys begin with
        self._indexes: dict[str, msgspec.Raw] = {}  # of all that came from the cache
        self._others = (prefix[len(OBJECTS) : -1] for prefix in self._stamps or ())
        self._rows: dict[str, bytes] = {}
        self._objects: set[str] = set()  # their ids, as far as they are not known to be whole

    def entries(self, vcs: str, version: str) -> tuple[Entry, ...]:
        """The live entries of a version. FormatError where its index is damaged."""
        try:
            index = _decode_index(self._indexes[version])  # as for nearly every version
        except (KeyError, *_UNREADABLE):
            return self._look(vcs, version)
        return index.entries if index.version == version and index.vcs == vcs else self._look(vcs, version)

    def _look(self, vcs: str, version: str) -> tuple[Entry, ...]:
        if self._stamps is None:
            return self._store.read_index(vcs, version).live
        key = indexes.key_name(vcs, version)
        folder = self._open(key)
        if (raw := folder.indexes.get(key)) is not None:
            cached = _cached_index(raw)
            if cached is not None and cached.version == version and cached.vcs == vcs:
                return cached.entries
        elif key not in folder.unread:
            return ()
        index = self._store.read_index(vcs, version)
        folder.learn(key, index)
        return index.live

    def everywhere(self) -> list[Row | FormatError]:
        """(version, live entries) of every index, in the order of keys; the error of one that is damaged or lost."""
        if self._stamps is None:
            rows = (index for _, index in self._store.indexes())
            return [row if isinstance(row, FormatError) else (row.version, row.live) for row in rows]
        folders = filter(None, map(_FOLDER.fullmatch, sorted(self._stamps)))
        every = [row for match in folders for row in self._all_of(match[1])]
        if self._objects:
            entries = (entry for row in every if not isinstance(row, FormatError) for entry in row[1])
            errors = dict(self._store.misplaced(self._objects, entries))
            for id in self._objects.difference(map(key_id, errors)):
                self._open(id).learn(id, None)
            every += errors.values()
        return every

    def save(self) -> None:
        """Keep what was learned."""
        # An empty stamp: the times of the folder tell no changes.
        learned = {name: folder for name, folder in self._folders.items() if folder.learned and folder.stamp}
        grown = {name[:2]: b"" for name in learned}  # the row of a folder from before it was large
        for folder in learned.values():
            folder.learned = False
        self._model.put(_SPACE, grown | {name: _HEAD + _encode(folder) for name, folder in learned.items()})

    def _open(self, key: str) -> _Folder:
        """The folder or part that a key is in, from the cache, or else with all its keys unread."""
        names = key[:2], key[:3]
        for name in names:
            if name in self._folders:
                return self._folders[name]
        prefix = f"{OBJECTS}{key[:2]}/"
        stamp = (self._stamps or {}).get(prefix)
        for name in names:
            folder = _read(self._row(name, names), stamp) if stamp else None
            if folder:
                self._folders[name] = folder
                self._indexes |= folder.indexes
                return folder
        unread = set() if stamp is None else self._unread(prefix)
        parts = _parts(key[:2]) if len(unread) > _LARGE else [key[:2]]
        for part in parts:
            self._folders[part] = _Folder(stamp or "", {}, {each for each in unread if each.startswith(part)}, True)
        return self._folders[key[: len(parts[0])]]

    def _row(self, name: str, names: Collection[str]) -> bytes:
        """One of the rows of these names. Where more than a few folders are open, those of as many others come with
        it, and with many parts those of a whole folder."""
        if name not in self._rows:
            more = itertools.islice(self._others, len(self._folders) if len(self._folders) > _FEW else 0)
            parts = _parts(name[:2]) if len(self._folders) > 16 * _FEW else ()
            wanted = {*names, *more, *parts} - self._rows.keys()
            self._rows |= dict.fromkeys(wanted, b"") | self._model.many(_SPACE, wanted)
        row, self._rows[name] = self._rows[name], b""  # not again
        return row

    def _unread(self, prefix: str) -> set[str]:
        keys = (hidden_key(row.key) or row.key for row in self._store.storage.list(prefix))
        return {key_id(key) for key in keys if is_object_key(key)}

    def _all_of(self, name: str) -> list[Row | FormatError]:
        rows: dict[str, Row | FormatError] = {}
        unread: dict[str, _Folder] = {}
        for folder in {id(folder): folder for folder in map(self._open, _parts(name))}.values():
            for key, raw in folder.indexes.items():
                if (index := _cached_index(raw)) is None:
                    folder.unread.add(key)
                else:
                    rows[key] = index.version, index.entries
            unread |= dict.fromkeys(folder.unread, folder)
        if unread:
            rows.update(self._read_unread(f"{OBJECTS}{name}/", unread))
        return [rows[key] for key in sorted(rows)]

    def _read_unread(self, prefix: str, unread: Mapping[str, _Folder]) -> Iterator[tuple[str, Row | FormatError]]:
        """Read the files that nobody has read; gives the indexes among them by key."""
        for row in self._store.storage.list(prefix):
            key = key_id(hidden_key(row.key) or row.key)
            if key not in unread:
                continue
            try:
                index = self._store.index_at(row, self._objects)
                if key not in self._objects:
                    unread[key].learn(key, index)
                if index is not None:
                    yield key, (index.version, index.live)
            except FormatError as error:
                yield key, error


def _parts(name: str) -> list[str]:
    """What the keys in each part of a folder begin with."""
    return [name + digit for digit in "0123456789abcdef"]


def _cached_index(raw: msgspec.Raw) -> _CachedIndex | None:
    """An index of the cache, None where it cannot be read."""
    try:
        return _decode_index(raw)
    except _UNREADABLE:
        return None


def _read(data: bytes, stamp: str) -> _Folder | None:
    """The folder in a row, None where it is stale or damaged."""
    with contextlib.suppress(*_UNREADABLE):
        if data.startswith(_HEAD) and (row := _decode_folder(memoryview(data)[len(_HEAD) :])).stamp == stamp:
            return row
    return None
