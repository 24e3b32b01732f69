"""The indexes as they were last read: a row of the read model for each folder of objects.

What a row says of a folder counts only while the storage gives that folder the stamp that it had before it was read
(`Storage.stamps`), and only if a perfcore of this version wrote it; otherwise the folder is read again. So a writer of
indexes needs no lock, may be killed anywhere, and never has to tell the readers what it changed.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping

import msgspec

from perfcore import __version__
from perfcore.errors import FormatError
from perfcore.model import Entry
from perfcore.store import index as indexes
from perfcore.store import objects
from perfcore.store.index import Index
from perfcore.store.read_model import ReadModel
from perfcore.store.store import OBJECTS, Store, hidden_key, is_object_key

_SPACE, _LAYOUT = "indexes", 4  # of the rows; another layout makes all of them unread
_FEW = 24  # folders: who reads more of them reads nearly all in the end
_UNREADABLE = (msgspec.MsgspecError, RecursionError, UnicodeDecodeError)
_FOLDER = re.compile(rf"{OBJECTS}([0-9a-f]{{2}})/")
# Names of fields and not only the version: while perfcore is worked on, they change without it.
_HEAD = repr(("indexes", _LAYOUT, __version__, Entry._fields)).encode() + b"\n"


class _CachedIndex(msgspec.Struct, array_like=True, frozen=True, gc=False):  # gc: entries make no cycles
    """The live entries of one index."""

    vcs: str
    version: str
    entries: tuple[Entry, ...]


class _CachedFolder(msgspec.Struct, array_like=True, gc=False):
    """A row: the indexes of a folder by name, and the names of files that nobody has read."""

    stamp: str
    indexes: dict[str, msgspec.Raw]
    unread: str


_decode_index = msgspec.msgpack.Decoder(_CachedIndex).decode
_decode_folder = msgspec.msgpack.Decoder(_CachedFolder).decode
_encode = msgspec.msgpack.encode


class _Folder(msgspec.Struct):
    """The indexes of a folder of objects. A name that is neither in `indexes` nor in `unread` is no index."""

    stamp: str = ""
    indexes: dict[str, msgspec.Raw] = {}
    unread: set[str] = set()
    learned: bool = False

    def learn(self, name: str, index: Index | None) -> None:
        self.unread.discard(name)
        self.learned = True
        if index is not None:
            self.indexes[name] = msgspec.Raw(_encode((index.vcs, index.version, index.live)))


Row = tuple[str, tuple[Entry, ...]]


class Catalog:
    """The indexes of a store as they were when this was made, or later. `save` keeps what was learned."""

    def __init__(self, store: Store, model: ReadModel) -> None:
        self._store = store
        self._model = model
        self._stamps = _stamps(store)  # before any read: what is changed later has another stamp
        self._folders: dict[str, _Folder] = {}
        self._others = (prefix[len(OBJECTS) : -1] for prefix in self._stamps or ())
        self._rows: dict[str, bytes] = {}

    def entries(self, vcs: str, version: str) -> tuple[Entry, ...]:
        """The live entries of a version. FormatError where its index is damaged."""
        try:
            index = _decode_index(self._folders[version[:2]].indexes[version[2:]])  # as for nearly every version
        except (KeyError, *_UNREADABLE):
            return self._look(vcs, version)
        return index.entries if index.version == version and index.vcs == vcs else self._look(vcs, version)

    def _look(self, vcs: str, version: str) -> tuple[Entry, ...]:
        if self._stamps is None:
            return self._store.read_index(vcs, version).live
        key = indexes.key_name(vcs, version)
        folder = self._folders.get(key[:2]) or self._open(key[:2])
        raw = folder.indexes.get(key[2:])
        if raw is not None:
            cached = _cached_index(raw)
            if cached is not None and cached.version == version and cached.vcs == vcs:
                return cached.entries
        elif key[2:] not in folder.unread:
            return ()
        index = self._store.read_index(vcs, version)
        folder.learn(key[2:], index)
        return index.live

    def everywhere(self) -> Iterator[Row | FormatError]:
        """(version, live entries) of every index, in the order of their keys; a damaged one is given as the
        error."""
        if self._stamps is None:
            for _, index in self._store.indexes():
                yield index if isinstance(index, FormatError) else (index.version, index.live)
            return
        for prefix in sorted(self._stamps):
            if match := _FOLDER.fullmatch(prefix):
                yield from self._all_of(match[1])

    def save(self) -> None:
        """Keep what was learned."""
        # An empty stamp: the times of the folder tell no changes.
        learned = {name: folder for name, folder in self._folders.items() if folder.learned and folder.stamp}
        rows = {n: _CachedFolder(f.stamp, f.indexes, " ".join(sorted(f.unread))) for n, f in learned.items()}
        self._model.put(_SPACE, {name: _HEAD + _encode(row) for name, row in rows.items()})
        for folder in learned.values():
            folder.learned = False

    def _open(self, name: str) -> _Folder:
        """A folder from the cache, or else with all its names unread."""
        prefix = f"{OBJECTS}{name}/"
        stamp = (self._stamps or {}).get(prefix)
        folder = _read(self._row(name), stamp) if stamp else None
        folder = folder or (_Folder() if stamp is None else _Folder(stamp, unread=self._names(prefix)))
        self._folders[name] = folder
        return folder

    def _row(self, name: str) -> bytes:
        """The row of a folder. Where more than a few are open, those of as many others come with it."""
        if name not in self._rows:
            more = itertools.islice(self._others, len(self._folders) if len(self._folders) > _FEW else 0)
            self._rows |= self._model.many(_SPACE, {name, *more})
        return self._rows.pop(name, b"")

    def _names(self, prefix: str) -> set[str]:
        rows = self._store.storage.list(prefix)
        keys = ((hidden_key(row.key) or row.key) for row in rows)
        return {key.removeprefix(prefix) for key in keys if is_object_key(key)}

    def _all_of(self, name: str) -> Iterator[Row | FormatError]:
        folder = self._folders.get(name) or self._open(name)
        rows: dict[str, Row | FormatError] = {}
        for key, raw in folder.indexes.items():
            index = _cached_index(raw)
            if index is None:
                folder.unread.add(key)
            else:
                rows[key] = index.version, index.entries
        if folder.unread:
            rows.update(self._read_unread(f"{OBJECTS}{name}/", folder))
        for key in sorted(rows):
            yield rows[key]

    def _read_unread(self, prefix: str, folder: _Folder) -> Iterator[tuple[str, Row | FormatError]]:
        """Read the files that nobody has read; gives the indexes among them by name."""
        for row in self._store.storage.list(prefix):
            hidden = hidden_key(row.key)
            name = (hidden or row.key).removeprefix(prefix)
            if name not in folder.unread:
                continue
            try:
                if hidden:
                    raise FormatError(objects.folder_in_place(hidden))
                index = self._store.index_at(row)
            except FormatError as error:
                yield name, error
                continue
            folder.learn(name, index)
            if index is not None:
                yield name, (index.version, index.live)


def _stamps(store: Store) -> Mapping[str, str] | None:
    """The stamps of the folders of objects, None from a storage that has none."""
    stamps: Callable[[str], Mapping[str, str]] | None = getattr(store.storage, "stamps", None)
    return None if stamps is None else stamps(OBJECTS)


def _cached_index(raw: msgspec.Raw) -> _CachedIndex | None:
    """An index of the cache, None where it cannot be read."""
    try:
        return _decode_index(raw)
    except _UNREADABLE:
        return None


def _read(data: bytes, stamp: str) -> _Folder | None:
    """The folder in a row, None where it is stale or damaged."""
    if not data.startswith(_HEAD):
        return None
    try:
        cached = _decode_folder(memoryview(data)[len(_HEAD) :])
    except _UNREADABLE:
        return None
    return _Folder(cached.stamp, cached.indexes, set(cached.unread.split())) if cached.stamp == stamp else None
