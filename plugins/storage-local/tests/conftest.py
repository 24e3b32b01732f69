from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from perfcore_storage_local import LocalStorage
from perfcore_testing.processes import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_PREAMBLE = """
import os, signal, sys, time
from pathlib import Path
from perfcore.errors import *
from perfcore_storage_local import LocalStorage
"""


@pytest.fixture
def storage(tmp_path: Path) -> LocalStorage:
    return LocalStorage(tmp_path / "place")


@pytest.fixture
def python() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs a script that knows LocalStorage, with arguments, in a process of its own, to its end."""

    def run(script: str, *arguments: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", _PREAMBLE + script, *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)

    return run


@pytest.fixture
def python_in_background() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """The same, but only begun: gives it once it has printed a line. It is killed at the end of the test."""
    running: list[subprocess.Popen[str]] = []

    def start(script: str, *arguments: object) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", _PREAMBLE + script, *map(str, arguments)]
        running.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        assert running[-1].stdout is not None
        assert running[-1].stdout.readline()
        return running[-1]

    yield start
    for process in running:
        process.kill()
        process.communicate()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 1 MiB. Needs the right to mount one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "perfcore-test", str(folder)]
    try:
        mounted = subprocess.run(command, capture_output=True).returncode == 0
    except FileNotFoundError:
        mounted = False
    if not mounted:
        pytest.skip("only root on Linux can mount a file system")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)
