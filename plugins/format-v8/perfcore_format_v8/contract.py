"""How the laws of the kind format are tried: by the tests, and by `perf plugins check`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from perfcore_testing.format import FormatContract

from perfcore_format_v8.driver import V8Format


def call_frame(name: str, line: int, url: str = "file:///srv/app.js") -> dict[str, Any]:
    return {"functionName": name, "scriptId": "7", "url": url, "lineNumber": line, "columnNumber": 0}


ROOT = call_frame("(root)", -1, "")
CPU = {
    "nodes": [
        {"id": 1, "callFrame": ROOT, "hitCount": 0, "children": [2, 4]},
        {"id": 2, "callFrame": call_frame("main", 4), "hitCount": 1, "children": [3]},
        {"id": 3, "callFrame": call_frame("parse", 20), "hitCount": 2, "positionTicks": [{"line": 23, "ticks": 2}]},
        {"id": 4, "callFrame": call_frame("(idle)", -1, ""), "hitCount": 1},
    ],
    "startTime": 1000,
    "endTime": 6000,
    "samples": [2, 3, 3, 4],
    "timeDeltas": [500, 1000, 1000, 1500],
}
HEAP = {
    "head": {
        "callFrame": ROOT,
        "selfSize": 0,
        "id": 1,
        "children": [{"callFrame": call_frame("load", 3), "selfSize": 4096, "id": 2, "children": []}],
    },
    "samples": [{"size": 4096, "nodeId": 2, "ordinal": 1}],
}


class CpuContract(FormatContract):
    """CPU profiles, which are only read."""

    suffix = ".cpuprofile"
    document: Any = CPU

    @pytest.fixture
    def driver(self) -> V8Format:
        return V8Format()

    @pytest.fixture
    def example(self, tmp_path: Path) -> Path:
        path = tmp_path / f"example{self.suffix}"
        path.write_text(json.dumps(self.document, separators=(",", ":")))
        return path


class HeapContract(CpuContract):
    """Heap profiles, which are only read."""

    suffix = ".heapprofile"
    document = HEAP
