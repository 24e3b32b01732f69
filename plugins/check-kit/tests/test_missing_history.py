"""A shallow clone with profiles of versions that it lacks, as a job of a CI has it after `perf pull`."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from perfcore_testing.measured import measure
from perfcore_testing.project import Project

WHY = "this clone is shallow, its older history is not here: git fetch --unshallow"


def _cloned(project: Project, path: Path, depth: int) -> Project:
    subprocess.run(["git", "clone", "-q", f"--depth={depth}", f"file://{project.path}", str(path)], check=True)
    shutil.copytree(project.path / ".perf", path / ".perf")
    return Project(path, project.home)


def test_a_history_that_is_not_whole_says_so(project: Project, tmp_path: Path) -> None:
    """What became slower before the clone begins is found by no check of it."""
    measure(project, {"./slow": lambda number: 1_000_000 * (1 + (number >= 8))}, versions=20)
    assert "1 regression" in project.perf("check", "all", code=1).out
    clone = _cloned(project, tmp_path / "clone", 10)
    done = clone.perf("check", "all")
    assert "no change" in done.out
    note = f"10 versions with profiles may be older: {WHY}"
    assert f"note: {note}" in done.err
    assert f"note: {note}" in clone.perf("history").err
    clone.perf("publish", str(tmp_path / "site"))
    assert note in (tmp_path / "site" / "index.html").read_text()
    clone.git("fetch", "-q", "--unshallow")
    assert "may be older" not in clone.perf("check", "all", code=1).err


def test_a_shallow_clone_that_has_all_that_was_measured_says_nothing(project: Project, tmp_path: Path) -> None:
    for number in range(3):
        project.commit(f"Before anything was measured {number}")
    measure(project, {"./steady": lambda _: 1_000_000}, versions=9)
    clone = _cloned(project, tmp_path / "clone", 10)
    assert "shallow" not in clone.perf("check", "all").err
    assert "shallow" not in project.perf("check", "all").err
