"""How the laws of the kind command are tried: by the tests, and by `perf plugins check`."""

from __future__ import annotations

import pytest
from perfcore_testing.command import CommandInRepositoryContract

from perfcore_command_config.driver import ConfigCommand


class ConfigCommandContract(CommandInRepositoryContract):
    examples = (["get"], ["get", "--json"], ["get", "vcs.name"])

    @pytest.fixture
    def driver(self) -> ConfigCommand:
        return ConfigCommand()
