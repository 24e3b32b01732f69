"""How the laws of the kind command are tried: by the tests, and by `perf plugins check`."""

from __future__ import annotations

from pathlib import Path

import pytest
from perfcore_testing.command import CommandContract
from perfcore_testing.profiles import timed
from perfcore_testing.project import Project

from perfcore.library import open_repository
from perfcore_command_diff.driver import Diff


class DiffContract(CommandContract):
    examples = (["0@p", "1@p"], ["0@p", "1@p", "--json"])

    @pytest.fixture(autouse=True)
    def repository(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """One with two pending profiles, in which the command is tried."""
        project = Project(tmp_path / "project", tmp_path / "home")
        project.path.mkdir()
        project.git("init", "--quiet")
        project.perf("init")
        history = open_repository(project.path)
        for wall in (10_000_000, 20_000_000):
            history.save(timed(wall=wall))
        monkeypatch.chdir(project.path)

    @pytest.fixture
    def driver(self) -> Diff:
        return Diff()
