"""Copies of files that are on the disk when the function returns."""

from __future__ import annotations

import shutil
from pathlib import Path

from perfcore import files


def copy(source: Path, target: Path) -> None:
    """Copy a file with its mode and times."""
    shutil.copy2(source, target)
    files.sync_path(target)
