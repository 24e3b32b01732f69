"""The messages for failures of the file system."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from perfcore.errors import VersionError
from perfcore.text import printable


@contextlib.contextmanager
def told(doing: str, hint: str | None = None) -> Iterator[None]:
    """Have the system's errors told in one message."""
    try:
        yield
    except OSError as error:
        prefix = f"{shown(error.filename)}: " if error.filename else ""
        raise VersionError(f"could not {doing}: {prefix}{error.strerror or error}", hint=hint) from error


def shown(path: object) -> str:
    """A path for people."""
    return printable(os.fsdecode(path) if isinstance(path, bytes | str | os.PathLike) else str(path))
