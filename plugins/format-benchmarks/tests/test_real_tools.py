"""The tools themselves, where they are installed: their files of today are read."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from importlib.metadata import distributions
from pathlib import Path

import pytest
from perfcore_format_benchmarks.hyperfine import HyperfineFormat
from perfcore_format_benchmarks.pyperf import PyperfFormat
from perfcore_format_benchmarks.pytest_benchmark import PytestBenchmarkFormat
from perfcore_testing.processes import PATIENCE

from .suites import amounts, nanoseconds

# A Python with pytest-benchmark, which would load into every test run if it were installed here.
PYTEST_BENCHMARK = os.environ.get("PERFCORE_TEST_PYTEST_BENCHMARK")
INSTALLED = {distribution.name.lower() for distribution in distributions()}


def run(words: Sequence[str | Path], folder: Path) -> None:
    # No coverage, no plugins and no options of the tests that run this.
    environment = {key: text for key, text in os.environ.items() if not key.startswith(("PYTEST", "COV", "PYTHON"))}
    done = subprocess.run(
        words, cwd=folder, capture_output=True, text=True, timeout=PATIENCE, env=environment, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(shutil.which("hyperfine") is None, reason="hyperfine is not installed")
def test_hyperfine(tmp_path: Path) -> None:
    words = ["-N", "-w", "0", "-r", "3", "-L", "n", "0,1", "sh -c 'exit 0 {n}'", "--export-json", "out.json"]
    run(["hyperfine", *words], tmp_path)
    expected = [result["times"] for result in json.loads((tmp_path / "out.json").read_text())["results"]]
    values = amounts(HyperfineFormat().read(tmp_path / "out.json"))
    assert [*values.values()] == [pytest.approx([1e9 * seconds for seconds in times]) for times in expected]
    assert HyperfineFormat().sniff((tmp_path / "out.json").read_bytes()[:4096], "out.json")


@pytest.mark.skipif("pyperf" not in INSTALLED, reason="pyperf is not installed")
def test_pyperf(tmp_path: Path) -> None:
    words = ["-p", "2", "-n", "2", "-w", "0", "-l", "10", "--name", "add", "1 + 1", "-o", "out.json", "-q"]
    run([sys.executable, "-m", "pyperf", "timeit", *words], tmp_path)
    (benchmark,) = json.loads((tmp_path / "out.json").read_text())["benchmarks"]
    expected = [nanoseconds(worker["values"]) for worker in benchmark["runs"] if worker.get("values")]
    assert len(expected) == 2
    assert amounts(PyperfFormat().read(tmp_path / "out.json")) == {"add": pytest.approx(expected)}
    assert PyperfFormat().sniff((tmp_path / "out.json").read_bytes()[:4096], "out.json")


@pytest.mark.skipif(PYTEST_BENCHMARK is None, reason="PERFCORE_TEST_PYTEST_BENCHMARK names no Python")
def test_pytest_benchmark(tmp_path: Path) -> None:
    (tmp_path / "test_a.py").write_text(
        "import pytest\n"
        "@pytest.mark.parametrize('n', [1, 2])\n"
        "def test_sum(benchmark, n):\n"
        "    benchmark.pedantic(sum, args=([n],), rounds=5, iterations=2)\n"
    )
    words = ["-q", "-p", "no:cacheprovider", "--benchmark-json=out.json", "test_a.py"]
    assert PYTEST_BENCHMARK is not None
    run([PYTEST_BENCHMARK, "-m", "pytest", *words], tmp_path)
    document = json.loads((tmp_path / "out.json").read_text())
    expected = [[pytest.approx(nanoseconds(entry["stats"]["data"]))] for entry in document["benchmarks"]]
    values = amounts(PytestBenchmarkFormat().read(tmp_path / "out.json"))
    assert values == {"test_a.py::test_sum[1]": expected[0], "test_a.py::test_sum[2]": expected[1]}
    assert PytestBenchmarkFormat().sniff((tmp_path / "out.json").read_bytes()[:4096], "out.json")
