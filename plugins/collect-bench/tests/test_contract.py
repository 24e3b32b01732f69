from __future__ import annotations

import sys

import pytest
from perfcore_collect_bench.collector import BenchCollector, BenchSettings
from perfcore_collect_bench.contract import BenchContract


class TestContract(BenchContract):
    pass


class TestOptions(BenchContract):
    """With all options that any suite fits."""

    @pytest.fixture
    def driver(self) -> BenchCollector:
        return BenchCollector(BenchSettings(python=sys.executable, timeout=30))
