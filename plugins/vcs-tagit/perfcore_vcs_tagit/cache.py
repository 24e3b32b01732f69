"""What the files of a working tree were the last time that somebody read them. It may be deleted at any time.

    SHA-1 of all that follows (20 bytes), as `perfcore.files` keeps files of a cache
    "tagit cache 2" LF
    when it was begun (nanoseconds since 1970 UTC by the clock of the file system), number of files (8 bytes each)
    a record for each file: size, time of change, time of change of its status (both in ns), inode (8 bytes each),
        id (20 bytes)
    the paths of the files in the same order, NUL between them

Numbers are little endian. A file that changed when the cache was begun, or later, may have changed again without
another time: it is not believed, but read (git calls such a file racy).
"""

from __future__ import annotations

import contextlib
import os
import struct
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import attrs

from perfcore import files

_HEAD = b"tagit cache 2\n"
_SIZES = struct.Struct("<qQ")
_RECORD = struct.Struct("<qqqQ20s")
# Seconds. Times of files are those of the kernel's coarse clock, which ticks every 1 to 10 ms (CONFIG_HZ).
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
    probe = path.with_name(path.name + ".new")
    with open(probe, "wb", buffering=0) as file:
        file.write(_HEAD)
        begun = os.fstat(file.fileno()).st_mtime_ns  # by the handle: another process may remove the file meanwhile
    probe.unlink(missing_ok=True)
    return begun


def begin_after(path: Path, files: Mapping[bytes, Seen]) -> int:
    """The same, after the clock went on since the last change of these files, if that does not take long."""
    last = max((record[2] for record in files.values()), default=0)
    deadline = time.monotonic() + _PATIENCE
    while (begun := begin(path)) <= last and time.monotonic() < deadline:
        time.sleep(_PAUSE)
    return begun


def read(path: Path) -> Cache:
    """The cache in a file; an empty one where there is none that is whole."""
    data = files.cached(path) or b""
    with contextlib.suppress(struct.error):
        if data.startswith(_HEAD):
            return _decode(data)
    return Cache()


def write(path: Path, cache: Cache) -> None:
    """Replace the cache. That it cannot be written is no failure."""
    data = _HEAD + _SIZES.pack(cache.begun, len(cache.files))
    data += b"".join(_RECORD.pack(*record) for record in cache.files.values()) + b"\0".join(cache.files)
    files.cache(path, data)


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
