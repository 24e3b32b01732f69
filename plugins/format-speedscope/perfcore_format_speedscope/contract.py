"""How the laws of the kind format are tried: by the tests, and by `perf plugins check`."""

from __future__ import annotations

import pytest
from perfcore_testing.format import FormatContract

from perfcore_format_speedscope.driver import SpeedscopeFormat


class SpeedscopeContract(FormatContract):
    suffix = ".speedscope.json"
    holds = "sampled"
    exact = False  # it holds the samples of a profile and nothing else

    @pytest.fixture
    def driver(self) -> SpeedscopeFormat:
        return SpeedscopeFormat()
