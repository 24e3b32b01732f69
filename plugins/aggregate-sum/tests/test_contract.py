from __future__ import annotations

import pytest
from perfcore_aggregate_sum import Sum
from perfcore_testing.aggregate import AggregateContract


class TestSum(AggregateContract):
    @pytest.fixture
    def driver(self) -> Sum:
        return Sum()
