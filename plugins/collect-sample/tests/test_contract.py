from __future__ import annotations

import pytest
from perfcore_collect_sample import SampleCollector, SampleSettings
from perfcore_collect_sample.kernel import KernelPerf
from perfcore_testing.collector import CollectorContract

from perfcore.errors import PluginError


class TestPySpy(CollectorContract):
    resets_signals = True

    @pytest.fixture
    def driver(self) -> SampleCollector:
        return SampleCollector(SampleSettings(tool="py-spy"))


class TestKernelPerf(CollectorContract):
    resets_signals = True

    @pytest.fixture
    def driver(self) -> SampleCollector:
        try:
            KernelPerf.find(SampleSettings())
        except PluginError as error:
            pytest.skip(str(error))
        return SampleCollector(SampleSettings(tool="perf"))
