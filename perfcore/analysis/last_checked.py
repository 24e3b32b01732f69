"""When versions were checked last: in the cache, because a check with the same result as before writes no note."""

from __future__ import annotations

import contextlib
from pathlib import Path

import msgspec

from perfcore import files
from perfcore.repository.repository import Repository
from perfcore.text import encodable

_MOST = 256  # versions: the file is rewritten with every check, and `status` asks only for the head


def remember(repository: Repository, version: str, time: int) -> None:
    """A version was checked (ns since 1970 UTC)."""
    times = {**_known(_path(repository)), encodable(version): time}
    newest = sorted(times.items(), key=lambda pair: pair[1])[-_MOST:]
    files.cache(_path(repository), msgspec.json.encode(dict(newest)))


def checked(repository: Repository, version: str) -> int:
    """When a version was checked last (ns since 1970 UTC); 0 if that is unknown."""
    return _known(_path(repository)).get(encodable(version), 0)


def _path(repository: Repository) -> Path:
    return repository.perf / "cache" / "checked"


def _known(path: Path) -> dict[str, int]:
    with contextlib.suppress(msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return msgspec.json.decode(files.cached(path) or b"{}", type=dict[str, int])
    return {}
