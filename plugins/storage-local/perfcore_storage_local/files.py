"""Files and folders, durably: what returned survives a kill and a power cut."""

from __future__ import annotations

import errno
import os
import re
import stat
import sys
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, TypeVar

from perfcore.errors import FormatError, StorageError
from perfcore.files import sync, sync_path
from perfcore.text import clip, printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from io import BufferedWriter, RawIOBase

T = TypeVar("T")

# A folder where a key's file would be is no file of that key; a file in place of its folder holds no keys.
MISSING = (FileNotFoundError, NotADirectoryError, IsADirectoryError)

_PLAIN = getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
# Without O_NONBLOCK, a pipe somebody put there would hold the reader for ever.
_READ = os.O_RDONLY | _PLAIN | _NO_LINK | getattr(os, "O_NONBLOCK", 0)
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _PLAIN | _NO_LINK
_TEMPORARY = r"write-[0-9]+-[0-9a-f]{16}"
_JUNCTION = 0xA0000003  # IO_REPARSE_TAG_MOUNT_POINT of Windows
# Virus scanners and indexers of Windows hold new files open for moments; longer, and somebody else has it.
_BUSY_SECONDS = 2.0
# What file systems say that have no hard links: link(2) has EPERM, FUSE and network file systems the others.
NO_LINKS = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EPERM)
_MANY = 50  # files: waiting for a file system takes about as long as for some dozens of them
# Objects have at most half of it. A larger file came from elsewhere, and reading it could take all memory.
LIMIT = 1 << 29

_SPACE = "make room and try again; nothing was changed"
_PERMISSION = "check who owns the place and whether it may be written"
_HINTS = {
    errno.ENOSPC: _SPACE,
    getattr(errno, "EDQUOT", errno.ENOSPC): _SPACE,
    errno.EFBIG: "the limit on the size of files (`ulimit -f`) or the file system's own is too low",
    errno.EACCES: _PERMISSION,
    errno.EPERM: _PERMISSION,
    errno.EROFS: "the place is mounted read-only",
    errno.ENAMETOOLONG: "use shorter names",
    errno.EXDEV: "all folders of a place must be on one file system",
    errno.EIO: "the disk or its connection is failing; save what is there",
    errno.ELOOP: "a place holds no links; to keep it elsewhere, link the place as a whole",
}


@contextmanager
def explained(doing: str, path: str) -> Iterator[None]:
    """Turns what the operating system refuses into a StorageError that names the file and the cause."""
    try:
        yield
    except (OSError, MemoryError) as error:
        raise failure(doing, path, error) from error


def failure(doing: str, path: str, error: OSError | MemoryError) -> StorageError:
    """What to raise for an error of the operating system."""
    if isinstance(error, MemoryError):
        return StorageError(f"cannot {doing} {_shown(path)}: it does not fit into memory")
    cause = error.strerror or str(error)
    if isinstance(error.filename, str) and error.filename != path:
        cause += f" ({error.filename})"
    return StorageError(f"cannot {doing} {_shown(path)}: {_shown(cause)}", hint=_HINTS.get(error.errno or 0))


def read(path: str, offset: int = 0, length: int | None = None) -> bytes:
    """The bytes of a regular file, or those of a range of it. Never follows a link, never waits at a pipe."""
    fd = open_to_read(path)
    try:
        status = os.fstat(fd)
        check_regular(status, path)
        check_size(status.st_size, path)
        with open(fd, "rb", buffering=0, closefd=False) as file:
            file.seek(offset)
            return file.read() if length is None else _exactly(file, min(length, max(0, status.st_size - offset)))
    finally:
        os.close(fd)


@contextmanager
def temporary(folder: str, data: bytes, *, durable: bool = True) -> Iterator[str]:
    """A file in `folder` that holds the data durably, gone afterwards unless it was renamed. What is not `durable` is
    made so by `sync_many`.

    Not `perfcore.files.write_atomically`: a new key appears by a link to this file, which fails where there is one
    already, and two writes of the same bytes must have different times.
    """
    if len(data) > LIMIT:
        raise StorageError(f"{len(data):,} bytes cannot be kept: no file here may have over {LIMIT:,}")
    path = _temporary_path(folder)
    try:
        _write(path, data, durable)
        yield path
    finally:
        with suppress(OSError):
            os.unlink(path)


@contextmanager
def open_temporary(folder: str) -> Iterator[tuple[str, BufferedWriter]]:
    """A file in `folder` to be written, gone afterwards unless it was renamed."""
    path = _temporary_path(folder)
    try:
        with open(os.open(path, _WRITE, 0o666), "wb") as file:
            yield path, file
    finally:
        with suppress(OSError):
            os.unlink(path)


def _temporary_path(folder: str) -> str:
    return os.path.join(folder, f"write-{os.getpid()}-{os.urandom(8).hex()}")


def sync_many(root: str, paths: Sequence[str]) -> None:
    """Make files and folders below a root durable: many at once, where the system can, or each by itself. A folder that
    is gone held nothing when it was removed: all that was there went elsewhere, durably."""
    if len(paths) >= _MANY and _sync_file_system(root):
        return
    for path in paths:
        with suppress(FileNotFoundError):
            sync_path(path)


