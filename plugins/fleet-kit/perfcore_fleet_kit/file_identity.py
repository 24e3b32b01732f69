"""The identity of a file whose format has none: by its name, or by its content."""

from __future__ import annotations

import hashlib
import re

from perfcore.named_tuple import NamedTuple

_NUMBERED = re.compile(r"(?P<stream>.+)\.(?P<number>[1-9][0-9]{0,8})(?P<suffix>\.[a-z-]+)+")


class Input(NamedTuple):
    """What a segment was read from: its identity, and the SHA-1 and number of the bytes."""

    stream: str
    number: int
    digest: str
    length: int
    whole: bool = True


def file_input(name: str, data: bytes, suffixes: tuple[str, ...], *, whole: bool = True) -> Input:
    """A file called `STREAM.NUMBER.SUFFIX` is this segment. The stream of any other is the SHA-1 of its bytes, so that
    the same file is the same segment under any name."""
    digest = hashlib.sha1(data, usedforsecurity=False).hexdigest()
    match = _NUMBERED.fullmatch(name)
    if match and name.endswith(suffixes):
        return Input(match["stream"], int(match["number"]), digest, len(data), whole)
    return Input(f"sha1-{digest}", 1, digest, len(data), whole)
