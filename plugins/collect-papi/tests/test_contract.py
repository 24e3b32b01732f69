from __future__ import annotations

import pytest
from perfcore_collect_papi import PapiCollector, PapiSettings
from perfcore_collect_papi.contract import PapiContract
from perfcore_collect_papi.names import DEFAULT_EVENTS
from perfcore_testing.collector import CollectorContract


class TestSoftware(PapiContract):
    """The kernel's counters, which are there without hardware."""


class TestTotal(CollectorContract):
    """With every step there is: readings, a limit, a file for the output, no CPUs."""

    resets_signals = True

    @pytest.fixture
    def driver(self) -> PapiCollector:
        return PapiCollector(PapiSettings(fallback=True, per_cpu=False, interval=0.01, timeout=600, output="output"))


@pytest.mark.usefixtures("processor")
class TestProcessor(CollectorContract):
    """By PAPI, on counters of the kernel, and with some of the kernel beside them."""

    resets_signals = True

    @pytest.fixture
    def driver(self) -> PapiCollector:
        return PapiCollector(PapiSettings(event=(*DEFAULT_EVENTS, "task-clock")))
