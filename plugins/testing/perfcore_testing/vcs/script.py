"""A user of a version control system, and a working tree as data to compare."""

from __future__ import annotations

import abc
import os
import stat
from collections.abc import Mapping
from pathlib import Path


class Script(abc.ABC):
    """A user of the version control system, in the working tree at `root`."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @abc.abstractmethod
    def commit(self, message: str) -> str:
        """Record every file of the tree as a new version of the current line, and give its full id."""

    def branch(self, name: str) -> None:
        """Begin a line at the current version, and go to it."""
        raise NotImplementedError

    def switch(self, name: str) -> None:
        """Go to a line."""
        raise NotImplementedError

    def merge(self, name: str) -> str:
        """Make a version of the current line whose parents are its head and the other line's; give its id."""
        raise NotImplementedError

    def write(self, files: Mapping[str, bytes | None]) -> None:
        """Write files, remove those that are None."""
        for name, content in files.items():
            path = self.root / name
            if content is None:
                path.unlink()
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)

    def version(self, message: str, files: Mapping[str, bytes | None]) -> str:
        """Write files and commit."""
        self.write(files)
        return self.commit(message)

    def grow(self, count: int) -> list[str]:
        """So many versions, oldest first; version `n` (from 0) has the line `n` in the file `number`."""
        return [self.version(f"Version {n}", {"number": f"{n}\n".encode()}) for n in range(count)]


def content(folder: Path, without: tuple[str, ...] = ()) -> dict[str, tuple[str, bytes, bool]]:
    """(kind, bytes or target, executable) of everything below a folder but some names at its top. Empty folders
    do not count."""
    found = {}
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder)
        if inside.parts[0] in without:
            continue
        if path.is_symlink():
            found[inside.as_posix()] = ("link", os.fsencode(os.readlink(path)), False)
        elif path.is_file():
            found[inside.as_posix()] = ("file", path.read_bytes(), bool(path.stat().st_mode & stat.S_IXUSR))
    return found


def everything(root: Path) -> dict[str, tuple[int, int]]:
    """(size, time of change) of everything below a folder, what belongs to the system included."""
    found = {}
    for folder, _, files in os.walk(root):
        for path in (Path(folder), *(Path(folder, name) for name in files)):
            status = path.lstat()
            found[str(path.relative_to(root))] = (status.st_size, status.st_mtime_ns)
    return found
