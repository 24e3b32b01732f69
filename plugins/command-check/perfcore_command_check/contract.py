"""How the laws of the kind command are tried: by the tests, and by `perf plugins check`."""

from __future__ import annotations

import pytest
from perfcore_testing.command import CommandInRepositoryContract
from perfcore_testing.profiles import timed
from perfcore_testing.project import Project

from perfcore.library import open_repository
from perfcore_command_check.driver import Check


class CheckContract(CommandInRepositoryContract):
    examples = (["0@p", "1@p"], ["0@p", "1@p", "--json", "--fail-on", "never"])

    def prepare(self, project: Project) -> None:
        """Two pending profiles of one command."""
        history = open_repository(project.path)
        for wall in (10_000_000, 10_000_001):
            history.save(timed(wall=wall))

    @pytest.fixture
    def driver(self) -> Check:
        return Check()
