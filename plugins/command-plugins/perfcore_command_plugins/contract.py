"""How the laws of the kind command are tried: by the tests, and by `perf plugins check`."""

from __future__ import annotations

import pytest
from perfcore_testing.command import CommandInRepositoryContract

from perfcore_command_plugins.driver import PluginsCommand


class PluginsCommandContract(CommandInRepositoryContract):
    examples = (["list", "storage"], ["list", "storage", "--json"], ["show", "storage:local"])

    @pytest.fixture
    def driver(self) -> PluginsCommand:
        return PluginsCommand()
