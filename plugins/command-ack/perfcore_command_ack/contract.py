"""How the laws of the kind command are tried: by the tests, and by `perf plugins check`."""

from __future__ import annotations

import pytest
from perfcore_testing.command import CommandInRepositoryContract

from perfcore_command_ack.driver import Acknowledge, Triage


class AcknowledgeContract(CommandInRepositoryContract):
    examples = (["--list"], ["--json"])

    @pytest.fixture
    def driver(self) -> Acknowledge:
        return Acknowledge()


class TriageContract(CommandInRepositoryContract):
    examples = ([], ["--json"])

    @pytest.fixture
    def driver(self) -> Triage:
        return Triage()
