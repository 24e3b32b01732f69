"""Measuring in a hook of git, which points git at its own repository and at the index of the commit that is made."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from perfcore_testing.project import Project

# As a build does that stamps a program with its version, and one that is careless.
STAMP = "git rev-parse HEAD >> '{seen}'; git add --all; git reset --quiet --hard"
SUITE = "import subprocess\n\n\ndef bench_stamp():\n    subprocess.run(['sh', 'stamp.sh'], check=True)\n"
VERSION = ("--version", "HEAD~1", "--repeat", "1")


@pytest.fixture
def seen(project: Project, tmp_path: Path) -> Path:
    """Where the script of a version says in which version it runs."""
    path = tmp_path / "seen"
    path.touch()
    project.commit("stamp", stamp__sh=STAMP.format(seen=path), bench_stamp__py=SUITE, work="old")
    project.commit("head", work="head")
    return path


@pytest.mark.parametrize(
    ("words", "config"),
    [
        (("collect", "time", *VERSION, "--", "sh", "stamp.sh"), None),
        (("collect", "bench", *VERSION, "--", "bench_stamp.py"), None),
        (("collect", "time", *VERSION, "--", "true"), "sh stamp.sh"),
    ],
    ids=["measured", "benchmark", "build"],
)
def test_what_runs_in_the_tree_of_a_version_asks_git_about_that_tree(
    project: Project, seen: Path, words: tuple[str, ...], config: str | None
) -> None:
    """Not about the repository of the hook: or it learns another version, and writes into the user's commit."""
    if config:
        project.perf("config", "set", "execute.pre_run", config)
    hook = project.write(
        ".git/hooks/pre-commit", f"#!/bin/sh\nexec {shlex.join([sys.executable, '-m', 'perfcore', *words])}"
    )
    hook.chmod(0o755)
    measured = project.git("rev-parse", "HEAD~1").out.strip()
    project.write("work", "new")
    project.git("commit", "--quiet", "--message", "new", "work")
    assert set(seen.read_text().split()) == {measured}
    assert project.git("diff", "--name-only", "HEAD~1", "HEAD").out.split() == ["work"]
    assert project.git("show", "HEAD:work").out == "new"
    assert project.git("status", "--porcelain", "--untracked-files=no").out == ""
