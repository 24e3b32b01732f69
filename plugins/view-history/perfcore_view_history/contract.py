"""How the laws of the kinds view and command are tried: by the tests, and by `perf plugins check`."""

from __future__ import annotations

from pathlib import Path

import attrs
import pytest
from perfcore_testing.command import CommandContract
from perfcore_testing.profiles import CREATED, timed
from perfcore_testing.project import Project
from perfcore_testing.view import ViewContract

from perfcore.library import open_repository
from perfcore_view_history.driver import HistoryCommand
from perfcore_view_history.view import HistoryView


class HistoryContract(ViewContract):
    """The drawing for terminals, which is the form without options."""

    @pytest.fixture
    def driver(self) -> HistoryView:
        return HistoryView()


class HistoryCommandContract(CommandContract):
    examples = ([], ["wall", "--json"], ["--csv"])

    @pytest.fixture(autouse=True)
    def repository(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """One with two measured versions, in which the command is tried."""
        project = Project(tmp_path / "project", tmp_path / "home")
        project.path.mkdir()
        project.git("init", "--quiet")
        project.commit("First")
        project.perf("init")
        history = open_repository(project.path)
        for number in range(2):
            pending = history.save(attrs.evolve(timed(), created=CREATED + number))
            history.register(pending, project.commit(f"Change {number}"))
        monkeypatch.chdir(project.path)

    @pytest.fixture
    def driver(self) -> HistoryCommand:
        return HistoryCommand()
