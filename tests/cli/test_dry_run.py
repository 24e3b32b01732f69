"""`--dry-run` of `collect` and `run`: what would be measured, and for how long."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from perfcore_testing.profiles import profile

from perfcore.measure.dry_run import run_seconds
from perfcore.profile.recording import RUNS
from perfcore.profile.table import TableBuilder

from .conftest import Here

FAST = ("--repeat", "3", "--warmup", "0")
SLEEP = ("--", "sleep", "0.02")


@pytest.fixture
def three(here: Here) -> Here:
    here.commit("Second", code="2\n")
    here.commit("Third", code="3\n")
    return here


def test_versions_and_runs_are_named_and_nothing_is_measured(three: Here) -> None:
    three.perf("config", "set", "execute.pre_run", "[touch built]")
    done = three.perf("collect", "time", "--last", "2", "-r", "4", "--warmup", "1", "--dry-run", "--", "touch", "ran")
    versions = three.git("rev-list", "--reverse", "-n", "2", "HEAD").out.split()
    assert [line.split("  ")[:2] for line in done.lines[:2]] == [[version[:10], "time"] for version in versions]
    assert all("4 + 1 runs" in line and line.endswith("touch ran") for line in done.lines[:2])
    assert done.lines[2].startswith("2 jobs of 2 versions: no stored run")
    assert not (three.path / "ran").exists()
    assert not (three.path / "built").exists()
    assert three.perf("status", "--json").json["pending"] == []
    assert max(map(len, done.lines)) <= 80


def test_the_time_comes_from_stored_runs(three: Here, follow_schema: Callable[[str, Any], None]) -> None:
    three.perf("collect", "time", "--version", "HEAD~1", *FAST, "--add", *SLEEP)
    words = ("collect", "time", "--all", "--repeat", "100", "--warmup", "0")
    shown = three.perf(*words, "--dry-run", "--json", *SLEEP).json
    follow_schema("dry-run", shown)
    assert [job["runs"] for job in shown["jobs"]] == [100] * 3
    assert all(job["seconds"] >= 2 for job in shown["jobs"])  # it sleeps for 20 ms
    assert shown["seconds"] == pytest.approx(sum(job["seconds"] for job in shown["jobs"]))
    assert re.search(r"3 jobs of 3 versions: about [0-9.]+ s", three.perf(*words, "--dry-run", *SLEEP).out)
    other = three.perf(*words, "--dry-run", "--json", "-c", "sleep 0.02", "-c", "true").json
    follow_schema("dry-run", other)
    assert other["seconds"] is None
    assert sum(job["seconds"] is None for job in other["jobs"]) == 3
    budget = three.perf("collect", "time", "--budget", "5", "--warmup", "0", "--dry-run", "--json", "--", "true").json
    assert [(job["runs"], job["seconds"]) for job in budget["jobs"]] == [(None, 5.0)]


def test_pending_runs_say_how_long_too_and_the_newest_counts(three: Here) -> None:
    words = ("collect", "time", "--repeat", "100", "--warmup", "0", "--dry-run", "--json", *SLEEP)
    three.perf("collect", "time", *FAST, *SLEEP)
    pending = three.perf(*words).json["seconds"]
    assert pending >= 2  # it sleeps for 20 ms
    three.perf("collect", "time", "--version", "HEAD~1", *FAST, "--add", *SLEEP)
    registered = three.perf(*words).json["seconds"]
    assert registered != pending
    three.perf("collect", "time", *FAST, *SLEEP)
    assert three.perf(*words).json["seconds"] not in (pending, registered)


def test_what_is_measured_already_is_left_out(three: Here) -> None:
    three.perf("collect", "time", "--version", "HEAD~1", *FAST, "--add", *SLEEP)
    words = ("collect", "time", "--all", "--missing", *FAST, "--dry-run")
    named = [line.split()[0] for line in three.perf(*words, *SLEEP).lines[:-1]]
    head, middle, first = three.git("rev-list", "HEAD").out.split()
    assert named == [first[:10], head[:10]]
    assert middle[:10] not in named
    three.perf("collect", "time", "--all", "--missing", *FAST, "--add", *SLEEP)
    assert three.perf(*words, *SLEEP).lines == ["nothing to measure"]


def test_a_matrix_and_a_job_tell_the_same(three: Here) -> None:
    three.write("jobs.yml", "bins: [touch]\nargs: [a, b]\n")
    matrix = three.perf("run", "matrix", "jobs.yml", *FAST, "--last", "2", "--dry-run").lines
    job = three.perf("run", "job", "-c", "touch", "--args", "a", "--args", "b", *FAST, "--last", "2", "--dry-run").lines
    assert matrix == job
    assert len(matrix) == 5
    assert not (three.path / "a").exists()


def test_an_option_that_does_not_fit_is_an_error(three: Here) -> None:
    three.perf("collect", "time", "--repeat", "0", "--dry-run", *SLEEP, code=2)


def test_a_run_lasts_until_the_next_one_of_the_jobs_that_take_turns() -> None:
    """Two jobs, A B, B A, A B, of which each run takes a second."""
    second = 10**9
    for starts, positions in (((0, 3, 4), (0, 1, 0)), ((1, 2, 5), (1, 0, 1))):
        runs = TableBuilder("runs", RUNS)
        for run, (start, position) in enumerate(zip(starts, positions, strict=True)):
            if run == 1:
                assert run_seconds(profile({"runs": runs.snapshot()})) is None
            runs.add(
                run=run,
                session="a",
                block=run,
                position=position,
                started=second * start,
                warmup=False,
                disturbed=False,
                exit=0,
            )
        assert run_seconds(profile({"runs": runs.build()})) == pytest.approx(1)
