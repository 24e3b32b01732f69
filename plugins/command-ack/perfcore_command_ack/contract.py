"""How the laws of the kind command are tried: by the tests, and by `perf plugins check`."""

from __future__ import annotations

from pathlib import Path

import pytest
from perfcore_testing.command import CommandContract
from perfcore_testing.project import Project

from perfcore_command_ack.driver import Acknowledge


class AcknowledgeContract(CommandContract):
    examples = (["--list"], ["0123456789abcdef0123", "--why", "it is safer", "--author", "Ann"], ["--json"])

    @pytest.fixture(autouse=True)
    def repository(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """An empty one, in which the command is tried."""
        project = Project(tmp_path / "project", tmp_path / "home")
        project.path.mkdir()
        project.git("init", "--quiet")
        project.perf("init")
        monkeypatch.chdir(project.path)

    @pytest.fixture
    def driver(self) -> Acknowledge:
        return Acknowledge()
