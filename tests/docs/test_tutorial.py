"""`docs/plugins/README.md`, word for word: every file is written, every command typed, in an environment of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from perfcore_testing.project import Project

# What is installed beside this interpreter is seen, so that no network is needed; what is installed goes elsewhere.
SEEN = f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n"
OFFLINE = "--no-index --no-deps --no-build-isolation --disable-pip-version-check"


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    """A virtual environment with the commands that an active one has; gives their folder."""
    for needed in ("pip", "flit_core"):
        if find_spec(needed) is None:
            pytest.skip(f"{needed} is not installed beside this interpreter")
    folder = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    (packages / "seen.pth").write_text(SEEN)
    python = folder / "bin" / "python"
    _command(folder / "bin" / "perf", f'exec {python} -m perfcore "$@"')
    _command(folder / "bin" / "pip", f'command=$1; shift; exec {python} -m pip "$command" {OFFLINE} "$@"')
    return folder / "bin"


def _command(path: Path, line: str) -> None:
    path.write_text(f"#!/bin/sh\n{line}\n")
    path.chmod(0o755)


@pytest.mark.skipif(os.name != "posix", reason="its commands are those of a POSIX shell")
def test_the_first_collector_works_as_the_page_says(
    environment: Path, empty_project: Project, page_of: Callable[[str], Any], shell_in: Callable[..., Any]
) -> None:
    start = empty_project.path
    path = f"{environment}{os.pathsep}{os.environ['PATH']}"
    shell = shell_in(start, {**empty_project.env, "PATH": path, "PYTHONWARNINGS": ""}, start.parent / "here")
    steps = page_of("plugins/README.md").steps
    assert len(steps) > 10
    for step in steps:
        if hasattr(step, "typed"):
            shell.type(step)
        else:
            (start / "perfcore-collect-wall" / step.name).write_text(step.text)
