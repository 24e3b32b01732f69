"""How the laws of the kind format are tried: by the tests, and by `perf plugins check`."""

from __future__ import annotations

import pytest
from perfcore_testing.format import FormatContract

from perfcore_format_folded.driver import FoldedFormat


class FoldedContract(FormatContract):
    suffix = ".folded"
    holds = "sampled"
    exact = False  # it holds the stacks of a profile and nothing else
    checked = False  # a line that lost its last digits is a line

    @pytest.fixture
    def driver(self) -> FoldedFormat:
        return FoldedFormat()
