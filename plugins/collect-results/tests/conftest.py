"""Harnesses that are small scripts, run in real processes."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from perfcore_collect_results.collector import ResultsCollector, ResultsSettings
from perfcore_testing.collector import Measuring
from perfcore_testing.processes import Measure, marker
from perfcore_testing.project import empty_project, project

__all__ = ["empty_project", "marker", "project"]

MeasureHarness = Callable[..., Measuring]


@pytest.fixture
def measure(tmp_path: Path) -> MeasureHarness:
    """Measures a script of Python as a harness: `measure("print(...)", "word", runs=2, output="out")`."""

    def measure(script: str, *words: str, **options: Any) -> Measuring:
        collectors = Measure(lambda **settings: ResultsCollector(ResultsSettings(**settings)), tmp_path)
        return collectors(sys.executable, "-I", "-S", "-c", script, *words, **options)

    return measure


def google(**times: Any) -> str:
    """Results of Google Benchmark: the CPU time of each benchmark in ns, or the fields of its row."""
    rows: list[dict[str, Any]] = []
    for name, time in times.items():
        fields = time if isinstance(time, dict) else {"real_time": time, "cpu_time": time}
        rows.append({"name": name, "run_name": name, "run_type": "iteration", "time_unit": "ns", **fields})
    context = {"date": "2026-11-22T07:00:00+00:00", "num_cpus": 2, "library_build_type": "release"}
    return json.dumps({"context": context, "benchmarks": rows})


def statuses(measuring: Measuring) -> dict[str, tuple[str, str]]:
    rows = measuring.session.tables["benchmarks"].build().iter_rows()
    return {str(row["benchmark"]): (str(row["status"]), str(row["message"] or "")) for row in rows}
