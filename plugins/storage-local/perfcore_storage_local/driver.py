"""Keys as files.

    place/objects/ab/cdef    the bytes of the key `objects/ab/cdef`, exactly
    place/packs/objects/     many keys in one file, as `packs` and `packing` say
    place/tmp/               files being written; leftovers of killed processes are harmless
    place/locks/00 to 3f     locks of all that changes a key; a key has the lock its hash says
    place/locks/packs        the lock of who writes a pack

A new key appears under its lock, by a hard link to a finished temporary file, which fails where there is something;
other bytes appear by renaming one over the old file. Readers take no lock and write nothing.
"""

from __future__ import annotations

import os
import stat
from contextlib import ExitStack, suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from perfcore.errors import ConflictError, FormatError, KeyExistsError, KeyMissingError, PerfError, StorageError
from perfcore.files import sync_path
from perfcore.hookspecs import Stored
from perfcore.text import printable
from perfcore_storage_local import files, keys
from perfcore_storage_local.files import explained
from perfcore_storage_local.keys import check_key
from perfcore_storage_local.listing import stamps, walk
from perfcore_storage_local.place import SHARDS, Place

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from perfcore.hookspecs import Listed
    from perfcore_storage_local.packs import PackedRow, Packs

_PART_KEYS, _PART_BYTES = 1_000, 32 << 20  # written before the disk is waited for
_SORTED = 4_096  # keys that are sorted before they are read
FEWEST = 64  # keys for a pack of their own: fewer stay in their files
# Bytes of a content that stays in memory with its tag, such as the index of 200 to 50,000 profiles: what is shorter is
# hashed in no time, and comes between.
_REMEMBERED = range(1 << 16, 1 << 24)
_MANY_LOOSE = 10_000  # keys with files of their own, before they are packed by themselves


