from __future__ import annotations

import pytest
from perfcore_check_pair import PairCheck, PairSettings
from perfcore_testing.check import CheckContract


class TestContract(CheckContract):
    @pytest.fixture
    def driver(self) -> PairCheck:
        return PairCheck(PairSettings())
