"""Files that somebody else wrote: read whole and within bounds, or refused. No pipe is waited for, no device read.

Files that are replaced whole or not at all. And files of a cache, which may be gone, old or damaged at any time: what
they hold is believed only with its checksum.

JSON in files whose name does not vouch for their content, such as pending profiles, is sealed: `"seal":"sha1"` near the
beginning says that the last field is `"sha1"`, the SHA-1 of all bytes before it. So no change of a bit can hide it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from perfcore.digests import sha1
from perfcore.errors import FormatError, NotFoundError, PerfError, StorageError
from perfcore.named_tuple import NamedTuple
from perfcore.text import printable

_PLAIN = getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)  # else Windows translates line ends
_FLAGS = os.O_RDONLY | _PLAIN | getattr(os, "O_NONBLOCK", 0)  # without it, open waits for who writes to a pipe
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _PLAIN  # never through a link that somebody put there
# What network and FUSE file systems answer that cannot wait for their disk.
_CANNOT_SYNC = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP)
_CHECKSUM = 20  # bytes of a SHA-1
SEAL = "sha1"
_SEAL_END = rb',"sha1":"([0-9a-f]{40})"\}\s*\Z'
_SEAL_LENGTH = len(',"sha1":""}') + 40
_SEAL_SPACE = 16  # white space that an editor may leave at the end
_LARGEST_CACHE = 1 << 28  # bytes: a larger file is none of ours
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


def read(path: Path, limit: int, *, hint: str | None = None, beginning: int | None = None) -> Content:
    """All bytes of a regular file, or of one of any size so many from its `beginning`. NotFoundError where there is
    nothing, StorageError where it is something else or changes meanwhile, FormatError where it has more than `limit`
    bytes; `hint` says what to do then."""
    name = printable(str(path))
    try:
        _refuse_other_kinds(os.stat(path), name)  # before it is opened: opening a device may act on it
        fd = os.open(path, _FLAGS)
        try:
            before = os.fstat(fd)
            _refuse_other_kinds(before, name)
            if beginning is not None:
                return Content(os.read(fd, beginning), _stamp(before))
            if before.st_size > limit:
                raise FormatError(f"{name} has {before.st_size:,} bytes; over {limit:,} are not read", hint=hint)
            data = _content(fd, before.st_size, limit)
            if len(data) > limit:
                raise FormatError(f"{name} has more than {limit:,} bytes, which are not read", hint=hint)
            if _stamp(os.fstat(fd)) != _stamp(before):
                raise StorageError(f"{name} was changed while it was read", hint="try again when it is complete")
        finally:
            os.close(fd)
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
        data = memoryview(read(path, _LARGEST_CACHE).data)
        if data[:_CHECKSUM] == sha1(data[_CHECKSUM:]).digest():
            return bytes(data[_CHECKSUM:])
    return None


def cache(path: Path, data: bytes) -> None:
    """Replace a file of a cache. Where it cannot be written nothing happens: that costs time, nothing else."""
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, sha1(data).digest() + data, durable=False)


def write_whole(path: Path, data: bytes) -> None:
    """Make a file hold these bytes, or leave its content. A link stays one; a device or a pipe is written to."""
    target = path.resolve()
    if target.exists() and not target.is_file():
        target.write_bytes(data)
    else:
        write_atomically(target, data)


def write_atomically(path: Path, data: bytes, *, durable: bool = True, locked: bool = False) -> None:
    """Replace a file, as `replacement` does."""
    with replacement(path, durable=durable, locked=locked) as file:
        file.write(data)


@contextlib.contextmanager
def replacement(path: Path, *, durable: bool = True, locked: bool = False) -> Iterator[IO[bytes]]:
    """Replace a file by what is written, whole or not at all; its mode stays. OSError where it cannot be written. If
    `durable`, the content is on the disk at the end: a cache does not need that, and waiting for a disk takes
    milliseconds. `locked` says that no other process writes this file now: killed ones then leave one unfinished file
    at most."""
    random = "" if locked else f".{os.urandom(8).hex()}"
    temporary = path.with_name(f"{path.name if locked else path.name[:100]}{random}.new")  # NAME_MAX is 255
    if locked:
        temporary.unlink(missing_ok=True)
    handle = os.open(temporary, _NEW, 0o600)  # nobody may open it before it has the mode of the file
    try:
        with open(handle, "wb") as file:
            os.chmod(temporary, _mode(path))
            yield file
            if durable:
                file.flush()
                sync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink()
        raise
    if durable:
        with contextlib.suppress(PermissionError):  # by a directory that may be written to and not be read
            sync_path(path.parent)


def sync(fd: int) -> None:
    """Wait until the disk has the content, where the file system can tell."""
    try:
        if sys.platform == "darwin":
            import fcntl

            fcntl.fcntl(fd, fcntl.F_FULLFSYNC)  # fsync alone leaves the data in the cache of the disk
        else:
            os.fsync(fd)
    except OSError as error:
        if error.errno not in _CANNOT_SYNC:
            raise


def sync_path(path: Path | str) -> None:
    """`sync` for a directory, or a file that is not open. Windows cannot for directories, whose names its file system
    journals, and wants a file opened for writing."""
    if sys.platform == "win32" and os.path.isdir(path):
        return
    fd = os.open(path, _PLAIN | (os.O_RDWR if sys.platform == "win32" else os.O_RDONLY))
    try:
        sync(fd)
    finally:
        os.close(fd)


def default_mode(bits: int = 0o666) -> int:
    """The mode of a new file, or of a new directory for 0o777, by the umask of the process."""
    mask = os.umask(0)  # the only way to read it is to set it
    os.umask(mask)
    return bits & ~mask


def _content(fd: int, size: int, limit: int) -> bytes:
    """Everything, or a little more than `limit` bytes."""
    parts = [os.read(fd, size + 1)]  # one more shows a file that grew
    while parts[-1] and sum(map(len, parts)) <= limit:
        parts.append(os.read(fd, 1 << 16))
    return b"".join(parts) if len(parts) > 2 else parts[0]


def _mode(path: Path) -> int:
    with contextlib.suppress(OSError):
        return path.stat().st_mode & 0o777
    return default_mode()


def _refuse_other_kinds(status: os.stat_result, shown: str) -> None:
    if not stat.S_ISREG(status.st_mode):
        kind = _KINDS.get(stat.S_IFMT(status.st_mode), "no regular file")
        raise StorageError(f"cannot read {shown}: it is {kind}")


def _stamp(status: os.stat_result) -> tuple[int, ...]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def seal(data: bytes) -> bytes:
    """The JSON of an object that says it is sealed, with its checksum."""
    body = memoryview(data)[:-1]
    return b'%s,"sha1":"%s"}' % (body, _seal_digest(body))


def verify_seal(data: bytes, where: str) -> None:
    """FormatError unless sealed JSON is as it was written."""
    if not seal_fits(data):
        raise FormatError(
            f"{where} is damaged: its checksum does not fit",
            hint="if it was changed on purpose, take the fields `seal` and `sha1` out of it",
        )


def seal_fits(data: bytes) -> bool:
    match = re.search(_SEAL_END, data[-_SEAL_LENGTH - _SEAL_SPACE :])
    return match is not None and _seal_digest(memoryview(data)[: match.start() - len(match.string)]) == match[1]


def _seal_digest(data: memoryview) -> bytes:
    return sha1(data).hexdigest().encode()
