"""How the laws of the kind format are tried: by the tests, and by `perf plugins check`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from perfcore_testing.format import FormatContract

from perfcore_format_perun.reader import PerunFormat

_PROFILE = {
    "origin": "c1a2",
    "header": {"type": "memory", "cmd": "./sort", "args": "-n", "workload": "big.txt", "units": {"memory": "B"}},
    "collector_info": {"name": "memory", "params": {"sampling": 0.025}},
    "postprocessors": [],
    "snapshots": [
        {
            "time": "0.025",
            "resources": [
                {
                    "amount": 128,
                    "type": "memory",
                    "subtype": "malloc",
                    "address": 140_000_001,
                    "uid": {"function": "main", "source": "sort.c", "line": 12},
                    "trace": [{"function": "main", "source": "sort.c", "line": 12}],
                }
            ],
        }
    ],
}


class PerunContract(FormatContract):
    """The format only reads."""

    suffix = ".perf"

    @pytest.fixture
    def driver(self) -> PerunFormat:
        return PerunFormat()

    @pytest.fixture
    def example(self, tmp_path: Path) -> Path:
        path = tmp_path / "example.perf"
        path.write_text(json.dumps(_PROFILE))
        return path
