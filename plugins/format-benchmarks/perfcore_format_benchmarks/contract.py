"""How the laws of the kind format are tried: by the tests, and by `perf plugins check`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar, cast

import pytest
from perfcore_testing.format import FormatContract

from perfcore.hookspecs import Format
from perfcore_format_benchmarks.asv import AsvFormat
from perfcore_format_benchmarks.catch2 import Catch2Format
from perfcore_format_benchmarks.criterion import CriterionFormat
from perfcore_format_benchmarks.gobench import GobenchFormat
from perfcore_format_benchmarks.googlebenchmark import GoogleBenchmarkFormat
from perfcore_format_benchmarks.hyperfine import HyperfineFormat
from perfcore_format_benchmarks.jmh import JmhFormat
from perfcore_format_benchmarks.pyperf import PyperfFormat
from perfcore_format_benchmarks.pytest_benchmark import PytestBenchmarkFormat

_COMMIT = "c380209ff119831ab95220150b3397995cc6f8f1"


class _ReadContract(FormatContract):
    """These formats only read. `document` is a small file of the format, called `file_name`."""

    make: Any
    file_name = "example.json"
    suffix = ".json"
    document: ClassVar[Any]

    @pytest.fixture
    def driver(self) -> Format:
        return cast(Format, self.make())

    @pytest.fixture
    def example(self, tmp_path: Path) -> Path:
        path = tmp_path / self.file_name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.document if isinstance(self.document, str) else json.dumps(self.document))
        return path


class HyperfineContract(_ReadContract):
    make = HyperfineFormat
    document: ClassVar[Any] = {
        "results": [{"command": "./sort", "times": [0.25, 0.5], "exit_codes": [0, 0], "user": 0.1}]
    }


class PytestBenchmarkContract(_ReadContract):
    make = PytestBenchmarkFormat
    document: ClassVar[Any] = {
        "machine_info": {"node": "h", "system": "Linux", "python_implementation": "CPython", "cpu": {"count": 2}},
        "commit_info": {"id": _COMMIT, "dirty": False},
        "benchmarks": [
            {
                "fullname": "test_a.py::test_sum[4]",
                "param": "4",
                "params": {"n": 4},
                "stats": {"median": 0.25, "data": [0.25, 0.5, 0.125], "iterations": 1, "rounds": 3},
            }
        ],
        "datetime": "2026-11-22T07:32:28.123456+00:00",
        "version": "5.3.1",
    }


class PyperfContract(_ReadContract):
    make = PyperfFormat
    document: ClassVar[Any] = {
        "benchmarks": [{"runs": [{"metadata": {}, "values": [0.25, 0.5]}, {"metadata": {}, "values": [0.5]}]}],
        "metadata": {"name": "sum", "unit": "second", "python_version": "3.11.7 (64-bit)"},
        "version": "1.0",
    }


class AsvContract(_ReadContract):
    make = AsvFormat
    file_name = "results/box/c380209f-py3.11.json"
    document: ClassVar[Any] = {
        "commit_hash": _COMMIT,
        "env_name": "py3.11",
        "python": "3.11",
        "result_columns": ["result", "params", "version", "started_at"],
        "results": {"suite.time_sum": [[0.25, 0.5], [["1", "2"]], "1", 1795332803463]},
        "version": 2,
    }


class GoogleBenchmarkContract(_ReadContract):
    make = GoogleBenchmarkFormat
    document: ClassVar[Any] = {
        "context": {"date": "2026-11-22T07:30:12+00:00", "num_cpus": 2, "executable": "./b"},
        "benchmarks": [
            {
                "name": "BM_sum/64",
                "run_name": "BM_sum/64",
                "run_type": "iteration",
                "iterations": 1000,
                "real_time": 23.5,
                "cpu_time": 23.25,
                "time_unit": "ns",
            }
        ],
    }


class CriterionContract(_ReadContract):
    make = CriterionFormat
    file_name = "sort/new/sample.json"
    document: ClassVar[Any] = {"sampling_mode": "Flat", "iters": [2.0, 2.0], "times": [500.0, 510.0]}

    @pytest.fixture
    def example(self, tmp_path: Path) -> Path:
        """The samples, with the file of the names beside them."""
        path = tmp_path / self.file_name
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(self.document))
        names = {"group_id": "sort", "function_id": None, "value_str": None, "full_id": "sort"}
        path.with_name("benchmark.json").write_text(json.dumps(names))
        return path


class GobenchContract(_ReadContract):
    make = GobenchFormat
    file_name = "example.txt"
    suffix = ".txt"
    checked = False  # what is left of the lines is what a shorter run prints
    document: ClassVar[Any] = (
        "goos: linux\ngoarch: amd64\npkg: example.org/tiny\n"
        "BenchmarkSum/n=100-2 \t 579463\t 40.32 ns/op\t 0 B/op\t 0 allocs/op\nPASS\nok  \texample.org/tiny\t0.158s\n"
    )


class JmhContract(_ReadContract):
    make = JmhFormat
    document: ClassVar[Any] = [
        {
            "jmhVersion": "1.37",
            "benchmark": "bench.Sums.sum",
            "mode": "avgt",
            "threads": 1,
            "forks": 2,
            "params": {"n": "100"},
            "primaryMetric": {"score": 1.5, "scoreUnit": "us/op", "rawData": [[1.0, 1.5], [1.75, 1.5]]},
            "secondaryMetrics": {},
        }
    ]


class Catch2Contract(_ReadContract):
    make = Catch2Format
    file_name = "example.xml"
    suffix = ".xml"
    document: ClassVar[Any] = (
        '<?xml version="1.0" encoding="UTF-8"?>\n<Catch name="b"><Group name="b"><TestCase name="sums">'
        '<BenchmarkResults name="sum 1000" samples="20" iterations="94"><mean value="379.9"/></BenchmarkResults>'
        '<OverallResult success="true"/></TestCase></Group></Catch>\n'
    )
