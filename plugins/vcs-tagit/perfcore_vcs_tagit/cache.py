"""What the files of a working tree were the last time that somebody read them. It may be deleted at any time.

    "tagit cache 1" LF
    when it was begun (nanoseconds since 1970 UTC by the clock of the file system), number of files (8 bytes each)
    a record for each file: size, time of change, time of change of its status (both in ns), inode (8 bytes each),
        id (20 bytes)
    the paths of the files in the same order, NUL between them
    SHA-1 of all that (20 bytes)

Numbers are little endian. A file that changed when the cache was begun, or later, may have changed again without
another time: it is not believed, but read (git calls such a file racy).
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import struct
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import attrs

from perfcore import files
from perfcore.errors import PerfError

_HEAD = b"tagit cache 1\n"
_SIZES = struct.Struct("<qQ")
_RECORD = struct.Struct("<qqqQ20s")
_LIMIT = 1 << 28
_PATIENCE, _PAUSE = 0.03, 0.002

Seen = tuple[int, int, int, int, bytes]
"""Size, time of change, time of change of the status, inode; and the id of the content."""


@attrs.frozen
class Cache:
    """Files by their paths, as they were; `begun` says from when on changes may have gone unseen."""

    begun: int = 0
    files: Mapping[bytes, Seen] = {}

    def of(self, path: bytes, status: os.stat_result) -> Seen | None:
        """What is known of a file, if it certainly is the file that was read."""
        record = self.files.get(path)
        if record is None or record[:4] != _stamp(status) or not believed(record, self.begun):
            return None
        return record


def believed(seen: Seen, begun: int) -> bool:
    """Whether a change after the file was read would show. The time of change can be set by anybody, but not that
    of the status; Windows has only the first."""
    return (seen[1] if sys.platform == "win32" else seen[2]) < begun


def see(status: os.stat_result, id: str) -> Seen:
    """What is kept of a file."""
    return (*_stamp(status), bytes.fromhex(id))


def begin(path: Path) -> int:
    """The time by the clock of the file system."""
    temporary = path.with_name(path.name + ".new")
    temporary.write_bytes(_HEAD)
    return temporary.stat().st_mtime_ns


def begin_after(path: Path, files: Mapping[bytes, Seen]) -> int:
    """The same, after the clock went on since the last change of these files, if that does not take long."""
    last = max((record[2] for record in files.values()), default=0)
    deadline = time.monotonic() + _PATIENCE
    while (begun := begin(path)) <= last and time.monotonic() < deadline:
        time.sleep(_PAUSE)
    return begun


def read(path: Path) -> Cache:
    """The cache in a file; an empty one where there is none that is whole."""
    with contextlib.suppress(PerfError, struct.error):
        data = files.read(path, _LIMIT).data
        body = data[:-20]
        if body.startswith(_HEAD) and hashlib.sha1(body, usedforsecurity=False).digest() == data[-20:]:
            return _decode(body)
    return Cache()


def write(path: Path, cache: Cache) -> None:
    """Replace the cache. That it cannot be written is no failure."""
    body = _HEAD + _SIZES.pack(cache.begun, len(cache.files))
    body += b"".join(_RECORD.pack(*record) for record in cache.files.values()) + b"\0".join(cache.files)
    with contextlib.suppress(OSError):
        temporary = path.with_name(path.name + ".new")
        temporary.write_bytes(body + hashlib.sha1(body, usedforsecurity=False).digest())
        os.replace(temporary, path)


def _decode(body: bytes) -> Cache:
    begun, count = _SIZES.unpack_from(body, len(_HEAD))
    start = len(_HEAD) + _SIZES.size
    end = start + count * _RECORD.size
    names = body[end:].split(b"\0") if count else []
    if len(names) != count:
        return Cache()
    return Cache(begun, dict(zip(names, _RECORD.iter_unpack(body[start:end]), strict=True)))


def _stamp(status: os.stat_result) -> tuple[int, int, int, int]:
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino & 0xFFFFFFFFFFFFFFFF
