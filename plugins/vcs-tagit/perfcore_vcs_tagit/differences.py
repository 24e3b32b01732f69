"""What changed in files, for people."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Iterator

from perfcore.text import printable
from perfcore_vcs_tagit.tree import Change, Entry

# difflib takes quadratic time at worst.
LIMIT = 1 << 20
Read = Callable[[bytes, Entry], bytes | None]
"""Gives a path's content at an entry; None where it is larger than the limit."""


def patch(change: Change, old: Read, new: Read) -> Iterator[str]:
    """The lines of a change in the form of `diff -u`. Control characters come as escapes."""
    yield f"{change.letter} {change.shown}{_modes(change)}"
    if any(entry is not None and entry.is_folder for entry in (change.old, change.new)):
        return
    if change.old is not None and change.new is not None and change.old.id == change.new.id:
        return
    sides = [_lines(change.path, entry, read) for entry, read in ((change.old, old), (change.new, new))]
    before, after = sides
    if before is None or after is None:
        yield "  (not shown: binary or large)"
        return
    for index, line in enumerate(difflib.unified_diff(before, after, lineterm="")):
        if index > 1:
            yield printable(line.expandtabs())


def _modes(change: Change) -> str:
    if change.old is None or change.new is None or change.old.mode == change.new.mode:
        return ""
    return f" ({change.old.mode:o} -> {change.new.mode:o})"


def _lines(path: bytes, entry: Entry | None, read: Read) -> list[str] | None:
    if entry is None:
        return []
    content = read(path, entry)
    # As git tells binary files: a NUL is in no text.
    if content is None or b"\0" in content:
        return None
    lines = os.fsdecode(content).split("\n")
    return lines[:-1] if lines[-1] == "" else [*lines, "\\ no line break at the end"]
