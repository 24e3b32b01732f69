"""How the laws of the kind command are tried: by the tests, and by `perf plugins check`."""

from __future__ import annotations

from pathlib import Path

import pytest
from perfcore_testing.command import CommandContract
from perfcore_testing.project import Project

from perfcore_command_run.driver import Run


class RunContract(CommandContract):
    examples = (
        ["job", "--cmd", "true", "--repeat", "1", "--warmup", "0"],
        ["matrix", "matrix.yml", "--dry-run"],
    )

    @pytest.fixture(autouse=True)
    def repository(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """One commit with a matrix, in which the command is tried."""
        project = Project(tmp_path / "project", tmp_path / "home")
        project.path.mkdir()
        project.git("init", "--quiet")
        project.commit("First", **{"matrix.yml": "bins: ['true']\n"})
        project.perf("init")
        monkeypatch.chdir(project.path)

    @pytest.fixture
    def driver(self) -> Run:
        return Run()
