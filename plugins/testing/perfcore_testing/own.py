"""How the laws are tried on the formats that perfcore brings itself: by its tests, and by `perf plugins check`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from perfcore_format_perun.reader import PerunFormat

from perfcore.profile.native import PerfFormat
from perfcore_testing.format import FormatContract

if TYPE_CHECKING:
    from perfcore.hookspecs import Format

_OF_PERUN = {
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


class PerfContract(FormatContract):
    suffix = ".perf"

    @pytest.fixture
    def driver(self) -> Format:
        return PerfFormat()


class PerunContract(FormatContract):
    """Perfcore reads it and does not write it."""

    suffix = ".perf"

    @pytest.fixture
    def driver(self) -> Format:
        return PerunFormat()  # type: ignore[return-value]  # it has no `write`

    @pytest.fixture
    def example(self, driver: Format, tmp_path: Path) -> Path:
        path = tmp_path / "example.perf"
        path.write_text(json.dumps(_OF_PERUN))
        return path
