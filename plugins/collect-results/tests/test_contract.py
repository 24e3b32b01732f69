from __future__ import annotations

from perfcore_collect_results.contract import ResultsContract


class TestContract(ResultsContract):
    pass
