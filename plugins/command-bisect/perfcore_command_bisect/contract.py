"""How the laws of the kind command are tried: by the tests, and by `perf plugins check`."""

from __future__ import annotations

import pytest
from perfcore_testing.command import CommandInRepositoryContract

from perfcore_command_bisect.driver import Bisect


class BisectContract(CommandInRepositoryContract):
    examples = (["--reset"],)

    @pytest.fixture
    def driver(self) -> Bisect:
        return Bisect()
