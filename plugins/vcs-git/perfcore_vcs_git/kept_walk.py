"""The last walk of a long history, kept in the folder of administration: to read what git printed takes a tenth of the
time that git takes to walk.

What git prints follows from the commit where it begins, as ids are digests, unless commits are replaced or grafted, for
which nothing is kept, or the clone is shallow: a walk is believed only with the list of the cuts that it was made with.

    SHA-1 of what follows, 20 bytes | `walk 1 HEAD CUTS\\n`, CUTS being the SHA-1 of `shallow` | what git printed
"""

from __future__ import annotations

import contextlib
import os
from typing import IO, TYPE_CHECKING

from perfcore import files
from perfcore.digests import sha1
from perfcore.named_tuple import NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

    from perfcore_vcs_git.discovery import Places

_NAME = "perfcore-walk"
_FORMAT = "walk 1"
_DIGEST = 20  # bytes
_PART = 1 << 16  # bytes that are read or copied at once
_LARGEST = 256_000_000  # bytes, some two million commits
_LEAST = 1 << 16  # bytes: git lists so few commits, some 500, in a few milliseconds


class Walk(NamedTuple):
    """What git printed of a commit and its ancestors, in a file from its place on."""

    head: str
    records: IO[bytes]


class KeptWalk:
    """Of one repository; `record` and `keep` are for one walk."""

    def __init__(self, places: Places) -> None:
        self._common_dir = places.common_dir
        self._path = places.common_dir / _NAME
        self._cuts = sha1(_read(places.shallow)).hexdigest()
        self._spool: IO[bytes] | None = None
        self._size = 0

    def read(self) -> Walk | None:
        """None where none is kept that holds now. The caller closes the file."""
        with contextlib.ExitStack() as opened, contextlib.suppress(OSError, ValueError):
            file = opened.enter_context(open(self._path, "rb", opener=_opener))
            digest, beginning = file.read(_DIGEST), file.readline(200)
            name, number, head, cuts = beginning.decode("ascii").split()
            is_known = f"{name} {number}" == _FORMAT and cuts == self._cuts and not _is_rewritten(self._common_dir)
            if is_known and _digest(beginning, file) == digest:
                file.seek(_DIGEST + len(beginning))
                opened.pop_all()
                return Walk(head, file)
        return None

    def record(self, part: bytes) -> None:
        """Add what git printed next."""
        if self._spool is None:
            from tempfile import SpooledTemporaryFile

            self._spool = SpooledTemporaryFile(1 << 20)  # noqa: SIM115
        self._size += len(part)
        if self._size <= _LARGEST:
            self._spool.write(part)

    def keep(self, head: str) -> None:
        """Keep what was recorded, all that git printed of a commit, where that is worth it and can be written."""
        # After the walk: what replaces a commit may have been written meanwhile.
        if self._spool is None or not _LEAST <= self._size <= _LARGEST or _is_rewritten(self._common_dir):
            return
        beginning = f"{_FORMAT} {head} {self._cuts}\n".encode("ascii")
        self._spool.seek(0)
        digest = _digest(beginning, self._spool)
        self._spool.seek(0)
        with contextlib.suppress(OSError), files.replacement(self._path, durable=False) as file:
            file.write(digest + beginning)
            while part := self._spool.read(_PART):
                file.write(part)

    def close(self) -> None:
        """Forget what was recorded."""
        if self._spool is not None:
            self._spool.close()


def _opener(path: str, flags: int) -> int:
    # Whatever stands there is opened without waiting for it, as a pipe would make it.
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _digest(beginning: bytes, records: IO[bytes]) -> bytes:
    import hashlib  # of some 100 bytes a version

    digest = hashlib.sha1(beginning, usedforsecurity=False)
    while part := records.read(_PART):
        digest.update(part)
    return digest.digest()


def _is_rewritten(common_dir: Path) -> bool:
    """Whether git may show other parents than those of the commits: gitrepository-layout(5), git-replace(1). Where refs
    are in a `reftable`, it is not looked for them."""
    if "GIT_REPLACE_REF_BASE" in os.environ or os.path.isdir(common_dir / "reftable"):
        return True
    if os.path.exists(common_dir / "info" / "grafts") or os.path.isdir(common_dir / "refs" / "replace"):
        return True
    return b" refs/replace/" in _read(common_dir / "packed-refs")


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:  # as nearly always: it is not there
        return b""
