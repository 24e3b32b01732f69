"""A place: its folders, made durably, and its locks."""

from __future__ import annotations

import os
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING

from perfcore.errors import StorageError
from perfcore.files import sync_path
from perfcore.locks import Lock
from perfcore.text import printable
from perfcore_storage_local import files, keys

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

# Locks: with fewer, unrelated keys wait for each other; with more, each place has more files.
SHARDS = 64


class Place:
    """A folder that holds keys. `patience` is how many seconds a lock is waited for."""

    def __init__(self, root: str, patience: float) -> None:
        self.root = root
        self.patience = patience
        self._synced: dict[str, str] = {}

    def path(self, key: str) -> str:
        """Where the file of a key is."""
        return os.path.join(self.root, *key.split("/"))

    def _folders(self, key: str) -> Iterator[str]:
        path = self.root
        for name in key.split("/")[:-1]:
            path = os.path.join(path, name)
            yield path

    def check_folders(self, key: str) -> None:
        """Each folder of a key as `files.check_folder` does it. StorageError where something else has the place of a
        first folder or of one such as `objects/ab`: what was in it is gone, and must not look as if it never was."""
        for depth, path in enumerate(self._folders(key)):
            try:
                files.check_folder(path)
            except NotADirectoryError as error:
                if depth > 1 or (depth and not keys.is_part(os.path.basename(path))):  # a key may have the name
                    raise
                raise StorageError(
                    f"{printable(path)} is no folder, and what was in it is gone",
                    hint="move it away, and bring the folder back from a copy",
                ) from error

    def make_folders(self, key: str) -> str:
        """The folder of a key, made and durable, and for as long as the lock of the key is held. One that another
        process made may not be durable, if it was killed before it got there: so each folder is synced once after every
        change of it."""
        self._make_place()
        parent = self.root
        for path in self._folders(key):
            made = self._make_folder(path)
            # A new name is in its folder's data: without a sync of the parent a power cut may take it away (fsync(2)).
            stamp = keys.folder_stamp(os.stat(parent))
            if made or self._synced.get(parent) != stamp:
                sync_path(parent)
                self._synced[parent] = stamp
            parent = path
        return parent

    def remove_empty(self, space: str) -> int:
        """Remove the folders `00` to `ff` of a first folder that hold nothing; gives how many. A writer needs its
        folder only while it has the lock of its key, and all locks are taken here."""
        folder = self.path(space)
        empty = [path for first in range(256) if _is_empty(path := os.path.join(folder, f"{first:02x}"))]
        if not empty:
            return 0
        removed = 0
        with ExitStack() as locks:
            self.lock_all(locks)
            for path in empty:
                with suppress(OSError):  # somebody wrote there meanwhile, or reads it on Windows
                    os.rmdir(path)
                    removed += 1
            sync_path(folder)
        return removed

    def _make_place(self) -> None:
        if os.path.isdir(self.root):
            return
        try:
            os.mkdir(self.root)
        except FileExistsError:  # another process was faster, or there is something else
            if not os.path.isdir(self.root):
                raise
        sync_path(os.path.dirname(self.root))

    @staticmethod
    def _make_folder(path: str) -> bool:
        """Whether it was not there."""
        try:
            files.check_folder(path)
        except FileNotFoundError:
            with suppress(FileExistsError):
                os.mkdir(path)
            files.check_folder(path)
            return True
        return False

    def lock_all(self, stack: ExitStack) -> None:
        """Take every lock of a key: nobody changes any until the stack is left."""
        for shard in range(SHARDS):  # in this order, and nobody who has one waits for another
            stack.enter_context(self.lock_shard(shard))

    def lock_packs(self) -> AbstractContextManager[None]:
        """The lock of who writes a pack."""
        return self._lock_named(keys.PACKS)

    def lock(self, key: str) -> AbstractContextManager[None]:
        return self.lock_shard(keys.shard(key, SHARDS))

    def lock_shard(self, shard: int) -> AbstractContextManager[None]:
        return self._lock_named(f"{shard:02x}")

    def _lock_named(self, name: str) -> AbstractContextManager[None]:
        path = os.path.join(self.make_folders(f"{keys.LOCKS}/"), name)
        message = f"another process has held the lock {printable(path)} for {self.patience:g} s"
        hint = "let it finish, or find it (`fuser` and the name of the lock tell) and end it"
        return Lock(path).hold(self.patience, StorageError(message, hint=hint))


def _is_empty(path: str) -> bool:
    """Whether it is a folder that holds nothing."""
    try:
        files.check_folder(path)
        with os.scandir(path) as entries:
            return next(entries, None) is None
    except OSError:
        return False
