"""What the indexes said when they were last read: `.perf/cache/indexes`, one file for each folder of objects.

It may be removed at any time, which costs time and nothing else. What it says of a folder counts only while the
storage gives that folder the stamp that it had before it was read (`Storage.stamps`), and only if the file is
whole and was written by a perfcore of this version; otherwise the folder is read again. So a writer needs no lock,
may be killed anywhere, and never has to tell the readers what it changed.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs
import msgspec

from perfcore import __version__, files
from perfcore.errors import FormatError
from perfcore.model import Entry
from perfcore.store import index as indexes
from perfcore.store.index import Index
from perfcore.store.store import OBJECTS, Store, is_object_key

_LAYOUT = 1
_LIMIT = 1 << 28
_UNREADABLE = (msgspec.MsgspecError, RecursionError, UnicodeDecodeError)
_CHECKSUM = 20
# Without O_NONBLOCK, a pipe somebody put there would hold us for ever.
_FLAGS = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_BINARY", "O_CLOEXEC", "O_NOFOLLOW", "O_NONBLOCK"))
_FOLDER = re.compile(rf"{OBJECTS}([0-9a-f]{{2}})/")
_FIELDS = attrs.fields(Entry)
# Names of fields and not only the version: while perfcore is worked on, they change without it.
_HEAD = repr(("indexes", _LAYOUT, __version__, tuple(field.name for field in _FIELDS))).encode() + b"\n"


class _Said(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """What one index says: its live entries."""

    vcs: str
    version: str
    entries: tuple[Entry, ...]


class _Kept(msgspec.Struct, array_like=True, gc=False):
    """What is kept of a folder: what each index says, and the names of what nobody has looked at."""

    stamp: str
    said: dict[str, msgspec.Raw]
    unread: str


_decode_said = msgspec.msgpack.Decoder(_Said).decode
_decode_kept = msgspec.msgpack.Decoder(_Kept).decode
_encode = msgspec.msgpack.encode


@attrs.define
class _Folder:
    """What is known of a folder of objects. A name that is neither `said` nor `unread` is no index."""

    stamp: str = ""
    said: dict[str, msgspec.Raw] = attrs.field(factory=dict)
    unread: set[str] = attrs.field(factory=set)
    learned: bool = False

    def learn(self, name: str, index: Index | None) -> None:
        self.unread.discard(name)
        self.learned = True
        if index is not None:
            row = (index.vcs, index.version, [_as_dict(entry) for entry in index.live])
            self.said[name] = msgspec.Raw(_encode(row))


Row = tuple[str, tuple[Entry, ...]]


class Catalog:
    """The indexes of a store as they were when this was made, or later. `save` keeps what was learned."""

    def __init__(self, store: Store, folder: Path | None) -> None:
        self._store = store
        self._place = folder
        self._stamps = _stamps(store)
        self._folders: dict[str, _Folder] = {}

    def entries(self, vcs: str, version: str) -> tuple[Entry, ...]:
        """The live entries of a version. FormatError where its index is damaged."""
        folder = self._folders.get(version[:2])
        raw = folder.said.get(version[2:]) if folder is not None else None
        said = None if raw is None else _said(raw)
        if said is not None and said.version == version and said.vcs == vcs:  # so it is for nearly every version
            return said.entries
        return self._look(vcs, version)

    def _look(self, vcs: str, version: str) -> tuple[Entry, ...]:
        if self._stamps is None:
            return self._store.read_index(vcs, version).live
        key = indexes.key_name(vcs, version)
        folder = self._folders.get(key[:2]) or self._open(key[:2])
        raw = folder.said.get(key[2:])
        if raw is not None:
            said = _said(raw)
            if said is not None and said.version == version and said.vcs == vcs:
                return said.entries
        elif key[2:] not in folder.unread:
            return ()
        index = self._store.read_index(vcs, version)
        folder.learn(key[2:], index)
        return index.live

    def everywhere(self) -> Iterator[Row | FormatError]:
        """(version, live entries) of every index, in the order of their keys; a damaged one is given as the
        error."""
        if self._stamps is None:
            for _, found in self._store.indexes():
                yield found if isinstance(found, FormatError) else (found.version, found.live)
            return
        for prefix in sorted(self._stamps):
            if match := _FOLDER.fullmatch(prefix):
                yield from self._all_of(match[1])

    def save(self) -> None:
        """Keep what was learned. A folder that cannot be written costs time, nothing else."""
        if self._place is None:
            return
        with contextlib.suppress(OSError):
            for name, folder in self._folders.items():
                if folder.learned and folder.stamp:
                    _write(self._place, name, folder)
                    folder.learned = False

    def _open(self, name: str) -> _Folder:
        """What is known of a folder: from the cache, or else that it has these names."""
        prefix = f"{OBJECTS}{name}/"
        stamp = (self._stamps or {}).get(prefix)
        if stamp is None:
            folder = _Folder()
        else:
            kept = _read(self._place / name, stamp) if self._place is not None and stamp else None
            folder = kept or _Folder(stamp, unread=self._names(prefix))
        self._folders[name] = folder
        return folder

    def _names(self, prefix: str) -> set[str]:
        rows = self._store.storage.list(prefix)
        return {row.key.removeprefix(prefix) for row in rows if is_object_key(row.key)}

    def _all_of(self, name: str) -> Iterator[Row | FormatError]:
        folder = self._folders.get(name) or self._open(name)
        found: dict[str, Row | FormatError] = {}
        for each, raw in folder.said.items():
            said = _said(raw)
            if said is None:
                folder.unread.add(each)
            else:
                found[each] = said.version, said.entries
        if folder.unread:
            found.update(self._read_rest(f"{OBJECTS}{name}/", folder))
        for each in sorted(found):
            yield found[each]

    def _read_rest(self, prefix: str, folder: _Folder) -> Iterator[tuple[str, Row | FormatError]]:
        """Look at what nobody has looked at; gives by name what the indexes among it say."""
        for row in self._store.storage.list(prefix):
            name = row.key.removeprefix(prefix)
            if name not in folder.unread:
                continue
            try:
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


def _said(raw: msgspec.Raw) -> _Said | None:
    """What an index said, None where that cannot be read."""
    try:
        return _decode_said(raw)
    except _UNREADABLE:
        return None


def _as_dict(entry: Entry) -> dict[str, Any]:
    """The entry without what is as usual."""
    values = ((field, getattr(entry, field.name)) for field in _FIELDS)
    return {field.name: value for field, value in values if value != field.default}


def _read(path: Path, stamp: str) -> _Folder | None:
    """What a file says, None where it does not count."""
    try:
        data = _bytes_of(path)
        payload = memoryview(data)[len(_HEAD) + _CHECKSUM :]
        if not data.startswith(_HEAD + hashlib.sha1(payload, usedforsecurity=False).digest()):
            return None
        kept = _decode_kept(payload)
    except (OSError, *_UNREADABLE):
        return None
    return _Folder(kept.stamp, kept.said, set(kept.unread.split())) if kept.stamp == stamp else None


def _bytes_of(path: Path) -> bytes:
    """All bytes of a file as `_write` leaves it; OSError where there is something else."""
    handle = os.open(path, _FLAGS)
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode) or status.st_size > _LIMIT:
            raise OSError(errno.EINVAL, "it is no file of the cache")
        return os.read(handle, status.st_size)
    finally:
        os.close(handle)


def _write(place: Path, name: str, folder: _Folder) -> None:
    """Write the file of a folder, whole or not at all. A link in the way is not followed: a `.perf` may come from
    elsewhere."""
    if place.parent.is_symlink() or place.is_symlink():
        return
    place.mkdir(parents=True, exist_ok=True)
    payload = _encode(_Kept(folder.stamp, folder.said, " ".join(sorted(folder.unread))))
    data = _HEAD + hashlib.sha1(payload, usedforsecurity=False).digest() + payload
    files.write_atomically(place / name, data, durable=False)
