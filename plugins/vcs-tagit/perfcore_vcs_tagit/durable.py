"""Files that are on the disk when the function returns, and what failures of the file system are told as."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from perfcore.errors import VersionError
from perfcore.text import printable


def write(path: Path, data: bytes) -> None:
    """Replace a file: whoever reads it finds the old content or the new one, whole."""
    temporary = path.with_name(path.name + ".new")
    with open(temporary, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)
    sync_folder(path.parent)


def sync_folder(path: Path) -> None:
    """Wait until the names in a folder are on the disk, where the system can."""
    if sys.platform != "win32":
        with contextlib.suppress(OSError):
            fd = os.open(path, os.O_RDONLY)
            try:
                os.fsync(fd)
            finally:
                os.close(fd)


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
