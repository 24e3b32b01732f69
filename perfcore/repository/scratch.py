"""Folders that belong to one command each, held by a lock as long as it lives.

A folder that nobody holds was left by a killed command, and is removed. All folders of a kind have paths of one
length. The lock files stay: there are as many as there ever were folders at one time.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Self

from perfcore.errors import PerfError, StorageError
from perfcore.locks import Lock

if TYPE_CHECKING:
    from perfcore.hookspecs import Vcs
    from perfcore.repository.repository import Repository

_SLOTS = 1000  # names of directories are reused, so that at most so many lock files remain


class LockedDirs:
    """The directories of a kind that one command holds, as a context manager. `remove` is called before a deletion."""

    def __init__(self, path: Path, kind: str, remove: Callable[[Path], None] = lambda path: None) -> None:
        self.path = path
        self.kind = kind
        self._remove_content = remove
        self._held: list[tuple[Path, Lock]] = []

    def __enter__(self) -> Self:
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self.prune()
        except OSError as error:
            raise StorageError(f"cannot use {self.path}: {error.strerror}", hint="XDG_CACHE_HOME names it") from error
        return self

    def __exit__(self, *_: object) -> None:
        while self._held:
            self._remove(self._held[-1][0])
            self._held.pop()[1].release()

    __del__ = __exit__  # it may have been interrupted

    def acquire(self, preferred: int = 0) -> Path:
        """The path of a folder that does not exist yet: that of the number `preferred`, or of the next that is free."""
        for slot in range(preferred, preferred + _SLOTS):
            path = self.path / f"{self.kind}-{slot % _SLOTS:03}"
            lock = _lock(path)
            if not lock.acquire(0):
                continue
            self._held.append((path, lock))
            if path.exists():  # of a killed command
                self._remove(path)
            if not path.exists():  # else it holds what this user may not remove
                return path
        raise StorageError(f"there are {_SLOTS} folders in {self.path} already")

    def prune(self) -> None:
        """Remove directories that killed commands left."""
        # By their locks, too: a tree may be gone of which the version control system still knows.
        names = {path.name.removesuffix(".lock") for path in self.path.glob(f"{self.kind}-???*")}
        for path in (self.path / name for name in sorted(names)):
            lock = _lock(path)
            if lock.acquire(0):
                try:
                    self._remove(path)
                finally:
                    lock.release()

    def _remove(self, path: Path) -> None:
        self._remove_content(path)
        try:
            for folder in () if path.is_symlink() else os.listdir(path):  # of jobs; most leave nothing
                os.rmdir(path / folder)
            os.rmdir(path)
        except OSError:
            try:
                if os.path.lexists(path):
                    shutil.rmtree(path, ignore_errors=True)
            except OSError as error:  # interrupted: it then closes a folder twice
                raise error.__context__ or error from None


def tree_remover(vcs: Vcs) -> Callable[[Path], None]:
    """What to call before the files of a tree are deleted, so that the version control system forgets it."""

    def remove(directory: Path) -> None:
        if hasattr(vcs, "remove_worktree"):
            with contextlib.suppress(PerfError):  # a killed command may have left half of one
                vcs.remove_worktree(directory)

    return remove


def remove_left_trees(repository: Repository) -> None:
    """Remove the trees of killed commands. Where that fails they stay: the command at work does not need it."""
    with contextlib.suppress(OSError, PerfError):
        LockedDirs(repository.scratch, "tree", tree_remover(repository.vcs)).prune()


@contextlib.contextmanager
def workspace(directory: Path | None) -> Iterator[Path]:
    """A folder for the files of one plan; where it cannot be used, among the system's temporary ones."""
    with contextlib.ExitStack() as stack:
        path = None
        with contextlib.suppress(StorageError):
            path = stack.enter_context(LockedDirs(directory, "plan")).acquire() if directory else None
        if path is None:
            import tempfile

            path = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="perfcore-")))
        yield path


def _lock(path: Path) -> Lock:
    return Lock(path.with_name(path.name + ".lock"))
