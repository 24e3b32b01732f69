"""How the laws of the kind command are tried: by the tests, and by `perf plugins check`."""

from __future__ import annotations

import pytest
from perfcore_testing.command import CommandInRepositoryContract

from perfcore_command_compare.driver import Compare


class CompareContract(CommandInRepositoryContract):
    examples = (["-c", "true", "-c", "true"],)

    @pytest.fixture
    def driver(self) -> Compare:
        return Compare()
