"""What was installed when a command last asked, in a small file of the user's cache.

Asking the metadata of everything that is installed takes longer than most commands. The file is believed while
the folders from which Python imports hold the same distributions with the same files of entry points, for this
interpreter and this perfcore; and where its answer does not hold, the metadata are asked again. It may be removed
at any time.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
from collections.abc import Iterator, Mapping
from importlib.machinery import PathFinder
from pathlib import Path

import msgspec

from perfcore import __version__
from perfcore.installed import GROUPS, Found

_SUFFIXES = (".dist-info", ".egg-info", ".egg")
_POINTS = ("entry_points.txt", "EGG-INFO/entry_points.txt")
_LIMIT = 1 << 22
_MANY = 50

Announced = Mapping[str, tuple[Found, ...]]


class _Row(msgspec.Struct, array_like=True):
    kind: str
    name: str
    target: str
    distribution: str
    version: str
    systems: tuple[str, ...]


class _Memory(msgspec.Struct, array_like=True):
    stamp: str
    rows: list[_Row]


_decode = msgspec.json.Decoder(_Memory).decode


def recall(place: Path) -> Announced | None:
    """Every plugin by kind, as it was announced; None where that is not known, or not any more."""
    try:
        with open(_file(place), "rb") as file:
            memory = _decode(file.read(_LIMIT))
    except (OSError, msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return None
    if memory.stamp != _stamp() or any(row.kind not in GROUPS for row in memory.rows):
        return None
    found = [Found(**msgspec.structs.asdict(row)) for row in memory.rows]
    return {kind: tuple(each for each in found if each.kind == kind) for kind in GROUPS}


def keep(place: Path, announced: Announced) -> None:
    """Remember it. A folder that cannot be written costs time, nothing else."""
    stamp = _stamp()
    if stamp is None:
        return
    rows = [
        _Row(f.kind, f.name, f.target, f.distribution, f.version, f.systems)
        for found in announced.values()
        for f in found
    ]
    path = _file(place)
    temporary = path.with_name(f"{path.name}-{os.getpid()}-{os.urandom(4).hex()}")
    with contextlib.suppress(OSError):
        place.mkdir(parents=True, exist_ok=True)
        try:
            temporary.write_bytes(msgspec.json.encode(_Memory(stamp, rows)))
            os.replace(temporary, path)
            for old in sorted(place.glob("*.json"), key=os.path.getmtime)[:-_MANY]:
                old.unlink()
        except OSError:
            temporary.unlink(missing_ok=True)
            raise


def _file(place: Path) -> Path:
    """One for each interpreter and its folders."""
    here = "\0".join((sys.executable, sys.prefix, __version__, *sys.path))
    return place / f"{hashlib.sha1(here.encode('utf-8', 'replace'), usedforsecurity=False).hexdigest()}.json"


def _stamp() -> str | None:
    """Another one whenever a distribution comes, goes or announces something else; None where distributions can
    come from elsewhere than from folders."""
    if any(hasattr(finder, "find_distributions") for finder in sys.meta_path if finder is not PathFinder):
        return None
    lines = "\n".join(line for folder in sys.path for line in (folder, *_distributions(folder or ".")))
    return hashlib.sha1(lines.encode("utf-8", "surrogateescape"), usedforsecurity=False).hexdigest()


def _distributions(folder: str) -> Iterator[str]:
    """What tells the distributions in a folder apart; of a file, when it was changed."""
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(_SUFFIXES))
    except OSError:
        yield _state(folder)
        return
    for name in names:
        yield name
        yield from (_state(os.path.join(folder, name, points)) for points in _POINTS)


def _state(path: str) -> str:
    try:
        status = os.stat(path)
    except OSError:
        return ""
    return f"{status.st_mtime_ns:x}.{status.st_size:x}.{status.st_ino:x}"
