"""A kernel lock on a file. It vanishes with the process that holds it, however that ends.

The package `filelock` does the same, but importing it would slow down every command that takes a lock.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from perfcore.errors import PerfError, StorageError
from perfcore.text import printable

_FIRST_PAUSE, _LONGEST_PAUSE = 0.0005, 0.02  # seconds: it doubles between tries, and 20 ms are not noticed
# A lock is made where somebody else's files may be: it is never opened through a link.
_FLAGS = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)

if sys.platform == "win32":
    import msvcrt

    _HELD = (errno.EACCES, errno.EAGAIN, errno.EDEADLK)
    _TO_LOOK = os.O_RDWR

    def _take(fd: int, *, shared: bool) -> None:
        os.lseek(fd, 0, os.SEEK_SET)  # Windows locks bytes from the current position on
        msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)

    def _give(fd: int) -> None:
        os.lseek(fd, 0, os.SEEK_SET)
        msvcrt.locking(fd, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    _HELD = (errno.EACCES, errno.EAGAIN, errno.EWOULDBLOCK)
    _TO_LOOK = os.O_RDONLY

    def _take(fd: int, *, shared: bool) -> None:
        # Not lockf(3): POSIX drops its locks when the process closes any descriptor of the file.
        fcntl.flock(fd, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)

    def _give(fd: int) -> None:
        fcntl.flock(fd, fcntl.LOCK_UN)


class Lock:
    """A lock file, made when it is needed and never deleted: whoever deletes a lock file lets in a second holder.
    Excludes other processes, and other threads with a `Lock` of their own. A process that inherits `fd` holds it
    too. StorageError where the file system has no locks."""

    def __init__(self, path: str | Path) -> None:
        self.path = path
        self.fd = -1

    @property
    def held(self) -> bool:
        """Whether this object holds it."""
        return self.fd >= 0

    def acquire(self, patience: float = 1.0) -> bool:
        """Whether it could be had in so many seconds."""
        deadline = time.monotonic() + patience  # the time of day may be set meanwhile
        fd = os.open(self.path, _FLAGS, 0o666)
        try:
            pause = _FIRST_PAUSE
            while not self._taken(fd):
                if time.monotonic() >= deadline:
                    return False
                time.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
            self.fd = fd
        finally:
            if self.fd != fd:
                os.close(fd)
        return True

    def release(self) -> None:
        """Let go; nothing happens where it is not held. A process that inherited it keeps it."""
        fd, self.fd = self.fd, -1
        if fd >= 0:
            os.close(fd)

    @contextlib.contextmanager
    def hold(self, patience: float, otherwise: PerfError) -> Iterator[None]:
        """Hold it for a while; held already, it stays so. Where it cannot be had, `otherwise` is raised."""
        if self.held:
            yield
            return
        if not self.acquire(patience):
            raise otherwise
        try:
            yield
        finally:
            _give(self.fd)  # closing is not enough where a process forked meanwhile has the file open, too
            self.release()

    def is_free(self) -> bool:
        """Whether nobody holds it. Nothing is written."""
        try:
            fd = os.open(self.path, _TO_LOOK)
        except FileNotFoundError:
            return True
        try:
            return self._taken(fd, shared=True)
        finally:
            os.close(fd)

    def _taken(self, fd: int, *, shared: bool = False) -> bool:
        try:
            _take(fd, shared=shared)
        except OSError as error:
            if error.errno in _HELD:
                return False
            raise StorageError(
                f"{printable(str(self.path))} cannot be locked: {error.strerror}",
                hint="the file system lacks locks; use a local disk",
            ) from error
        return True