def _sync_file_system(root: str) -> bool:
    """Whether the system has syncfs(2), which has waited for all that was written to a file system. That of Linux says
    whether it failed, others do not."""
    if sys.platform != "linux":
        return False
    import ctypes

    call = getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None)
    if call is None:
        return False
    fd = os.open(root, os.O_RDONLY | _PLAIN)
    try:
        if call(fd):
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code), root)
    finally:
        os.close(fd)
    return True


def is_temporary(name: str) -> bool:
    """Whether a file of this name was made by `temporary`."""
    return re.fullmatch(_TEMPORARY, name) is not None


def create_whole(path: str, data: bytes) -> None:
    """Make a file that has these bytes from its first moment on. One that somebody made meanwhile stays."""
    temporary = _temporary_path(os.path.dirname(path))
    try:
        with open(os.open(temporary, _WRITE, 0o666), "wb") as file:
            file.write(data)
        try:
            os.link(temporary, path)
        except FileExistsError:
            return
        except OSError as error:
            if error.errno not in NO_LINKS:
                raise
            with suppress(FileExistsError), open(path, "xb", buffering=0) as file:
                file.write(data)
    finally:
        with suppress(OSError):
            os.unlink(temporary)


def rename(source: str, target: str) -> None:
    """Put `source` in the place of `target`, which other processes may be reading."""
    _patiently(os.replace, source, target)


def remove(path: str) -> None:
    _patiently(os.unlink, path)


def make_newer(path: str, modified: int) -> None:
    """Set the time of a file to now, and in any case to another one than `modified`: file systems keep times
    to 1 ns, 100 ns, 1 µs, 1 s or 2 s."""
    # ext4, XFS and btrfs keep 1 ns, NTFS 100 ns, HFS+ 1 s and FAT 2 s.
    for step in (1, 100, 1_000, 1_000_000_000, 2_000_000_000):
        moment = max(time.time_ns(), modified + step)
        try:
            os.utime(path, ns=(moment, moment))
        except PermissionError:
            os.utime(path)  # the one time that may be given to somebody else's file is now
        if os.lstat(path).st_mtime_ns != modified:
            return


def is_link(status: os.stat_result) -> bool:
    """A symbolic link, or the junction that Windows has beside it."""
    return stat.S_ISLNK(status.st_mode) or getattr(status, "st_reparse_tag", 0) == _JUNCTION


def check_regular(status: os.stat_result, path: str) -> None:
    """An OSError unless it is a file with bytes of its own."""
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if is_link(status):
        raise OSError(errno.ELOOP, "it is a link", path)
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "it is not a regular file", path)


def check_size(size: int, path: str) -> None:
    """FormatError for more bytes than a file here may have."""
    if size > LIMIT:
        raise FormatError(f"{_shown(path)} is damaged: it has {size:,} bytes, and nothing here has over {LIMIT:,}")


def check_folder(path: str) -> None:
    """FileNotFoundError or NotADirectoryError unless it is a folder. A link to one is refused: a store may
    come with a cloned repository, and collecting garbage through its links would delete files elsewhere."""
    status = os.lstat(path)
    if is_link(status):
        raise OSError(errno.ELOOP, "it is a link", path)
    if not stat.S_ISDIR(status.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)


def _shown(text: str) -> str:
    return clip(printable(text), 500)


def _exactly(file: RawIOBase, length: int) -> bytes:
    """So many bytes, fewer only at the end of the file: a single call may give fewer for no reason."""
    parts = []
    while length > 0 and (part := file.read(length)):
        parts.append(part)
        length -= len(part)
    return b"".join(parts)


def open_to_read(path: str) -> int:
    """A descriptor. Never follows a link, never waits at a pipe."""
    return _patiently(_open_to_read, path)


def _open_to_read(path: str) -> int:
    try:
        return os.open(path, _READ)
    except PermissionError as error:
        if os.path.isdir(path):  # what Windows says of a folder
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path) from error
        raise


def _write(path: str, data: bytes, durable: bool) -> None:
    fd = os.open(path, _WRITE, 0o666)
    try:
        unwritten = memoryview(data)
        while unwritten:
            unwritten = unwritten[os.write(fd, unwritten) :]
        _stamp(fd)
        if durable:
            sync(fd)
    finally:
        os.close(fd)


def _stamp(fd: int) -> None:
    """Give the file a time of its own. The kernel's clock ticks every few milliseconds and inodes are used
    again, so two writes could otherwise look the same to `stat`."""
    if os.utime in os.supports_fd:
        timestamp = time.time_ns()
        os.utime(fd, ns=(timestamp, timestamp))


def _patiently(action: Callable[..., T], *arguments: str) -> T:
    """Windows refuses to replace or remove a file that is open elsewhere, and to open it in that instant."""
    deadline = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            return action(*arguments)
        except PermissionError:
            if sys.platform != "win32" or time.monotonic() >= deadline:
                raise
        time.sleep(0.005)
