"""Packages of npm that tests use: viewers that read what a format writes, and axe-core. Where npm cannot get them, the
test is skipped."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path


def install(folder: Path, *packages: str, scripts: bool = False) -> Path:
    """The folder `node_modules` with these packages, such as `axe-core@4`. `scripts` lets them run what they run after
    their installation, which few need."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip(f"npm is not installed, from which {', '.join(packages)} come")
    options = ["--prefer-offline", "--no-audit", "--no-fund", *([] if scripts else ["--ignore-scripts"])]
    command = [npm, "install", *options, "--prefix", str(folder), *packages]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"npm cannot get {', '.join(packages)}: {done.stderr[-300:]}")
    return folder / "node_modules"
