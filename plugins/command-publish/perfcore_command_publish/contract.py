"""How the laws of the kind command are tried: by the tests, and by `perf plugins check`."""

from __future__ import annotations

import pytest
from perfcore_testing.command import CommandInRepositoryContract

from perfcore_command_publish.driver import Publish


class PublishContract(CommandInRepositoryContract):
    examples = (["site"], ["site", "--title", "Sorting", "--json"], ["site", "--fresh"])

    @pytest.fixture
    def driver(self) -> Publish:
        return Publish()
