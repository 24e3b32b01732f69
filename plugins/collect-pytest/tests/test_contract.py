from __future__ import annotations

from perfcore_collect_pytest.contract import PytestContract


class TestContract(PytestContract):
    pass
