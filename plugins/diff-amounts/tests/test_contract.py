from __future__ import annotations

import pytest
from perfcore_diff_amounts import Amounts
from perfcore_testing.diff import DiffContract


class TestAmounts(DiffContract):
    @pytest.fixture
    def driver(self) -> Amounts:
        return Amounts()
