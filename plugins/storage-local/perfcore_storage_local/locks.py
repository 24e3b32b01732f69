"""A kernel lock on a file. It vanishes with the process that holds it, however that ends.

The `filelock` package does the same, but importing it costs more time than all of `perf status`.
"""

from __future__ import annotations

import errno
import os
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from perfcore.errors import StorageError
from perfcore.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

_FIRST_PAUSE, _LONGEST_PAUSE = 0.0005, 0.02
_FLAGS = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)

if sys.platform == "win32":
    import msvcrt

    _HELD = (errno.EACCES, errno.EAGAIN, errno.EDEADLK)

    def _take(fd: int) -> None:
        os.lseek(fd, 0, os.SEEK_SET)
        msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)

    def _release(fd: int) -> None:
        os.lseek(fd, 0, os.SEEK_SET)
        msvcrt.locking(fd, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    _HELD = (errno.EACCES, errno.EAGAIN, errno.EWOULDBLOCK)

    def _take(fd: int) -> None:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _release(fd: int) -> None:
        fcntl.flock(fd, fcntl.LOCK_UN)


@contextmanager
def locked(path: str, patience: float) -> Iterator[None]:
    """Hold the lock of this file, made if it is not there and never deleted: whoever deletes a lock file lets
    in a second holder. Excludes other processes and other threads alike."""
    fd = os.open(path, _FLAGS, 0o666)
    try:
        _wait(fd, path, patience)
        try:
            yield
        finally:
            _release(fd)  # closing is not enough where a process forked meanwhile has the file open, too
    finally:
        os.close(fd)


def _wait(fd: int, path: str, patience: float) -> None:
    deadline = time.monotonic() + patience
    pause = _FIRST_PAUSE
    while not _taken(fd, path):
        if time.monotonic() >= deadline:
            raise StorageError(
                f"another process has held the lock {printable(path)} for {patience:g} s",
                hint="let it finish, or find it (`fuser` and the name of the lock tell) and end it",
            )
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)


def _taken(fd: int, path: str) -> bool:
    try:
        _take(fd)
    except OSError as error:
        if error.errno in _HELD:
            return False
        raise StorageError(
            f"{printable(path)} cannot be locked: {error.strerror}",
            hint="the file system lacks locks; keep the place on a local disk",
        ) from error
    return True
