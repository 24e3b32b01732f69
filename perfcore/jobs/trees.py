"""Trees of other versions, made to be measured: all at paths of one length, and removed afterwards.

They stand outside the repository, so that nothing which looks for files in the folders above finds the user's.
Each is guarded by a lock for as long as its command lives; a tree without one is left over and is removed. The
lock files stay: there are as many as there ever were trees at one time.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from perfcore.errors import PerfError, StorageError

if TYPE_CHECKING:
    from filelock import FileLock

    from perfcore.repository import Repository

_SLOTS = 1000


class Trees:
    """The trees of one command, as a context manager."""

    def __init__(self, repository: Repository) -> None:
        self.repository = repository
        name = hashlib.sha1(os.fsencode(repository.home), usedforsecurity=False).hexdigest()[:10]
        self.place = repository.places.trees / name
        self._held: list[tuple[Path, FileLock]] = []

    def __enter__(self) -> Trees:
        try:
            self.place.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StorageError(f"cannot make {self.place}: {error.strerror}") from error
        self.prune()
        return self

    def __exit__(self, *_: object) -> None:
        for path, lock in reversed(self._held):
            self._remove(path)
            lock.release()
        self._held.clear()

    def get(self, version: str) -> Path:
        """A clean tree of the version."""
        path, lock = self._free_slot()
        self._held.append((path, lock))
        vcs = self.repository.vcs
        if hasattr(vcs, "worktree"):
            vcs.worktree(version, path)
        else:
            path.mkdir()
            vcs.export(version, path)
        return path

    def prune(self) -> int:
        """Remove what killed commands left; gives how many trees that were."""
        count = 0
        for path in sorted(self.place.iterdir()):
            if path.is_dir():
                lock = _lock(path)
                if _acquired(lock):
                    try:
                        self._remove(path)
                        count += 1
                    finally:
                        lock.release()
        return count

    def _free_slot(self) -> tuple[Path, FileLock]:
        for slot in range(_SLOTS):
            path = self.place / f"tree-{slot:03}"
            lock = _lock(path)
            if not _acquired(lock):
                continue
            if path.exists():
                self._remove(path)
            return path, lock
        raise StorageError(f"{_SLOTS} trees of versions are measured already")

    def _remove(self, path: Path) -> None:
        vcs = self.repository.vcs
        if hasattr(vcs, "remove_worktree"):
            with contextlib.suppress(PerfError):
                vcs.remove_worktree(path)
        shutil.rmtree(path, ignore_errors=True)


def _lock(path: Path) -> FileLock:
    from filelock import FileLock

    return FileLock(path.with_name(path.name + ".lock"), blocking=False)


def _acquired(lock: FileLock) -> bool:
    from filelock import Timeout

    try:
        lock.acquire(blocking=False)
    except Timeout:
        return False
    return True
