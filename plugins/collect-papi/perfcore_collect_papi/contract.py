"""How the laws of the kinds collector and command are tried: by the tests, and by `perf plugins check`."""

from __future__ import annotations

import pytest
from perfcore_testing.collector import CollectorContract
from perfcore_testing.command import CommandContract

from perfcore_collect_papi.collector import PapiCollector, PapiSettings
from perfcore_collect_papi.command import PapiCommand


class PapiContract(CollectorContract):
    """With the kernel's counters, which are there without hardware."""

    resets_signals = True

    @pytest.fixture
    def driver(self) -> PapiCollector:
        return PapiCollector(PapiSettings(event=("task-clock", "page-faults")))


class PapiCommandContract(CommandContract):
    examples = (["events"], ["events", "--json", "cyc"], ["doctor"], ["doctor", "--json"])

    @pytest.fixture
    def driver(self) -> PapiCommand:
        return PapiCommand()
