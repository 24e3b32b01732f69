"""Files that somebody else wrote: read whole and within bounds, or refused. No pipe is waited for, no device read.

And files of a cache, which may be gone, old or damaged at any time: what they hold is believed only with its checksum.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import tempfile
from pathlib import Path
from typing import NamedTuple

from perfcore.errors import FormatError, NotFoundError, PerfError, StorageError
from perfcore.text import printable

_FLAGS = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)
_CHECKSUM = 20
_LARGEST_CACHE = 1 << 28
_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


class Content(NamedTuple):
    """A file's bytes, and what tells whether the file is still the one that was read."""

    data: bytes
    stamp: tuple[int, ...]


def read(path: Path, limit: int, *, hint: str | None = None) -> Content:
    """All bytes of a regular file. NotFoundError where there is nothing, StorageError where it is something else
    or changes meanwhile, FormatError where it has more than `limit` bytes; `hint` says what to do then."""
    name = printable(str(path))
    try:
        _refuse_other_kinds(os.stat(path), name)
        with contextlib.closing(_Opened(path)) as file:
            before = file.status()
            _refuse_other_kinds(before, name)
            if before.st_size > limit:
                raise FormatError(f"{name} has {before.st_size:,} bytes; over {limit:,} are not read", hint=hint)
            data = file.read(limit)
            if len(data) > limit:
                raise FormatError(f"{name} has more than {limit:,} bytes, which are not read", hint=hint)
            if _stamp(file.status()) != _stamp(before):
                raise StorageError(f"{name} was changed while it was read", hint="try again when it is complete")
    except (FileNotFoundError, NotADirectoryError) as error:
        raise NotFoundError(f"{name} is not there") from error
    except (OSError, ValueError) as error:
        raise StorageError(f"cannot read {name}: {getattr(error, 'strerror', None) or error}") from error
    return Content(data, _stamp(before))


def is_unchanged(path: Path, stamp: tuple[int, ...]) -> bool:
    """Whether the file is the one that had this stamp when it was read."""
    try:
        return _stamp(os.stat(path)) == stamp
    except OSError:
        return False


def cached(path: Path) -> bytes | None:
    """What `cache` wrote there last; None where that cannot be read or is not whole."""
    with contextlib.suppress(PerfError):
        data = read(path, _LARGEST_CACHE).data
        if data[:_CHECKSUM] == _checksum(data[_CHECKSUM:]):
            return data[_CHECKSUM:]
    return None


def cache(path: Path, data: bytes) -> None:
    """Replace a file of a cache. Where it cannot be written nothing happens: that costs time, nothing else."""
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, _checksum(data) + data, durable=False)


def write_atomically(path: Path, data: bytes, *, durable: bool = True) -> None:
    """Replace a file whole or not at all; its mode stays. OSError where it cannot be written. If `durable`, the content
    is on the disk when this returns: a cache does not need that, and waiting for a disk takes milliseconds."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with open(handle, "wb") as file:
            os.chmod(temporary, _mode(path))
            file.write(data)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def default_mode(bits: int = 0o666) -> int:
    """The mode of a new file, or of a new directory for 0o777, by the umask of the process."""
    mask = os.umask(0)  # the only way to read it is to set it
    os.umask(mask)
    return bits & ~mask


class _Opened:
    """A file opened without waiting for anybody at its other end."""

    def __init__(self, path: Path) -> None:
        self._fd = os.open(path, _FLAGS)

    def close(self) -> None:
        os.close(self._fd)

    def status(self) -> os.stat_result:
        return os.fstat(self._fd)

    def read(self, limit: int) -> bytes:
        """Everything, or a little more than `limit` bytes."""
        size = min(self.status().st_size, limit)
        with open(self._fd, "rb", buffering=0, closefd=False) as file:
            data = file.read(size + 1) or b""
            if len(data) <= size:
                return data
            parts = [data]
            while sum(map(len, parts)) <= limit and (chunk := file.read(1 << 20)):
                parts.append(chunk)
        return b"".join(parts)


def _mode(path: Path) -> int:
    with contextlib.suppress(OSError):
        return path.stat().st_mode & 0o777
    return default_mode()


def _checksum(data: bytes) -> bytes:
    return hashlib.sha1(data, usedforsecurity=False).digest()


def _refuse_other_kinds(status: os.stat_result, shown: str) -> None:
    if not stat.S_ISREG(status.st_mode):
        kind = _KINDS.get(stat.S_IFMT(status.st_mode), "no regular file")
        raise StorageError(f"cannot read {shown}: it is {kind}")


def _stamp(status: os.stat_result) -> tuple[int, ...]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
