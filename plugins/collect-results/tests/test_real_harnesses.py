"""Real harnesses under the collector. Each test skips where its harness is not installed; .ci/run installs those of
Python."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from perfcore_testing.project import Project

HARNESSES = os.environ.get("PERFCORE_TEST_HARNESSES")
in_harnesses = pytest.mark.skipif(HARNESSES is None, reason="PERFCORE_TEST_HARNESSES names no folder of programs")
GO = """package tiny
import "testing"
func BenchmarkSum(b *testing.B) { t := 0; for i := 0; i < b.N; i++ { t += i }; _ = t }
"""
GOOGLE = """#include <benchmark/benchmark.h>
static void BM_sum(benchmark::State& state) { for (auto _ : state) benchmark::DoNotOptimize(state.iterations()); }
BENCHMARK(BM_sum);
BENCHMARK_MAIN();
"""
CATCH = """#define CATCH_CONFIG_ENABLE_BENCHMARKING
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
TEST_CASE("sum") { BENCHMARK("adding") { return 1 + 1; }; }
"""


def _benchmarks(project: Project, *words: str) -> set[tuple[str, str]]:
    """(run, benchmark) of two runs of a harness."""
    project.perf("collect", "results", "--repeat", "2", *words)
    table = project.perf("show", "0@p", "table", "--columns", "run,benchmark", "--head", "99").out
    rows = (line.split(None, 1) for line in table.splitlines()[1:])
    return {(run, name.strip()) for run, name in rows}


@in_harnesses
def test_pyperf(project: Project) -> None:
    assert HARNESSES is not None
    project.write("bench.py", "import pyperf\npyperf.Runner().timeit('sum', stmt='sum(range(9))')\n")
    words = (f"{HARNESSES}/python", "bench.py", "-p", "1", "-n", "2", "-w", "1", "-l", "64", "-o", "{output}")
    assert _benchmarks(project, "--", *words) == {("0", "sum"), ("1", "sum")}


@in_harnesses
def test_asv(project: Project) -> None:
    assert HARNESSES is not None
    settings = {"version": 1, "project": "tiny", "repo": ".", "branches": ["HEAD"], "benchmark_dir": "suite"}
    settings |= {"environment_type": "existing", "pythons": ["same"]}
    project.write("asv.conf.json", json.dumps({**settings, "results_dir": "results"}))
    (project.path / "suite").mkdir()
    project.write("suite/__init__.py", "")
    project.write("suite/bench.py", "def time_sum():\n    sum(range(99))\n")
    project.git("add", ".")
    version = project.commit("a suite")
    asv = f"{HARNESSES}/asv"
    subprocess.run([asv, "machine", "--yes"], cwd=project.path, env=project.env, check=True, capture_output=True)
    words = (asv, "run", "--python=same", "--quick", "--set-commit-hash", version)
    assert _benchmarks(project, "--format", "asv", "--output", "results", "--", *words) == {
        ("0", "bench.time_sum"),
        ("1", "bench.time_sum"),
    }


@pytest.mark.skipif(shutil.which("go") is None, reason="go is not installed (Debian: golang-go)")
def test_go(project: Project, tmp_path: Path) -> None:
    project.write("go.mod", "module tiny\n")
    project.write("tiny_test.go", GO)
    project.env |= {"GOCACHE": str(tmp_path / "cache"), "GOFLAGS": "-mod=mod"}
    words = ("go", "test", "-run", "^$", "-bench", ".", "-benchtime", "10x")
    assert {run for run, name in _benchmarks(project, "--", *words) if "Sum" in name} == {"0", "1"}


@pytest.mark.skipif(
    shutil.which("c++") is None or not Path("/usr/include/benchmark/benchmark.h").exists(),
    reason="Google Benchmark is not installed (Debian: libbenchmark-dev)",
)
def test_google_benchmark(project: Project) -> None:
    project.write("bench.cpp", GOOGLE)
    command = ["c++", "-O0", "-o", "bench", "bench.cpp", "-lbenchmark", "-lpthread"]
    subprocess.run(command, cwd=project.path, check=True)
    words = ("./bench", "--benchmark_format=json", "--benchmark_min_time=0.01")
    assert _benchmarks(project, "--", *words) == {("0", "BM_sum"), ("1", "BM_sum")}


@pytest.mark.skipif(
    "PERFCORE_TEST_CATCH2" not in os.environ,
    reason="PERFCORE_TEST_CATCH2 is not set: Catch2 2 (Debian: catch2) takes 40 s to compile",
)
def test_catch2(project: Project) -> None:
    project.write("bench.cpp", CATCH)
    subprocess.run(["c++", "-O0", "-o", "bench", "bench.cpp"], cwd=project.path, check=True)
    words = ("./bench", "--reporter", "xml", "--benchmark-samples", "3", "--benchmark-no-analysis")
    assert {run for run, name in _benchmarks(project, "--", *words) if "adding" in name} == {"0", "1"}
