"""A frame as text, in the dialects of the tools that write folded stacks."""

from __future__ import annotations

import re
from collections.abc import Callable

from perfcore.profile.stacks import Frame

# py-spy and others: `name (path/to/file.py:12)`; native frames: `name (libc.so.6)`.
_WITH_LINE = re.compile(r"(?P<name>.+) \((?P<file>[^()]*):(?P<line>[0-9]{1,9})\)", re.DOTALL)
_WITH_FILE = re.compile(r"(?P<name>.+) \((?P<file>[^()\s]*[./][^()\s]*)\)", re.DOTALL)
# Austin: `path/to/file.py:name:12`. It leaves a name with letters beyond ASCII empty (3.7).
_AUSTIN = re.compile(r"(?P<file>.+):(?P<name>[^:]*):(?P<line>[0-9]{1,9})", re.DOTALL)
UNKNOWN = "[unknown]"
"""As perf names a frame without a symbol."""
_SEPARATORS = str.maketrans({";": ":", "\n": " ", "\r": " "})

Parser = Callable[[str], Frame]


def usual(text: str) -> Frame:
    """A frame as py-spy, perf's scripts and most others write it; what has no file is all name."""
    match = _WITH_LINE.fullmatch(text)
    if match:
        return Frame(match["name"], match["file"], int(match["line"]))
    match = _WITH_FILE.fullmatch(text)
    return Frame(match["name"], match["file"]) if match else Frame(text)


def austin(text: str) -> Frame:
    """A frame as Austin writes it."""
    match = _AUSTIN.fullmatch(text)
    return Frame(match["name"] or UNKNOWN, match["file"], int(match["line"])) if match else Frame(text)


def written(name: str, file: str, line: int | None) -> str:
    """The frame for a line of folded stacks. The format has no way to write `;` or the end of a line in a name,
    so they become `:` and blank."""
    position = f" ({file}:{line})" if file and line is not None else f" ({file})" if file else ""
    return f"{name}{position}".translate(_SEPARATORS)
