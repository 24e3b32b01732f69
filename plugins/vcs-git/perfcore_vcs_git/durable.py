"""Files that are on the disk when the function returns."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from pathlib import Path


def write(path: Path, data: bytes) -> None:
    """Replace a file: whoever reads it finds the old content or the new one, whole."""
    temporary = path.with_name(path.name + ".new")
    temporary.write_bytes(data)
    sync(temporary)
    os.replace(temporary, path)
    sync_folder(path.parent)


def copy(source: Path, target: Path) -> None:
    """Copy a file with its mode and times."""
    shutil.copy2(source, target)
    sync(target)


def sync(path: Path) -> None:
    """Wait until the content of a file is on the disk."""
    mode = os.O_RDWR if sys.platform == "win32" else os.O_RDONLY  # which a read-only copy could not be opened with
    fd = os.open(path, mode)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def sync_folder(path: Path) -> None:
    """Wait until the names in a folder are on the disk, where the system can."""
    if sys.platform != "win32":
        with contextlib.suppress(OSError):
            sync(path)
