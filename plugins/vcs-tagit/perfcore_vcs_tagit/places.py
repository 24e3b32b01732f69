"""Where a repository is, found out by looking at files.

A working tree has a folder `.tagit`. One that was made to be measured has a file of that name instead:

    "tagit tree 1" LF
    the id of its version LF
    the path of the working tree it is linked to, up to the end of the file
"""

from __future__ import annotations

import os
from pathlib import Path

import attrs

from perfcore.errors import VersionError
from perfcore_vcs_tagit.failures import shown
from perfcore_vcs_tagit.line import is_id

FOLDER = ".tagit"
_MARK = b"tagit tree 1\n"
_LIMIT = 1 << 16


@attrs.frozen
class Places:
    """The working tree at `root`, and the one at `home` with the repository. They differ for a linked tree, which
    is of one `version` for good."""

    root: Path
    home: Path
    version: str | None = None

    @property
    def folder(self) -> Path:
        return self.home / FOLDER

    @property
    def refs(self) -> Path:
        return self.folder / "refs"

    @property
    def packs(self) -> Path:
        return self.folder / "packs"

    @property
    def cache(self) -> Path:
        return self.folder / "cache"

    @property
    def journal(self) -> Path:
        return self.folder / "journal"

    @property
    def ignore(self) -> Path:
        return self.folder / "ignore"

    @property
    def trigger(self) -> Path:
        return self.folder / "trigger"


def detect(path: Path) -> Path | None:
    """The root of the working tree that holds a path."""
    start = Path(os.path.realpath(path))
    for folder in (start, *start.parents):
        marker = folder / FOLDER
        if os.path.isfile(marker / "refs") or _read(marker).startswith(_MARK):
            return folder
    return None


def find(root: Path) -> Places:
    """What belongs to a root that `detect` gave. VersionError where there is no repository."""
    marker = root / FOLDER
    if os.path.isfile(marker / "refs"):
        return Places(root, root)
    head, version, home = ([*_read(marker).split(b"\n", 2), b"", b""])[:3]
    if head + b"\n" != _MARK or not is_id(version.decode("ascii", "replace")):
        raise VersionError(f"there is no tagit repository at {shown(root)}", hint="make one with `tagit init`")
    main = Path(os.fsdecode(home))
    if not os.path.isfile(main / FOLDER / "refs"):
        raise VersionError(f"{shown(root)} belongs to {shown(main)}, and there is no repository any more")
    return Places(root, main, version.decode("ascii"))


def mark(directory: Path, version: str, home: Path) -> None:
    """Make a folder a linked working tree of a version."""
    (directory / FOLDER).write_bytes(_MARK + version.encode() + b"\n" + os.fsencode(home))


def is_linked(directory: Path, home: Path) -> bool:
    """Whether a folder is a working tree that was linked to this one."""
    content = _read(directory / FOLDER)
    return content.startswith(_MARK) and content.split(b"\n", 2)[2:] == [os.fsencode(home)]


def _read(path: Path) -> bytes:
    try:
        if not os.path.isfile(path):
            return b""
        with open(path, "rb") as file:
            return file.read(_LIMIT)
    except (OSError, ValueError):
        return b""
