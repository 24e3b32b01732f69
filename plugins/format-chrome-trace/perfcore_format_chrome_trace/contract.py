"""How the laws of the kind format are tried: by the tests, and by `perf plugins check`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from perfcore_testing.format import FormatContract

from perfcore_format_chrome_trace.driver import ChromeTraceFormat

TRACE = {
    "traceEvents": [
        {"ph": "M", "pid": 7, "tid": 8, "name": "thread_name", "args": {"name": "main"}},
        {"ph": "B", "pid": 7, "tid": 8, "ts": 1000.5, "name": "build"},
        {"ph": "X", "pid": 7, "tid": 8, "ts": 1002, "dur": 4, "name": "parse (src/parse.py:12)", "args": {}},
        {"ph": "E", "pid": 7, "tid": 8, "ts": 1010.5},
    ],
    "displayTimeUnit": "ms",
}


class ChromeTraceContract(FormatContract):
    """The format only reads."""

    suffix = ".json"

    @pytest.fixture
    def driver(self) -> ChromeTraceFormat:
        return ChromeTraceFormat()

    @pytest.fixture
    def example(self, tmp_path: Path) -> Path:
        path = tmp_path / f"example{self.suffix}"
        path.write_text(json.dumps(TRACE, separators=(",", ":")))
        return path
