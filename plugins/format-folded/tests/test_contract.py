from __future__ import annotations

import pytest
from perfcore_format_folded import FoldedFormat

from perfcore.testing.format import FormatContract


class TestFolded(FormatContract):
    suffix = ".folded"
    holds = "sampled"
    exact = False  # it holds the stacks of a profile and nothing else
    checked = False  # a line that lost its last digits is a line

    @pytest.fixture
    def driver(self) -> FoldedFormat:
        return FoldedFormat()
