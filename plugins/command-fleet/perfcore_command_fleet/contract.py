"""How the contract of the kind command is tried: by the tests, and by `perf plugins check`."""

from __future__ import annotations

import pytest
from perfcore_testing.command import CommandInRepositoryContract
from perfcore_testing.project import Project

from perfcore_command_fleet.driver import FleetCommand


class FleetCommandContract(CommandInRepositoryContract):
    examples = (
        ["queries"],
        ["queries", "--json"],
        ["save", "carts", "action=cart"],
        ["pins", "--json"],
        ["meta", "team=shop"],
    )

    def prepare(self, project: Project) -> None:
        """A version."""
        project.commit("release", source="1")

    @pytest.fixture
    def driver(self) -> FleetCommand:
        return FleetCommand()
