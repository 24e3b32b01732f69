"""How the laws of the kind command are tried: by the tests, and by `perf plugins check`."""

from __future__ import annotations

import pytest
from perfcore_testing.command import CommandInRepositoryContract
from perfcore_testing.profiles import timed
from perfcore_testing.project import Project

from perfcore.library import open_repository
from perfcore_command_show.driver import Show


class ShowContract(CommandInRepositoryContract):
    examples = (["0@p"], ["0@p", "table", "--format", "csv"])

    def prepare(self, project: Project) -> None:
        """A pending profile."""
        open_repository(project.path).save(timed())

    @pytest.fixture
    def driver(self) -> Show:
        return Show()
