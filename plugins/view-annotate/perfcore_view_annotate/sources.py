"""The text of files, as the version has them or as a folder has them, and how the lines of both correspond."""

from __future__ import annotations

import difflib
import hashlib
import re
import stat
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

import attrs
from perfcore_fleet_kit.dynamic_code import LINES_OF, NAMED

from perfcore_view_annotate.generated_lines import logical_lines

Read = Callable[[str, str], bytes | None]
Origin = Literal["version", "folder", "mapped", "uncompared", "generated", "missing"]
_LARGEST = 4 << 20  # bytes of a source; larger ones are no code that people wrote
_MOST_COMPARED = 20_000  # lines: a comparison of unlike files takes time with the square of their lengths
_WORD = re.compile(r"\w+")
_NO_NAMES = frozenset(("main", "eval", "module", "unknown", "lambda", "anon", "__ANON__", "anonymous"))


@attrs.frozen
class Source:
    """The lines of a file by number. `positions` maps lines of the version to these, where they are others; None where
    they are the same. `path` is where the text was read."""

    lines: Mapping[int, str]
    origin: Origin
    path: str = ""
    digest: str = ""
    positions: Mapping[int, int] | None = None

    def line_of(self, line: int) -> int | None:
        """Where a line of the profile is here; None where the text does not have it."""
        position = line if self.positions is None else self.positions.get(line)
        return position if position in self.lines else None


MISSING = Source({}, "missing")


class Sources:
    """Files at a version. A profile may name them by the paths of where they were built or run: the longest end of such
    a path is taken that is a file, if the names of the functions are in it."""

    def __init__(self, read: Read | None, version: str, folder: Path | None) -> None:
        self._read = read
        self._version = version
        self._folder = None if folder is None else folder.resolve()

    def source(self, file: str, functions: Collection[str]) -> Source:
        """The text of a file, of which a profile has these functions."""
        if file.startswith(NAMED):
            text = self.generated(file)
            return MISSING if text is None else _source(text, "generated")
        if not file or file.startswith(("xs:", "qeval:")):
            return MISSING
        path, of_version = self._resolve(file, functions, self._of_version)
        if self._folder is not None:
            return self._in_folder(file, path, of_version, functions)
        if of_version is not None:
            return attrs.evolve(_source(of_version, "version"), path=path)
        text = self._stored(f"{LINES_OF}{file}")
        lines = {} if text is None else logical_lines(text, file)
        return Source(lines, "generated", digest=_digest(repr(lines))) if lines else MISSING

    def generated(self, file: str) -> str | None:
        """The text of a file of generated code, if it is stored."""
        return self._stored(file)

    def _in_folder(self, file: str, path: str, of_version: str | None, functions: Collection[str]) -> Source:
        here = self._of_folder(path) if of_version is not None else None
        if here is None:
            path, here = self._resolve(file, functions, self._of_folder)
        if here is None:
            return MISSING
        if of_version is None:
            return attrs.evolve(_source(here, "uncompared"), path=path)
        if of_version == here:
            return attrs.evolve(_source(here, "folder"), path=path)
        positions = corresponding(of_version.split("\n"), here.split("\n"))
        return attrs.evolve(_source(here, "mapped"), path=path, positions=positions)

    def _resolve(
        self, file: str, functions: Collection[str], read: Callable[[str], str | None]
    ) -> tuple[str, str | None]:
        for path in _ends(file):
            text = read(path)
            if text is not None and (path == file or _has_names(text, functions)):
                return path, text
        return "", None

    def _of_version(self, path: str) -> str | None:
        return _text(self._read(self._version, path)) if self._read is not None and self._version else None

    def _stored(self, name: str) -> str | None:
        data = self._read(self._version, name) if self._read is not None else None
        return None if data is None else data.decode("utf-8", "surrogatepass")

    def _of_folder(self, path: str) -> str | None:
        assert self._folder is not None
        try:
            full = (self._folder / path).resolve()
            status = full.stat()
            if not full.is_relative_to(self._folder) or not stat.S_ISREG(status.st_mode) or status.st_size > _LARGEST:
                return None
            return _text(full.read_bytes())
        except (OSError, ValueError, RuntimeError):  # absent, a name with a zero byte, a circle of links
            return None


def corresponding(old: Sequence[str], new: Sequence[str]) -> dict[int, int]:
    """The lines of the new text by those of the old one that are the same, counted from 1."""
    first = 0
    while first < min(len(old), len(new)) and old[first] == new[first]:
        first += 1
    last = 0
    while last < min(len(old), len(new)) - first and old[-1 - last] == new[-1 - last]:
        last += 1
    positions = {line: line for line in range(1, first + 1)}
    inside_old, inside_new = old[first : len(old) - last], new[first : len(new) - last]
    if max(len(inside_old), len(inside_new)) <= _MOST_COMPARED:
        matcher = difflib.SequenceMatcher(None, inside_old, inside_new, autojunk=len(inside_old) > 1000)
        for block in matcher.get_matching_blocks():
            for at in range(block.size):
                positions[first + block.a + at + 1] = first + block.b + at + 1
    for at in range(last):
        positions[len(old) - at] = len(new) - at
    return positions


def _ends(file: str) -> Iterator[str]:
    """A path, then its ends, the longest first. Nothing for a path that goes up."""
    parts = [part for part in file.replace("\\", "/").split("/") if part not in ("", ".")]
    if ".." in parts or "\0" in file:
        return
    for start in range(len(parts)):
        yield "/".join(parts[start:])


def _has_names(text: str, functions: Collection[str]) -> bool:
    """Whether most of the functions may be of a text: another file may have the same end."""
    names = {words[-1] for name in functions if (words := _WORD.findall(name))} - _NO_NAMES
    return not names or 2 * sum(name in text for name in names) >= len(names)


def _source(text: str, origin: Origin) -> Source:
    lines = text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    return Source(dict(enumerate(lines, 1)), origin, digest=_digest(text))


def _text(data: bytes | None) -> str | None:
    if data is None or len(data) > _LARGEST or b"\0" in data:
        return None
    return data.decode("utf-8", "replace").replace("\r\n", "\n")


def _digest(text: str) -> str:
    return hashlib.sha1(text.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()
