"""How the laws of the kind collector are tried: by the tests, and by `perf plugins check`."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
from perfcore_testing.collector import CollectorContract, Measuring

from perfcore.hookspecs import Collector
from perfcore.model import Job
from perfcore.model.record import replace
from perfcore.profile.recording import Session
from perfcore_collect_results.collector import ResultsCollector, ResultsSettings

RESULTS = json.dumps(
    {
        "context": {"date": "2026-11-22T07:00:00+00:00", "num_cpus": 2, "library_build_type": "release"},
        "benchmarks": [
            {
                "name": "BM_sum/64",
                "run_name": "BM_sum/64",
                "run_type": "iteration",
                "iterations": 100,
                "real_time": 21.5,
                "cpu_time": 21.25,
                "time_unit": "ns",
            }
        ],
    }
)


class _ShellHarness(ResultsCollector):
    """The scripts of the contract print no results: this prints some at their end."""

    def before(self, job: Job) -> Session:
        if job.shell:
            job = replace(job, argv=(f"{job.argv[0]}\nprintf %s {shlex.quote(RESULTS)}",))
        return super().before(job)


class ResultsContract(CollectorContract):
    """A job is a harness that runs the code and prints results of Google Benchmark."""

    resets_signals = True

    @pytest.fixture
    def driver(self) -> ResultsCollector:
        pytest.importorskip("perfcore_format_benchmarks", reason="no format reads the results")
        return _ShellHarness(ResultsSettings())

    def job(self, folder: Path, code: str, *words: str, **changes: Any) -> Job:
        argv = (sys.executable, "-I", "-S", "-c", f"{code}\nprint({RESULTS!r})", *words)
        return replace(Job(argv=argv, cmd="python", args=code, cwd=folder), **changes)

    def test_before_gives_a_session_of_the_job(self, driver: Collector, tmp_path: Path) -> None:
        """The metrics are the harness's: they are known when it ran."""
        job = self.job(tmp_path, "pass")
        with Measuring(driver, job) as measuring:
            assert isinstance(measuring.session, Session)
            assert measuring.session.job is job
            assert list(measuring.declared) == ["run", "benchmark"]

    def test_only_declared_columns_are_written(self, driver: Collector, tmp_path: Path) -> None:
        """Each column has a unit and a role before its first row, and the first run has them all."""
        with Measuring(driver, self.job(tmp_path, "pass")) as measuring:
            measuring.run()
            first = measuring.resources.names
            measuring.run()
        assert measuring.resources.names == first
        units = {column.name: column.spec.unit for column in measuring.resources.columns if column.role == "value"}
        assert units == {"cpu": "ns", "wall": "ns"}
