"""Tags, lines and what is checked out: one file, `.tagit/refs`, which is replaced as a whole, so that a save
happens at one instant or not at all.

    "tagit 1" LF
    "head line" blank name LF, or "head version" blank id LF
    "line" blank id blank name LF        for each line that has a version, sorted by name
    "tag" blank id blank name LF         for each tag, sorted by name
    "sha1" blank SHA-1 of all before (40 hex digits) LF

Names are UTF-8. Every version has one tag, and keeps it.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Mapping
from pathlib import Path

import attrs

from perfcore import files
from perfcore.errors import FormatError, UsageError
from perfcore.text import printable
from perfcore_vcs_tagit.failures import shown

FIRST_LINE = "main"
_HEAD = "tagit 1\n"
_ID = re.compile(r"[0-9a-f]{40}")
# Room for more than a million names.
_LIMIT = 1 << 28
# Bytes: below the 255 of a file name, which an export may make of it.
_LONGEST = 200
# What git forbids in names (git-check-ref-format(1)), so that each can be one of git's; `~` and `^` lead back from a
# version here too, and `@` stands between a number and a place (`0@p`).
_FORBIDDEN = frozenset("~^:*?[\\@")


@attrs.frozen
class Refs:
    """All names. `line` is the line that is checked out; where it is None, the version `at` is by itself."""

    line: str | None = FIRST_LINE
    at: str | None = None
    lines: Mapping[str, str] = {}
    tags: Mapping[str, str] = {}

    @property
    def head(self) -> str | None:
        """The version that is checked out; None before the first one."""
        return self.at if self.line is None else self.lines.get(self.line)

    @property
    def versions(self) -> Mapping[str, str]:
        """The tag of each version."""
        return {id: tag for tag, id in self.tags.items()}

    def refuse_taken(self, name: str) -> None:
        """UsageError where a name is a tag or a line already."""
        if name in self.tags:
            id = self.tags[name][:10]
            raise UsageError(f"there is a version '{name}' already ({id})", hint="choose another name")
        if name in self.lines or name == self.line:
            raise UsageError(f"there is a line '{name}' already", hint="choose another name")


def is_id(text: str) -> bool:
    """Whether a text is written like the full id of a version."""
    return _ID.fullmatch(text) is not None


def valid(name: str, what: str = "tag") -> str:
    """A name for a tag or a line, in Unicode's composed form. UsageError where it cannot be one."""
    # Two names that look alike, composed and decomposed, would otherwise be two tags.
    name = unicodedata.normalize("NFC", name)
    reason = _complaint(name)
    if reason is not None:
        text = printable(name)
        shortened = text if len(text) <= _LONGEST else text[:40] + "…"
        raise UsageError(f"'{shortened}' cannot be the name of a {what}: {reason}", hint="such as v1.0 or 2024-06-drop")
    return name


def read(path: Path) -> Refs:
    """The names in a file. FormatError where it is damaged or of a newer tagit."""
    data = files.read(path, _LIMIT).data
    body, mark, _ = data.rpartition(b"sha1 ")
    if data.startswith(b"tagit ") and not data.startswith(_HEAD.encode()):
        raise FormatError(f"{shown(path)} was written by a newer tagit", hint="update perfcore-vcs-tagit")
    if not mark or data != _signed(body):
        raise FormatError(f"{shown(path)} is damaged", hint="the versions are not lost: their packs stand beside it")
    try:
        return _decode(body.decode())
    except ValueError as error:
        raise FormatError(f"{shown(path)} is damaged: {printable(str(error))}") from error


def write(path: Path, refs: Refs) -> None:
    """Replace the names, durably."""
    files.write_atomically(path, _signed(_encode(refs).encode()), locked=True)


def exists(path: Path) -> bool:
    """Whether there are names."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _encode(refs: Refs) -> str:
    head = f"version {refs.at}" if refs.line is None else f"line {refs.line}"
    rows = [f"line {refs.lines[name]} {name}\n" for name in sorted(refs.lines)]
    rows += [f"tag {refs.tags[name]} {name}\n" for name in sorted(refs.tags)]
    return f"{_HEAD}head {head}\n{''.join(rows)}"


def _signed(body: bytes) -> bytes:
    return body + f"sha1 {hashlib.sha1(body, usedforsecurity=False).hexdigest()}\n".encode()


def _decode(text: str) -> Refs:
    _, head, *rows = text.removesuffix("\n").split("\n")
    word, kind, value = head.split(" ")
    if word != "head" or kind not in ("line", "version") or (kind == "version" and not is_id(value)):
        raise ValueError(head)
    refs: dict[str, dict[str, str]] = {"line": {}, "tag": {}}
    for row in rows:
        word, id, name = row.split(" ")
        if word not in refs or not is_id(id) or _complaint(name):
            raise ValueError(row)
        refs[word][name] = id
    line, at = (value, None) if kind == "line" else (None, value)
    return Refs(line, at, refs["line"], refs["tag"])


def _complaint(name: str) -> str | None:
    if not name:
        return "it is empty"
    if len(name.encode("utf-8", "surrogatepass")) > _LONGEST:
        return f"it has more than {_LONGEST} bytes"
    if not name.isprintable() or any(c.isspace() for c in name):
        return "it has blanks or characters that cannot be seen"
    if strange := sorted(set(name) & _FORBIDDEN):
        return f"it has {' '.join(strange)}"
    if name[0] in "-./" or name[-1] in "./" or ".." in name or "//" in name:
        return "it has '-', '.' or '/' where they mean something else"
    if name == "HEAD" or is_id(name.lower()):
        return "it means something else"
    return None
