"""A user of git whose environment and configuration are nobody's."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from perfcore_testing.processes import PATIENCE
from perfcore_vcs_git import Git

pytest.register_assert_rewrite("perfcore_testing.vcs")

from perfcore_vcs_git.contract import GitScript, forget_configuration  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_PREAMBLE = """
import os, signal, subprocess, sys
from pathlib import Path
from perfcore.errors import *
from perfcore_vcs_git import Git
"""


@pytest.fixture(autouse=True)
def nobodys_git(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """git without the configuration of whoever runs the tests."""
    forget_configuration(monkeypatch, tmp_path_factory.mktemp("home"))


@pytest.fixture
def script(tmp_path: Path) -> GitScript:
    """A user in an empty repository whose path is as odd as paths are."""
    return GitScript(tmp_path / 'it\'s $HOME ~ "žluťoučký" 日本')


@pytest.fixture
def driver(script: GitScript) -> Iterator[Git]:
    """The driver in that repository."""
    driver = Git(script.root)
    yield driver
    driver.close()


@pytest.fixture
def repository(tmp_path: Path) -> Callable[..., GitScript]:
    """Makes further repositories, by name and with options of `git init`."""
    return lambda name, *options: GitScript(tmp_path / name, *options)


@pytest.fixture
def python() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs a script in a process of its own, with warnings as errors, and gives what became of it."""

    def run(script: str, *arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-W", "error", "-c", _PREAMBLE + script, *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False, **options)

    return run
