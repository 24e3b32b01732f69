"""A user of tagit."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from perfcore_vcs_tagit import Tagit

pytest.register_assert_rewrite("perfcore_testing.vcs")

from perfcore_testing.project import empty_project, project  # noqa: E402
from perfcore_vcs_tagit.contract import TagitScript  # noqa: E402

__all__ = ["empty_project", "project"]

Snapshot = Callable[[Path], Mapping[bytes, tuple[str, int, bytes]]]
_OURS = (b".tagit", b".perf")


@pytest.fixture
def script(tmp_path: Path) -> TagitScript:
    """A user in an empty repository whose path is as odd as paths are."""
    return TagitScript(tmp_path / 'it\'s $HOME ~ "žluťoučký" 日本')


@pytest.fixture
def driver(script: TagitScript) -> Tagit:
    """The driver in that repository."""
    return Tagit(script.root)


@pytest.fixture
def snapshot() -> Snapshot:
    """Tells all that is in a folder, to be compared."""
    return _snapshot


def _snapshot(root: Path) -> dict[bytes, tuple[str, int, bytes]]:
    """(kind, permissions, bytes or target) of everything below a folder, empty folders too."""
    found: dict[bytes, tuple[str, int, bytes]] = {}
    place = os.fsencode(root)
    for folder, names, files in os.walk(place):
        names[:] = [name for name in names if name not in _OURS]
        for name in (*names, *files):
            path = os.path.join(folder, name)
            inside = os.path.relpath(path, place)
            status = os.lstat(path)
            if name in _OURS:
                continue
            if stat.S_ISLNK(status.st_mode):
                found[inside] = ("link", 0, os.readlink(path))
            elif stat.S_ISDIR(status.st_mode):
                found[inside] = ("folder", 0, b"")
            else:
                with open(path, "rb") as file:
                    found[inside] = ("file", status.st_mode & 0o777, file.read())
    return found
