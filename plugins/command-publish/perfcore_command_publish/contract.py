"""How the laws of the kind command are tried: by the tests, and by `perf plugins check`."""

from __future__ import annotations

import pytest
from perfcore_testing import measured
from perfcore_testing.command import CommandInRepositoryContract
from perfcore_testing.project import Project

from perfcore_command_publish.driver import Publish


class PublishContract(CommandInRepositoryContract):
    examples = (["site"], ["site", "--title", "Sorting", "--json"], ["site", "--fresh"])

    def prepare(self, project: Project) -> None:
        """Two measured versions."""
        measured.measure(project, {"./steady": lambda _: 4_000_000}, versions=2)

    @pytest.fixture
    def driver(self) -> Publish:
        return Publish()
