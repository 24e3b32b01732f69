"""How the laws of the kind format are tried: by the tests, and by `perf plugins check`."""

from __future__ import annotations

import pytest
from perfcore_testing.format import FormatContract

from perfcore_format_pprof.driver import PprofFormat


class PprofContract(FormatContract):
    suffix = ".pb.gz"
    holds = "sampled"
    exact = False  # it holds the samples of a profile and nothing else

    @pytest.fixture
    def driver(self) -> PprofFormat:
        return PprofFormat()
