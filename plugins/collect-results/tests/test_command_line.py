"""A harness under the commands that measure: collected, checked, bisected, and real ones where they are installed."""

from __future__ import annotations

import os
import shutil
import sys

import pytest
from perfcore_testing.project import Project

HARNESS = """
import json, sys
size = int(open("size.txt").read())
rows = [
    {"name": name, "run_name": name, "run_type": "iteration", "real_time": time, "cpu_time": time, "time_unit": "ns"}
    for name, time in (("parse", 20.0 * size), ("print", 7.0))
]
results = {"context": {"num_cpus": 2, "library_build_type": "release"}, "benchmarks": rows}
with open(sys.argv[1], "w") as file:
    json.dump(results, file)
"""
COMMAND = (sys.executable, "-I", "-S", "harness.py", "{output}")
PYTEST_BENCHMARK = os.environ.get("PERFCORE_TEST_PYTEST_BENCHMARK")


@pytest.fixture
def versions(project: Project) -> list[str]:
    """Four versions; the third makes `parse` twice as slow."""
    for name, text in (("harness.py", HARNESS), ("size.txt", "10")):
        project.write(name, text)
    return [_version(project, number, size) for number, size in enumerate((10, 10, 20, 20))]


def _version(project: Project, number: int, size: int) -> str:
    project.write("size.txt", str(size))
    project.write("number.txt", str(number))
    project.git("add", ".")
    return project.commit(f"Version {number}")


def test_a_slower_benchmark_is_named_by_its_check(project: Project, versions: list[str]) -> None:
    collected = project.perf(
        "collect", "results", "-v", versions[1], "-v", versions[2], "--repeat", "8", "--add", "--", *COMMAND
    )
    assert collected.code == 0, collected
    checked = project.perf("check", versions[1], versions[2], code=None)
    assert checked.code == 1, checked
    assert "parse" in checked.out
    assert "print" not in checked.out


def test_a_comparison_of_two_versions_decides_each_benchmark(project: Project, versions: list[str]) -> None:
    words = ("--collector", "results", "--max-pairs", "6", "--json", "--", *COMMAND)
    changes = project.perf("compare", versions[0], versions[2], *words, code=1).json["changes"]
    kinds = {change["resource"]: change["kind"] for change in changes if change["primary"]}
    assert kinds == {"parse": "degradation", "print": "same"}


def test_a_bisection_finds_the_version_by_one_benchmark(project: Project, versions: list[str]) -> None:
    words = ("--collector", "results", "--benchmark", "parse", "--metric", "cpu")
    bisected = project.perf("bisect", versions[0], versions[3], *words, "--", *COMMAND, code=None)
    assert versions[2][:10] in bisected.out, bisected


def test_a_stored_command_is_repeated_from_its_profile(project: Project, versions: list[str]) -> None:
    project.perf("collect", "results", "--repeat", "8", "--add", "--", *COMMAND)
    repeated = project.perf("check", versions[0], versions[3], "--collect", code=None)
    assert repeated.code == 1, repeated
    assert "parse" in repeated.out


def test_a_harness_that_fails_leaves_no_profile(project: Project) -> None:
    failed = project.perf("collect", "results", "--", sys.executable, "-c", "raise SystemExit('no disk')", code=None)
    assert failed.code
    assert "no disk" in failed.err
    assert "pending" not in project.perf("status").out


@pytest.mark.skipif(shutil.which("hyperfine") is None, reason="hyperfine is not installed")
def test_hyperfine(project: Project) -> None:
    words = ("hyperfine", "-N", "-r", "2", "--export-json", "{output}", "true")
    project.perf("collect", "results", "--repeat", "3", "--", *words)
    profile = project.perf("show", "0@p", "table", "--columns", "run,benchmark", "--head", "99").out
    assert [line.split() for line in profile.splitlines()[1:]] == [[str(run), "true"] for run in (0, 0, 1, 1, 2, 2)]


@pytest.mark.skipif(PYTEST_BENCHMARK is None, reason="PERFCORE_TEST_PYTEST_BENCHMARK names no Python")
def test_pytest_benchmark(project: Project) -> None:
    assert PYTEST_BENCHMARK is not None
    text = "def test_sum(benchmark):\n    benchmark.pedantic(sum, args=([1],), rounds=3)\n"
    project.write("test_a.py", text)
    words = (PYTEST_BENCHMARK, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--benchmark-json={output}", "test_a.py")
    # In a worker of pytest-xdist pytest-benchmark measures nothing.
    variables = ("PYTEST_XDIST_WORKER", "PYTEST_DISABLE_PLUGIN_AUTOLOAD", "PYTEST_ADDOPTS")
    project.perf("collect", "results", "--repeat", "2", "--", "env", *(f"-u{name}" for name in variables), *words)
    assert "test_a.py::test_sum" in project.perf("show", "0@p", "table", "--columns", "run,benchmark").out


OWN = """
import json
from perfcore_format_benchmarks.googlebenchmark import GoogleBenchmarkFormat


class Mine(GoogleBenchmarkFormat):
    def sniff(self, head, name):
        return False
"""


def test_formats_of_the_project_are_used(project: Project, versions: list[str]) -> None:
    project.write("formats.py", OWN)
    project.perf("config", "set", "plugins.own", "{format: {mine: 'formats.py:Mine'}}")
    project.perf("config", "trust", "--yes", code=None)
    project.perf("plugins", "list", "format")
    project.perf("collect", "results", "--format", "mine", "--repeat", "1", "--", *COMMAND)
    assert "parse" in project.perf("show", "0@p", "table", "--columns", "run,benchmark").out


def test_disabled_formats_are_not_used(project: Project, versions: list[str]) -> None:
    project.perf("config", "set", "plugins.disabled", "[perfcore-format-benchmarks]")
    done = project.perf("collect", "results", "--repeat", "1", "--", *COMMAND, code=None)
    assert "no format recognises them" in done.err
