"""How the laws of the kind workload are tried: by the tests, and by `perf plugins check`."""

import pytest
from perfcore_testing.workload import WorkloadContract

from perfcore_workload_lines.generator import Lines, LinesSettings


class LinesContract(WorkloadContract):
    specs = (
        {"lines": [1, 10, 100]},
        {"lines": [100, 10], "seed": 2},
        {"sizes": [1, 100, "1 KiB", "2kB"]},
        {"sizes": [5], "width": 3},
    )
    wrong = (
        {},
        {"lnies": [1]},
        {"lines": "many"},
        {"lines": []},
        {"lines": [0]},
        {"lines": [True]},
        {"lines": [1], "sizes": [1]},
        {"sizes": ["10 XB"]},
        {"sizes": [1.5]},
        {"sizes": ["9" * 15 + " GiB"]},
        {"lines": [10**30]},
        {"lines": [1], "width": 1},
        {"lines": [1], "seed": "x"},
    )

    @pytest.fixture
    def driver(self) -> Lines:
        return Lines(LinesSettings())