class LocalStorage:
    """Files on a local disk, one per key.

    They are kept below `place`, which is made when it is first written to; its parent must exist. `patience` is
    how many seconds a lock is waited for. `links` off means that new keys appear by renaming under their lock, as
    on file systems without hard links, where that is found out by itself; all users of one place must do the same.

    `read`, `create` and `replace` give a tag of the content, `list` one of the file; `replace` and `delete`
    take both.
    """

    def __init__(self, place: Path, *, patience: float = 60.0, links: bool = True) -> None:
        self.place = Path(os.path.abspath(place))
        self._root = str(self.place)
        self._links = links
        self._place = Place(self._root, patience)
        self._opened: Packs | None = None
        self._warnings: tuple[str, ...] | None = None
        self._hashed: tuple[bytes, str] = b"", ""

    def read(self, key: str) -> Stored:
        """Takes no lock: a file is never changed, only replaced."""
        data = self._read(key, set())
        return Stored(data, self._tag(data))

    def read_range(self, key: str, offset: int, length: int) -> bytes:
        """Reads no more than that of the file, and makes no tag, which needs all bytes."""
        return self._read(key, set(), offset, length)

    def read_many(self, keys: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """Some at a time: those in packs by where they are in them, so that each block is inflated once, then those
        with files of their own. Each folder is looked at once, and no tags are made."""
        folders: set[str] = set()
        remaining = iter(keys)
        while batch := list(islice(remaining, _SORTED if self._packs() else 1)):
            packed = self._packed_many(batch) if len(batch) > 1 else {}
            for _, _, key in sorted((row.pack.name, row.position, key) for key, row in packed.items()):
                with explained("read", packed[key].pack.path):
                    content = packed[key].read()
                yield key, content
            for key in batch:
                if key not in packed:
                    with suppress(KeyMissingError):
                        yield key, self._read(key, folders)

    def missing(self, keys: Iterable[str]) -> Iterator[str]:
        """Reads no content."""
        for key in keys:
            check_key(key)
            with explained("read", self._place.path(key)):
                try:
                    self._find(key)
                except KeyMissingError:
                    yield key

    def create(self, key: str, data: bytes) -> str:
        """Of several processes, the one whose link is made first wins."""
        keys.check_writable(key)
        path = self._place.path(key)
        with explained("create", path):
            self._refuse_existing(key)
            with (
                files.temporary(self._place.make_folders(f"{keys.TMP}/"), data) as temporary,
                self._place.lock(key),
            ):
                folder = self._place.make_folders(key)
                self._publish(temporary, key)
            files.sync_many(self._root, (folder,))
        self._pack_many((key,))
        return self._tag(data)

    def create_many(self, items: Iterable[tuple[str, bytes]]) -> Sequence[str]:
        """Some hundreds are written, then the disk is waited for once, and once more when they have their names."""
        there: Sequence[str] = []
        for part in _parts(items):
            there = [*there, *self._create_part(part)]
            self._pack_many(key for key, _ in part)
        return there

    def replace(self, key: str, data: bytes, tag: str | None) -> str:
        """Reading, comparing and renaming happen under the lock of the key."""
        try:
            return self.create(key, data) if tag is None else self._swap(key, data, tag)
        except (KeyExistsError, KeyMissingError) as error:
            raise self._conflict(key) from error

    def delete(self, key: str, tag: str) -> None:
        """Folders that become empty stay until `pack`."""
        keys.check_writable(key)
        path = self._place.path(key)
        with explained("delete", path):
            self._find(key)
            with self._place.lock(key):
                self._check_tag(key, tag)
                for row in (
                    packs.all_of(key) if (packs := self._packs()) else ()
                ):  # first: without the file, they would count
                    row.pack.mark((row.number,))
                with suppress(*files.MISSING):
                    files.remove(path)
                    sync_path(os.path.dirname(path))

    def touch(self, key: str) -> None:
        """Also makes durable what another process wrote: whoever touches a key relies on it. One in a pack gets a file
        of its own again."""
        keys.check_writable(key)
        path = self._place.path(key)
        with explained("touch", path):
            self._find(key)
            with self._place.lock(key):
                found = self._find(key)
                if isinstance(found, os.stat_result):
                    files.check_regular(found, path)
                    modified = found.st_mtime_ns
                else:
                    modified = found.modified * 1_000_000_000
                    self._write_over(key, found.read())
                files.make_newer(path, modified)
                sync_path(path)
                sync_path(os.path.dirname(path))

    def list(self, prefix: str) -> Iterator[Listed]:
        """`tmp/` and `locks/` are left out, unless the prefix begins with one of them."""
        return walk(self._packs, *self._folder_of(prefix))

    def stamps(self, prefix: str) -> dict[str, str]:
        """The times of the folders. They are not relied on where other machines write or times mean less."""
        location = self._folder_of(prefix)
        return stamps(self._packs, *location, reliable=os.name == "posix" and not self.warnings())

    def warnings(self) -> tuple[str, ...]:
        """What people should know about the place: that it is on a network file system."""
        if self._warnings is None:
            from perfcore_storage_local import mounts

            self._warnings = mounts.warnings(self._root, mounts.mounted())
        return self._warnings

    def prune(self, before: int) -> int:
        """Remove temporary files last written before that time; gives how many. Only killed processes leave
        any, but a slow one may still be writing, so keep some hours' distance."""
        folder = os.path.join(self._root, keys.TMP)
        with explained("prune", folder):
            try:
                files.check_folder(folder)
                names = [name for name in os.listdir(folder) if files.is_temporary(name)]
            except files.MISSING:
                return 0
            return sum(_pruned(os.path.join(folder, name), before) for name in sorted(names)) + self._prune_packs(
                before
            )

    def pack(self, prefix: str, *, least: int = FEWEST) -> int:
        """Move keys below a first folder, such as `objects/`, that are small into packs, where there are `least` of
        them, and remove folders that are empty then. Nothing changes for readers, and writers wait for some moments."""
        from perfcore_storage_local.packing import pack_space
        from perfcore_storage_local.packs import Packs

        keys.check_prefix(prefix)
        space = prefix.rstrip("/")
        with explained("pack", self._place.path(space)):
            return pack_space(self._place, self._packs() or Packs(self._root), space, least)

    def damaged(self, prefix: str) -> Sequence[str]:
        """What is wrong with the packs of a first folder, in words."""
        with explained("read", self._root):
            return packs.damaged(prefix.rstrip("/")) if (packs := self._packs()) else []

    def _read(self, key: str, folders: set[str], offset: int = 0, length: int | None = None) -> bytes:
        """A part of a file, or all of it. `folders` are those that were looked at before."""
        check_key(key)
        path = self._place.path(key)
        with explained("read", path):
            while True:
                try:
                    folder = os.path.dirname(path)
                    if folder not in folders:
                        self._place.check_folders(key)
                        folders.add(folder)
                    return files.read(path, offset, length)
                except files.MISSING as error:
                    row = self._packed(key)
                    if row is not None:
                        return row.read()[offset : None if length is None else offset + max(0, length)]
                    if self._is_file(path):  # it may have got a file of its own again meanwhile
                        continue
                    if keys.is_packable(key) and os.path.isdir(path):  # no key has one of these and a slash in front
                        raise FormatError(f"a folder stands where {key} should be", hint="move it away") from error
                    raise self._missing(key) from error

    def _swap(self, key: str, data: bytes, tag: str) -> str:
        keys.check_writable(key)
        path = self._place.path(key)
        with explained("replace", path):
            self._find(key)
            with self._place.lock(key):
                self._check_tag(key, tag)
                self._write_over(key, data)
        return self._tag(data)

    def _write_over(self, key: str, data: bytes) -> None:
        """Give a key this file, whatever it has. Called under its lock."""
        folder = self._place.make_folders(key)
        with files.temporary(self._place.make_folders(f"{keys.TMP}/"), data) as temporary:
            files.rename(temporary, self._place.path(key))
        sync_path(folder)

    def _create_part(self, part: Sequence[tuple[str, bytes]]) -> Sequence[str]:
        for key, _ in part:
            keys.check_writable(key)
        there = []
        folders: dict[str, None] = {}
        with explained("create", self._root), ExitStack() as stack:
            folder = self._place.make_folders(f"{keys.TMP}/")
            written = [stack.enter_context(files.temporary(folder, data, durable=False)) for _, data in part]
            files.sync_many(self._root, written)
            by_shard: dict[int, list[tuple[str, str]]] = {}
            for (key, _), temporary in zip(part, written, strict=True):
                by_shard.setdefault(keys.shard(key, SHARDS), []).append((key, temporary))
            for shard, named in by_shard.items():
                with self._place.lock_shard(shard):
                    for key, temporary in named:
                        folders[self._place.make_folders(key)] = None
                        try:
                            self._publish(temporary, key)
                        except KeyExistsError:
                            there.append(key)
            files.sync_many(self._root, list(folders))
        return there

    def _publish(self, temporary: str, key: str) -> None:
        """Make the finished file appear under the key, unless there is something. Called under its lock."""
        self._refuse_existing(key)
        if self._links:
            try:
                os.link(temporary, self._place.path(key))
            except FileExistsError as error:
                raise self._exists(key) from error
            except OSError as error:
                if error.errno not in files.NO_LINKS:
                    raise
                self._links = False
        if not self._links:
            files.rename(temporary, self._place.path(key))

    def _folder_of(self, prefix: str) -> tuple[str, str, str]:
        """(path of the folder in which a prefix ends, its part of the keys, the rest of the prefix)."""
        keys.check_prefix(prefix)
        start, slash, partial = prefix.rpartition("/")
        folder = self._place.path(start) if start else self._root
        with explained("list", folder), suppress(*files.MISSING):
            self._place.check_folders(prefix)
        return folder, start + slash, partial

    def _refuse_existing(self, key: str) -> None:
        try:
            status = os.lstat(self._place.path(key))
        except files.MISSING:
            if self._packed(key) is None:
                return
            raise self._exists(key) from None
        if stat.S_ISDIR(status.st_mode):
            raise StorageError(f"{key} is a folder in {printable(self._root)} and cannot be a key as well")
        raise self._exists(key)

    def _find(self, key: str) -> os.stat_result | PackedRow:
        """The file of a key, or else its place in a pack. KeyMissingError where there is nothing."""
        while True:
            try:
                self._place.check_folders(key)
                status = os.lstat(self._place.path(key))
                if not stat.S_ISDIR(status.st_mode):
                    return status
            except files.MISSING:
                pass
            row = self._packed(key)
            if row is not None:
                return row
            if not self._is_file(self._place.path(key)):  # it may have got a file of its own again meanwhile
                raise self._missing(key)

    @staticmethod
    def _is_file(path: str) -> bool:
        try:
            return not stat.S_ISDIR(os.lstat(path).st_mode)
        except files.MISSING:
            return False

    def _tag(self, data: bytes) -> str:
        """The tag of a content. Who writes an index reads it, compares it and reads it again: its bytes are compared
        with those that were hashed last, which takes a tenth of the time."""
        hashed, tag = self._hashed
        if not data or hashed != data:
            tag = keys.content_tag(data)
            if len(data) in _REMEMBERED:
                self._hashed = data, tag
        return tag

    def _check_tag(self, key: str, tag: str) -> None:
        """Pass only if the key has this tag. Called under its lock."""
        found = self._find(key)
        if keys.is_stat_tag(tag):
            current_tag = keys.stat_tag(found) if isinstance(found, os.stat_result) else found.tag
        else:
            current_tag = self._tag(
                files.read(self._place.path(key)) if isinstance(found, os.stat_result) else found.read()
            )
        if current_tag != tag:
            raise self._conflict(key)

    def _packs(self) -> Packs | None:
        """None where there are none, as in most places: then the code that reads them is not imported."""
        if self._opened is None and os.path.isdir(os.path.join(self._root, keys.PACKS)):
            from perfcore_storage_local.packs import Packs

            self._opened = Packs(self._root)
        return self._opened

    def _packed(self, key: str) -> PackedRow | None:
        return packs.find(key) if (packs := self._packs()) else None

    def _packed_many(self, keys: Iterable[str]) -> dict[str, PackedRow]:
        """The rows of the keys that are in packs and have no file of their own. Rows are looked for after files: a file
        that is packed meanwhile is found in its pack."""
        names: dict[str, set[str]] = {}
        unfiled = []
        for key in keys:
            check_key(key)
            folder, _, name = key.rpartition("/")
            if folder not in names:
                path = self._place.path(folder)
                names[folder] = set()
                with explained("read", path), suppress(*files.MISSING):
                    self._place.check_folders(key)
                    names[folder].update(os.listdir(path))
            if name not in names[folder]:
                unfiled.append(key)
        return packs.find_many(unfiled) if (packs := self._packs()) else {}

    def _pack_many(self, created: Iterable[str]) -> None:
        """Write a pack where keys with a file of their own have become many. One key of 256 looks whether that is
        so, at the folder that it is in, which has a 256th of them."""
        for key in created:
            if not key.endswith("00") or not keys.is_packable(key):
                continue
            with suppress(OSError, PerfError):  # the key is created, whatever comes of this
                if len(os.listdir(os.path.dirname(self._place.path(key)))) > _MANY_LOOSE // 256:
                    self.pack(key.partition("/")[0])
                    return

    def _prune_packs(self, before: int) -> int:
        """Remove the marks of packs that are no more."""
        return sum(_pruned(path, before) for path in packs.orphans()) if (packs := self._packs()) else 0

    def _exists(self, key: str) -> KeyExistsError:
        return KeyExistsError(f"{key} is already in {printable(self._root)}")

    def _missing(self, key: str) -> KeyMissingError:
        return KeyMissingError(f"there is no {key} in {printable(self._root)}")

    def _conflict(self, key: str) -> ConflictError:
        return ConflictError(
            f"{key} in {printable(self._root)} was changed by another process", hint="read it again and retry"
        )


def _parts(items: Iterable[tuple[str, bytes]]) -> Iterator[list[tuple[str, bytes]]]:
    """The same in lists that are neither long nor large."""
    part: list[tuple[str, bytes]] = []
    size = 0
    for key, data in items:
        part.append((key, data))
        size += len(data)
        if len(part) >= _PART_KEYS or size >= _PART_BYTES:
            yield part
            part, size = [], 0
    if part:
        yield part


def _pruned(path: str, before: int) -> bool:
    try:
        if os.lstat(path).st_mtime_ns >= before:
            return False
        files.remove(path)
    except FileNotFoundError:
        return False
    return True
