"""What stays out of every snapshot: perfcore's and tagit's own folders, and what `.tagitignore` names. Patterns of the
file `.tagit/ignore` come first, and are part of no version."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from perfcore import files
from perfcore.errors import NotFoundError, VersionError
from perfcore.text import printable

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

NAME = ".tagitignore"
OURS = frozenset({b".perf", b".tagit"})
LIMIT = 1 << 20
_SPECIAL = re.compile(r"[\\*?\[\]!# ]")
# The time that matching takes grows with the length of a path to the power of this.
_STARS = 4


@attrs.frozen
class Ignore:
    """Patterns in gitignore's syntax. Importing pathspec takes longer than looking at a small
    tree, so it is done where there are patterns."""

    spec: GitIgnoreSpec | None = None

    def matches(self, path: bytes, folder: bool) -> bool:
        """Whether the patterns leave out a path, seen from the root."""
        if self.spec is None:
            return False
        # A pattern cannot hold a line break, but its `$` would match before one.
        text = os.fsdecode(path).replace("\n", "\uffff")
        return bool(self.spec.match_file(text + "/" if folder else text))


def read(root: Path, always: Path) -> Ignore:
    """The patterns at the root of a working tree, after those of the repository that are in no version."""
    return parse(always, _content(root / NAME))


def parse(always: Path, data: bytes) -> Ignore:
    """Patterns, one a line, after those of a file. VersionError names the line that is none."""
    patterns = [*_patterns(_content(always), f".tagit/{always.name}"), *_patterns(data, NAME)]
    if not patterns:
        return Ignore()
    from pathspec import GitIgnoreSpec

    return Ignore(GitIgnoreSpec.from_lines(patterns))


def add(always: Path, root: Path, directory: Path) -> None:
    """Add a directory to the patterns that are in no version, once: from the root, every character as itself."""
    real, top = Path(os.path.realpath(directory)), Path(os.path.realpath(root))
    if real == top or not real.is_relative_to(top) or "\n" in str(real):
        raise VersionError(f"tagit cannot be told to ignore {printable(str(directory))}")
    inside = real.relative_to(top).as_posix()
    line = os.fsencode("/" + _SPECIAL.sub(r"\\\g<0>", inside) + "/")
    content = _content(always)
    if line not in content.splitlines():
        ending = b"" if content[-1:] in (b"", b"\n") else b"\n"
        files.write_atomically(always, content + ending + line + b"\n", locked=True)


def _content(path: Path) -> bytes:
    try:
        return files.read(path, LIMIT).data
    except NotFoundError:
        return b""


def _patterns(data: bytes, name: str) -> list[str]:
    lines = [line.removesuffix("\r") for line in data.decode("utf-8-sig", "surrogateescape").split("\n")]
    numbered = [(row, line) for row, line in enumerate(lines, 1) if line.strip() and not line.startswith("#")]
    if numbered:
        from pathspec import GitIgnoreSpec
    for row, line in numbered:
        parts = line.split("/")
        if parts.count("**") > _STARS or any(component.count("*") > _STARS for component in parts):
            raise VersionError(f"line {row} of {name} has too many stars: {printable(line)}")
        try:
            GitIgnoreSpec.from_lines([line])
        except (ValueError, re.error) as error:
            raise VersionError(f"line {row} of {name} is no pattern: {printable(line)}") from error
    return [line for _, line in numbered]
