from __future__ import annotations

import pytest
from perfcore_collect_time import TimeCollector, TimeSettings
from perfcore_testing.collector import CollectorContract


class TestContract(CollectorContract):
    resets_signals = True

    @pytest.fixture
    def driver(self) -> TimeCollector:
        return TimeCollector(TimeSettings())


class TestPinned(CollectorContract):
    """With every step there is: setup, cleanup, a limit, a CPU, a file for the output."""

    resets_signals = True

    @pytest.fixture
    def driver(self) -> TimeCollector:
        settings = TimeSettings(setup="true", cleanup="true", timeout=600, cpus="0", output="output")
        return TimeCollector(settings)
