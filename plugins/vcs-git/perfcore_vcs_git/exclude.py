"""Directories that git leaves out of every version: lines in `info/exclude`, which is part of no version itself."""

from __future__ import annotations

import os
import re
from pathlib import Path

from perfcore import files
from perfcore.errors import NotFoundError, VersionError
from perfcore.text import printable

# A file of patterns has some kilobytes; a larger one came from elsewhere and is not to fill the memory.
_LIMIT = 1 << 20
_SPECIAL = re.compile(r"[\\*?\[\]!# ]")


def add(root: Path, common_dir: Path, directory: Path) -> None:
    """Have git ignore a directory of the working tree, once. Nothing is written where the directory has a `.gitignore`
    that names all of it, as `.perf` has: whoever copies the tree keeps that file."""
    if _ignores_itself(directory):
        return
    line = os.fsencode(_pattern(root, directory))
    path = common_dir / "info" / "exclude"
    try:
        path.parent.mkdir(exist_ok=True)
        content = _read(path)
        if line not in content.splitlines():
            files.write_whole(path, content + (b"" if content[-1:] in (b"", b"\n") else b"\n") + line + b"\n")
    except OSError as error:
        raise VersionError(f"cannot write {printable(str(path))}: {error.strerror}") from error


def _pattern(root: Path, directory: Path) -> str:
    """The line for a directory: from the root, every character as itself."""
    real = Path(os.path.realpath(directory))
    if real == root or not real.is_relative_to(root) or "\n" in str(real):
        raise VersionError(f"git cannot be told to ignore {printable(str(directory))}")
    # gitignore(5): `/` in front ties the pattern to the root, `/` behind fits directories only, a backslash takes the
    # meaning from `*`, `?`, `[`, a `!` or `#` at the beginning and a blank at the end.
    return "/" + _SPECIAL.sub(r"\\\g<0>", real.relative_to(root).as_posix()) + "/"


def _ignores_itself(directory: Path) -> bool:
    return b"*" in _read(directory / ".gitignore").splitlines()


def _read(path: Path) -> bytes:
    try:
        return files.read(path, _LIMIT).data
    except NotFoundError:
        return b""
