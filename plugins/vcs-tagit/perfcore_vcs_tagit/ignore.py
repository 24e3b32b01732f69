"""What stays out of every snapshot: perfcore's and tagit's own folders, and what `.tagitignore` names."""

from __future__ import annotations

import os
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


@attrs.frozen
class Ignore:
    """The patterns of one file, in gitignore's syntax. Importing pathspec takes longer than looking at a small
    tree, so it is done where there are patterns."""

    spec: GitIgnoreSpec | None = None

    def matches(self, path: bytes, folder: bool) -> bool:
        """Whether the patterns leave out a path, seen from the root."""
        if self.spec is None:
            return False
        # A pattern cannot hold a line break, but its `$` would match before one.
        text = os.fsdecode(path).replace("\n", "\uffff")
        return bool(self.spec.match_file(text + "/" if folder else text))


def read(root: Path) -> Ignore:
    """The patterns at the root of a working tree."""
    try:
        return parse(files.read(root / NAME, LIMIT).data)
    except NotFoundError:
        return Ignore()


def parse(data: bytes) -> Ignore:
    """Patterns, one a line. VersionError names the line that is none."""
    lines = [line.removesuffix("\r") for line in data.decode("utf-8-sig", "surrogateescape").split("\n")]
    if not any(line.strip() and not line.startswith("#") for line in lines):
        return Ignore()
    from pathspec import GitIgnoreSpec

    for number, line in enumerate(lines, 1):
        try:
            GitIgnoreSpec.from_lines([line])
        except ValueError as error:
            raise VersionError(f"line {number} of {NAME} is no pattern: {printable(line)}") from error
    return Ignore(GitIgnoreSpec.from_lines(lines))
