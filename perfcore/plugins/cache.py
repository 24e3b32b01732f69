"""What was installed when a command last asked, in a small file of the user's cache.

Asking the metadata of everything that is installed takes longer than most commands. The file is believed while
the folders from which Python imports hold the same distributions with the same files of entry points, for this
interpreter and this perfcore; and where its answer does not hold, the metadata are asked again. It may be removed
at any time.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
from collections.abc import Iterator, Mapping
from importlib.machinery import PathFinder
from pathlib import Path

import attrs

from perfcore import __version__, files
from perfcore.plugins.installed import GROUPS, PluginInfo

_SUFFIXES = (".dist-info", ".egg-info", ".egg")
_POINTS = ("entry_points.txt", "EGG-INFO/entry_points.txt")
_MANY = 50  # interpreters and environments of one user; the oldest files go first
_LAYOUT = "3"  # raised with every change of the fields of PluginInfo, so that no old file is read as a new one

Announced = Mapping[str, tuple[PluginInfo, ...]]


def load(place: Path) -> Announced | None:
    """Every plugin by kind, as it was announced; None where that is not known, or not any more."""
    data = files.cached(_file(place))
    stamp, rows = (None, ()) if data is None else json.loads(data)
    if stamp is None or stamp != _stamp():
        return None
    infos = [PluginInfo(**{**row, "systems": tuple(row["systems"])}) for row in rows]
    return {kind: tuple(info for info in infos if info.kind == kind) for kind in GROUPS}


def save(place: Path, announced: Announced) -> None:
    """Remember it. A folder that cannot be written costs time, nothing else."""
    stamp = _stamp()
    if stamp is None:
        return
    rows = [attrs.asdict(info, recurse=False) for infos in announced.values() for info in infos]
    files.cache(_file(place), json.dumps((stamp, rows)).encode())
    with contextlib.suppress(OSError):
        for old in sorted(place.iterdir(), key=os.path.getmtime)[:-_MANY]:
            old.unlink()


def _file(place: Path) -> Path:
    """One for each interpreter and its folders."""
    setup = "\0".join((_LAYOUT, sys.executable, sys.prefix, __version__, *sys.path))
    return place / hashlib.sha1(setup.encode("utf-8", "replace"), usedforsecurity=False).hexdigest()


def _stamp() -> str | None:
    """Another one whenever a distribution comes, goes or announces something else; None where distributions can
    come from elsewhere than from folders."""
    if any(_finds_elsewhere(finder) for finder in sys.meta_path):
        return None
    lines = "\n".join(line for folder in sys.path for line in (folder, *_distributions(folder or ".")))
    return hashlib.sha1(lines.encode("utf-8", "surrogateescape"), usedforsecurity=False).hexdigest()


def _finds_elsewhere(finder: object) -> bool:
    """Whether a finder of modules announces distributions that are in no folder of `sys.path`. The backport
    importlib_metadata, which many libraries bring, puts its own in place of Python's, for the same folders."""
    ours = finder is PathFinder or type(finder).__module__ == "importlib_metadata"
    return hasattr(finder, "find_distributions") and not ours


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
