"""The identity of a file whose format has none: by its name, or by its content."""

from __future__ import annotations

import hashlib
import re

_NUMBERED = re.compile(r"(?P<stream>.+)\.(?P<number>[1-9][0-9]{0,8})(?P<suffix>\.[a-z-]+)+")


def identity(name: str, data: bytes, suffixes: tuple[str, ...]) -> tuple[str, int]:
    """(stream, number) of a file: those of `STREAM.NUMBER.SUFFIX`, where its name has this form; otherwise the SHA-1 of
    what is in it, so that the same file is the same segment under any name."""
    match = _NUMBERED.fullmatch(name)
    if match and name.endswith(suffixes):
        return match["stream"], int(match["number"])
    return f"sha1-{hashlib.sha1(data, usedforsecurity=False).hexdigest()}", 1
