"""The recipe of the documentation, run as it stands there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from perfcore_testing.project import Project

PAGE = Path(__file__).parents[3] / "docs" / "publishing.md"


def commands(name: str) -> str:
    (block,) = re.findall(rf"<!-- recipe: {name} -->\n```sh\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    return str(block)


@pytest.mark.process
def test_a_branch_of_pages_is_published(measured: Project, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    perf = tmp_path / "bin" / "perf"
    perf.write_text(f'#!/bin/sh\nexec {sys.executable} -m perfcore "$@"\n')
    perf.chmod(0o755)
    measured.git("init", "--quiet", "--bare", str(tmp_path / "origin.git"))
    measured.git("remote", "add", "origin", str(tmp_path / "origin.git"))
    environ = {**os.environ, **measured.env, "PATH": f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"}

    def run(script: str) -> None:
        done = subprocess.run(
            ["sh", "-e", "-c", script], cwd=measured.path, env=environ, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr

    run(commands("once"))
    run(commands("each time"))
    (measured.path / "README").write_text("A change\n")
    measured.git("tag", "v2.0")
    run(commands("each time"))
    listed = measured.git("--git-dir", str(tmp_path / "origin.git"), "ls-tree", "-r", "--name-only", "gh-pages").out
    site = {path.relative_to(tmp_path / "site").as_posix() for path in (tmp_path / "site").rglob("*") if path.is_file()}
    assert set(listed.splitlines()) == site
    assert measured.git("status", "--short", "--untracked-files=no").out.strip() in ("", "M README")
