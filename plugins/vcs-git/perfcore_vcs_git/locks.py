"""Kernel locks on files: held while a process lives, gone with it however it ends."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from perfcore.errors import VersionError
from perfcore.text import printable

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_PAUSE = 0.02


class Lock:
    """A lock file, which is made when it is needed and never deleted. A process that inherits `fd` holds it too."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.fd = -1

    @property
    def held(self) -> bool:
        """Whether this object holds it."""
        return self.fd >= 0

    def acquire(self, patience: float = 1.0) -> bool:
        """Whether it could be had in so many seconds."""
        deadline = time.monotonic() + patience
        fd = os.open(self.path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o666)
        while not _locked(fd, self.path):
            if time.monotonic() > deadline:
                os.close(fd)
                return False
            time.sleep(_PAUSE)
        self.fd = fd
        return True

    def release(self) -> None:
        """Let go; nothing happens where it is not held."""
        fd, self.fd = self.fd, -1
        if fd >= 0:
            os.close(fd)

    def is_free(self) -> bool:
        """Whether nobody holds it. Nothing is written."""
        try:
            fd = os.open(self.path, os.O_RDWR if sys.platform == "win32" else os.O_RDONLY)
        except FileNotFoundError:
            return True
        try:
            return _locked(fd, self.path, shared=True)
        finally:
            os.close(fd)


def _locked(fd: int, path: Path, *, shared: bool = False) -> bool:
    try:
        if sys.platform == "win32":
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(fd, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    except OSError as error:
        os.close(fd)
        raise VersionError(
            f"the file system of {printable(str(path.parent))} has no locks: {error.strerror}",
            hint="measure in a tree elsewhere instead of in place",
        ) from error
    return True
