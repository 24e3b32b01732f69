"""Kernel locks on files: held while a process lives, gone with it however it ends."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from perfcore.errors import VersionError
from perfcore_vcs_tagit.durable import shown

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_PAUSE = 0.02


class Lock:
    """A lock file, which is made when it is needed and never deleted."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._fd = -1

    @property
    def held(self) -> bool:
        """Whether this object holds it."""
        return self._fd >= 0

    def acquire(self, patience: float) -> bool:
        """Whether it could be had within so many seconds."""
        deadline = time.monotonic() + patience
        fd = os.open(self.path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o666)
        while not _locked(fd, self.path):
            if time.monotonic() > deadline:
                os.close(fd)
                return False
            time.sleep(_PAUSE)
        self._fd = fd
        return True

    def release(self) -> None:
        """Let go; nothing happens where it is not held."""
        fd, self._fd = self._fd, -1
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

    @contextlib.contextmanager
    def hold(self, patience: float, complaint: str, hint: str) -> Iterator[None]:
        """Hold it for a while; held already, it stays so. VersionError where it cannot be had."""
        if self.held:
            yield
            return
        if not self.acquire(patience):
            raise VersionError(complaint, hint=hint)
        try:
            yield
        finally:
            self.release()


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
        raise VersionError(f"the file system of {shown(path.parent)} has no locks: {error.strerror}") from error
    return True
