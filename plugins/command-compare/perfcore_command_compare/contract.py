"""How the laws of the kind command are tried: by the tests, and by `perf plugins check`."""

from __future__ import annotations

from pathlib import Path

import pytest
from perfcore_testing.command import CommandContract
from perfcore_testing.project import Project

from perfcore_command_compare.driver import Compare


class CompareContract(CommandContract):
    examples = (["-c", "true", "-c", "true"],)

    @pytest.fixture(autouse=True)
    def repository(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """An empty one, in which the command is tried."""
        made = Project(tmp_path / "project", tmp_path / "home")
        made.path.mkdir()
        made.git("init", "--quiet")
        made.perf("init")
        monkeypatch.chdir(made.path)

    @pytest.fixture
    def driver(self) -> Compare:
        return Compare()
