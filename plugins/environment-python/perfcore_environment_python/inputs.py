"""The files of a tree that decide what an environment holds, by their contents."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from perfcore.errors import UsageError
from perfcore.text import printable

# pip, "Requirements File Format": lines that read other files, relative to the file they stand in.
_INCLUDE = re.compile(r"\s*(?:-r|-c|--requirement|--constraint)[\s=]*(\S+)")
NO_SOURCES = (".git", ".perf", ".venv", "__pycache__")
"""What is in a working tree and no part of the project; a file `.git` names a linked tree."""


def contents(tree: Path, names: Iterable[str]) -> Mapping[str, str]:
    """The hash of each file by its path in the tree; of all files of a folder, and of included requirements.
    UsageError for a path that is not in the tree."""
    hashes: dict[str, str] = {}
    for name in names:
        for path in _paths(tree, name):
            hashes.setdefault(path.relative_to(tree).as_posix(), _hash(path))
    return hashes


def _paths(tree: Path, name: str, including: frozenset[Path] = frozenset()) -> Iterator[Path]:
    path = Path(os.path.normpath(tree / name))
    if not path.is_relative_to(tree) or not path.exists():
        raise UsageError(f"the environment reads {printable(name)}, which the version does not have")
    if path.is_dir():
        for parent, folders, files in os.walk(path):
            folders[:] = sorted(folder for folder in folders if folder not in NO_SOURCES)
            yield from (Path(parent, file) for file in sorted(files) if file not in NO_SOURCES)
        return
    yield path
    if path.suffix in (".txt", ".in") and path not in including:
        for line in path.read_text(errors="replace").splitlines():
            if (match := _INCLUDE.match(line)) and "://" not in match[1]:
                included = os.path.relpath(path.parent / match[1], tree)
                yield from _paths(tree, included, including | {path})


def _hash(path: Path) -> str:
    mode = path.lstat().st_mode
    content = os.fsencode(os.readlink(path)) if stat.S_ISLNK(mode) and not path.exists() else path.read_bytes()
    executable = b"x" if mode & stat.S_IXUSR else b"-"  # scripts of a project are installed with their mode
    return hashlib.blake2b(executable + content, digest_size=16).hexdigest()
