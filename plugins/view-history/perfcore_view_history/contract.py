"""How the laws of the kinds view and command are tried: by the tests, and by `perf plugins check`."""

from __future__ import annotations

import pytest
from perfcore_testing.command import CommandInRepositoryContract
from perfcore_testing.profiles import CREATED, timed
from perfcore_testing.project import Project
from perfcore_testing.view import ViewContract

from perfcore.library import open_repository
from perfcore.model.record import replace
from perfcore_view_history.driver import HistoryCommand
from perfcore_view_history.view import HistoryView


class HistoryContract(ViewContract):
    """The drawing for terminals, which is the form without options."""

    @pytest.fixture
    def driver(self) -> HistoryView:
        return HistoryView()


class HistoryCommandContract(CommandInRepositoryContract):
    examples = ([], ["wall", "--json"], ["--csv"])

    def prepare(self, project: Project) -> None:
        """Two measured versions."""
        history = open_repository(project.path)
        for number in range(2):
            pending = history.save(replace(timed(), created=CREATED + number))
            history.register(pending, project.commit(f"Change {number}"))

    @pytest.fixture
    def driver(self) -> HistoryCommand:
        return HistoryCommand()
