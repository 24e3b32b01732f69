"""Keys as files.

    place/objects/ab/cdef    the bytes of the key `objects/ab/cdef`, exactly
    place/tmp/               files being written; leftovers of killed processes are harmless
    place/locks/00 to 3f     locks of `replace`, `delete` and `touch`; a key has the lock its hash says

A new key appears by a hard link to a finished temporary file, which fails where there is something; other
bytes appear by renaming one over the old file under the key's lock. Readers take no lock and write nothing.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from perfcore.errors import ConflictError, KeyExistsError, KeyMissingError, StorageError
from perfcore.files import sync_path
from perfcore.hookspecs import Stored
from perfcore.locks import Lock
from perfcore.text import printable
from perfcore_storage_local import files, keys
from perfcore_storage_local.files import explained
from perfcore_storage_local.keys import check_key
from perfcore_storage_local.listing import stamps, walk

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from perfcore.hookspecs import Listed

# Locks: with fewer, unrelated keys wait for each other; with more, each place has more files.
SHARDS = 64
_PART_KEYS, _PART_BYTES = 1_000, 32 << 20  # written before the disk is waited for
# What file systems say that have no hard links: link(2) has EPERM, FUSE and network file systems the others.
_NO_LINKS = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EPERM)


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
        self.patience = patience
        self._root = str(self.place)
        self._links = links
        self._durable: set[str] = set()
        self._warnings: tuple[str, ...] | None = None

    def read(self, key: str) -> Stored:
        """Takes no lock: a file is never changed, only replaced."""
        data = self._read(key, set())
        return Stored(data, keys.content_tag(data))

    def read_range(self, key: str, offset: int, length: int) -> bytes:
        """Reads no more than that of the file, and makes no tag, which needs all bytes."""
        return self._read(key, set(), offset, length)

    def read_many(self, keys: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """In the order of the keys. Each folder is looked at once, and no tags are made."""
        folders: set[str] = set()
        for key in keys:
            with suppress(KeyMissingError):
                yield key, self._read(key, folders)

    def missing(self, keys: Iterable[str]) -> Iterator[str]:
        """Reads no content."""
        for key in keys:
            check_key(key)
            with explained("read", self._path(key)):
                try:
                    self._status(key)
                except KeyMissingError:
                    yield key

    def create(self, key: str, data: bytes) -> str:
        """Of several processes, the one whose link is made first wins."""
        keys.check_writable(key)
        path = self._path(key)
        with explained("create", path):
            self._refuse_existing(key)
            folder = self._make_folders(key)
            with files.temporary(self._make_folders(f"{keys.TMP}/"), data) as temporary:
                self._publish(temporary, key)
            sync_path(folder)
        return keys.content_tag(data)

    def create_many(self, items: Iterable[tuple[str, bytes]]) -> Sequence[str]:
        """Some hundreds are written, then the disk is waited for once, and once more when they have their names."""
        return [key for part in _parts(items) for key in self._create_part(part)]

    def replace(self, key: str, data: bytes, tag: str | None) -> str:
        """Reading, comparing and renaming happen under the lock of the key."""
        try:
            return self.create(key, data) if tag is None else self._swap(key, data, tag)
        except (KeyExistsError, KeyMissingError) as error:
            raise self._conflict(key) from error

    def delete(self, key: str, tag: str) -> None:
        """Folders that become empty stay, since another process may be about to write there."""
        keys.check_writable(key)
        path = self._path(key)
        with explained("delete", path):
            self._status(key)
            with self._lock(key):
                self._check_tag(key, tag)
                files.remove(path)
                sync_path(os.path.dirname(path))

    def touch(self, key: str) -> None:
        """Also makes durable what another process wrote: whoever touches a key relies on it."""
        keys.check_writable(key)
        path = self._path(key)
        with explained("touch", path):
            files.check_regular(self._status(key), path)
            with self._lock(key):
                files.make_newer(path, self._status(key).st_mtime_ns)
                sync_path(path)
                sync_path(os.path.dirname(path))

    def list(self, prefix: str) -> Iterator[Listed]:
        """`tmp/` and `locks/` are left out, unless the prefix begins with one of them."""
        location = self._folder_of(prefix)
        return walk(*location) if location else iter(())

    def stamps(self, prefix: str) -> dict[str, str]:
        """The times of the folders. They are not relied on where other machines write or times mean less."""
        location = self._folder_of(prefix)
        return stamps(*location, reliable=os.name == "posix" and not self.warnings()) if location else {}

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
            return sum(_pruned(os.path.join(folder, name), before) for name in sorted(names))

    def _path(self, key: str) -> str:
        return os.path.join(self._root, *key.split("/"))

    def _read(self, key: str, folders: set[str], offset: int = 0, length: int | None = None) -> bytes:
        """A part of a file, or all of it. `folders` are those that were looked at before."""
        check_key(key)
        path = self._path(key)
        with explained("read", path):
            try:
                folder = os.path.dirname(path)
                if folder not in folders:
                    self._check_folders(key)
                    folders.add(folder)
                return files.read(path, offset, length)
            except files.MISSING as error:
                raise self._missing(key) from error

    def _swap(self, key: str, data: bytes, tag: str) -> str:
        keys.check_writable(key)
        path = self._path(key)
        with explained("replace", path):
            self._status(key)
            with self._lock(key):
                self._check_tag(key, tag)
                with files.temporary(self._make_folders(f"{keys.TMP}/"), data) as temporary:
                    files.rename(temporary, path)
                sync_path(os.path.dirname(path))
        return keys.content_tag(data)

    def _create_part(self, part: Sequence[tuple[str, bytes]]) -> Sequence[str]:
        for key, _ in part:
            keys.check_writable(key)
        there = []
        folders: dict[str, None] = {}
        with explained("create", self._root), ExitStack() as stack:
            folder = self._make_folders(f"{keys.TMP}/")
            written = [stack.enter_context(files.temporary(folder, data, durable=False)) for _, data in part]
            files.sync_many(self._root, written)
            for (key, _), temporary in zip(part, written, strict=True):
                folders[self._make_folders(key)] = None
                try:
                    self._refuse_existing(key)
                    self._publish(temporary, key)
                except KeyExistsError:
                    there.append(key)
            files.sync_many(self._root, list(folders))
        return there

    def _publish(self, temporary: str, key: str) -> None:
        """Make the finished file appear under the key, unless there is something."""
        if self._links:
            try:
                os.link(temporary, self._path(key))
            except FileExistsError as error:
                raise self._exists(key) from error
            except OSError as error:
                if error.errno not in _NO_LINKS:
                    raise
                self._links = False
        if not self._links:
            with self._lock(key):
                self._refuse_existing(key)
                files.rename(temporary, self._path(key))

    def _lock(self, key: str) -> AbstractContextManager[None]:
        folder = self._make_folders(f"{keys.LOCKS}/")
        path = os.path.join(folder, f"{keys.shard(key, SHARDS):02x}")
        message = f"another process has held the lock {printable(path)} for {self.patience:g} s"
        hint = "let it finish, or find it (`fuser` and the name of the lock tell) and end it"
        return Lock(path).hold(self.patience, StorageError(message, hint=hint))

    def _folder_of(self, prefix: str) -> tuple[str, str, str] | None:
        """(path of the folder in which a prefix ends, its part of the keys, the rest of the prefix); None where
        there is no such folder."""
        keys.check_prefix(prefix)
        start, slash, partial = prefix.rpartition("/")
        folder = self._path(start) if start else self._root
        with explained("list", folder):
            try:
                self._check_folders(prefix)
            except files.MISSING:
                return None
        return folder, start + slash, partial

    def _folders(self, key: str) -> Iterator[str]:
        path = self._root
        for name in key.split("/")[:-1]:
            path = os.path.join(path, name)
            yield path

    def _check_folders(self, key: str) -> None:
        for path in self._folders(key):
            files.check_folder(path)

    def _make_folders(self, key: str) -> str:
        """The folder of a key, made and durable. One that another process made may not be, if it was killed
        before it got there, so each is seen to once."""
        self._make_place()
        parent = self._root
        for path in self._folders(key):
            # A new name is in its folder's data: without a sync of the parent a power cut may take it away (fsync(2)).
            if self._make_folder(path) or path not in self._durable:
                sync_path(parent)
                self._durable.add(path)
            parent = path
        return parent

    def _make_place(self) -> None:
        if os.path.isdir(self._root):
            return
        try:
            os.mkdir(self._root)
        except FileExistsError:  # another process was faster, or there is something else
            if not os.path.isdir(self._root):
                raise
        sync_path(os.path.dirname(self._root))

    def _make_folder(self, path: str) -> bool:
        """Whether it was not there."""
        try:
            files.check_folder(path)
        except FileNotFoundError:
            with suppress(FileExistsError):
                os.mkdir(path)
            files.check_folder(path)
            return True
        return False

    def _refuse_existing(self, key: str) -> None:
        try:
            status = os.lstat(self._path(key))
        except files.MISSING:
            return
        if stat.S_ISDIR(status.st_mode):
            raise StorageError(f"{key} is a folder in {printable(self._root)} and cannot be a key as well")
        raise self._exists(key)

    def _status(self, key: str) -> os.stat_result:
        """KeyMissingError where there is nothing."""
        try:
            self._check_folders(key)
            status = os.lstat(self._path(key))
        except files.MISSING as error:
            raise self._missing(key) from error
        if stat.S_ISDIR(status.st_mode):
            raise self._missing(key)
        return status

    def _check_tag(self, key: str, tag: str) -> None:
        """Pass only if the key has this tag. Called under its lock."""
        status = self._status(key)
        if keys.is_stat_tag(tag):
            current_tag = keys.stat_tag(status)
        else:
            current_tag = keys.content_tag(files.read(self._path(key)))
        if current_tag != tag:
            raise self._conflict(key)

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
