"""Suites of pytest-benchmark, measured by it. With PERFCORE_TEST_PYTEST_BENCHMARK, the path of a Python that has
pytest-benchmark, real ones are, too."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from perfcore_collect_pytest.runs import results_of

from .conftest import MeasureTests, names, statuses

PYTHON = os.environ.get("PERFCORE_TEST_PYTEST_BENCHMARK")
SUITE = """
    import time
    import pytest

    @pytest.mark.parametrize("n", [1, 2])
    @pytest.mark.benchmark(group="sum")
    def test_sum(benchmark, n):
        assert benchmark(sum, range(n)) >= 0

    def test_pedantic(benchmark):
        benchmark.pedantic(int, rounds=4, iterations=5)

    @pytest.mark.benchmark(timer=time.process_time)
    def test_cpu(benchmark):
        benchmark(sum, range(1000))

    def test_fails_afterwards(benchmark):
        benchmark(int)
        assert False, "too bad"

    @pytest.mark.skip(reason="not here")
    def test_skipped(benchmark):
        benchmark(int)

    def test_perf(perf):
        perf(int)
"""


def test_results_are_nanoseconds_by_test_and_missing_times_are_none(tmp_path: Path) -> None:
    def entry(name: str, data: list[float | None], timer: str = "perf_counter") -> dict[str, object]:
        return {"fullname": name, "stats": {"data": data, "iterations": 3}, "options": {"timer": timer}}

    entries = [entry("a", [1e-6, None, float("nan"), 3e-6]), entry("b", [2e-6], "process_time"), entry("c", [])]
    path = tmp_path / "results.json"
    path.write_text(json.dumps({"benchmarks": entries}))
    assert results_of(path) == {
        "a": {
            "wall": [pytest.approx(1000), pytest.approx(3000)],
            "cpu": [None, None],
            "relative": [None, None],
            "loops": [3, 3],
        },
        "b": {"wall": [None], "cpu": [pytest.approx(2000)], "relative": [None], "loops": [3]},
    }


@pytest.mark.parametrize("text", ["", '{"benchmarks": ['])
def test_a_process_that_died_leaves_no_results(tmp_path: Path, text: str) -> None:
    path = tmp_path / "results.json"
    assert results_of(path) == {}
    path.write_text(text)
    assert results_of(path) == {}


@pytest.mark.skipif(PYTHON is None, reason="PERFCORE_TEST_PYTEST_BENCHMARK names no Python")
def test_its_tests_are_rows_of_the_process(measure: MeasureTests, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD")
    # With it, pytest-benchmark takes itself for a worker of pytest-xdist, in which it measures nothing.
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    measuring = measure(SUITE, runs=2, python=PYTHON)
    passed = ["test_cpu", "test_pedantic", "test_perf", "test_sum[1]", "test_sum[2]"]
    assert names(measuring) == [f"test_a.py::{name}" for name in passed]
    pedantic = [row for row in measuring.rows if row["benchmark"] == "test_a.py::test_pedantic"]
    assert [(row["run"], row["loops"]) for row in pedantic] == [(0, 5)] * 4 + [(1, 5)] * 4
    assert all((row["wall"] is None) == (row["benchmark"] == "test_a.py::test_cpu") for row in measuring.rows)
    assert statuses(measuring)["test_a.py::test_fails_afterwards"] == ("failed", "AssertionError: too bad assert False")
    assert statuses(measuring)["test_a.py::test_skipped"][0] == "skipped"
