"""How the laws of the kind command are tried: by the tests, and by `perf plugins check`."""

from __future__ import annotations

import pytest
from perfcore_testing.command import CommandInRepositoryContract
from perfcore_testing.profiles import timed
from perfcore_testing.project import Project

from perfcore.library import open_repository
from perfcore_command_diff.driver import Diff


class DiffContract(CommandInRepositoryContract):
    examples = (["0@p", "1@p"], ["0@p", "1@p", "--json"])

    def prepare(self, project: Project) -> None:
        """Two pending profiles."""
        history = open_repository(project.path)
        for wall in (10_000_000, 20_000_000):
            history.save(timed(wall=wall))

    @pytest.fixture
    def driver(self) -> Diff:
        return Diff()
