"""The contract of executors: a minimal one that really runs its jobs, and some that break it."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from perfcore_testing.executor import ExecutorContract

from perfcore.errors import CommandFailedError
from perfcore.model import Header, Job, Measured, Plan, Profile, Tool
from perfcore.profile.table import column, table


class Plain:
    """One job after the other, with a stopwatch."""

    def submit(self, plan: Plan) -> Iterator[Measured]:
        for job in plan.jobs:
            try:
                yield Measured(job=job, profile=_measured(job, plan.schedule["repeat"]))
            except CommandFailedError as error:
                yield Measured(job=job, error=error)


def _measured(job: Job, repeat: int) -> Profile:
    times = []
    for _ in range(repeat):
        start = time.perf_counter_ns()
        try:
            done = subprocess.run(job.argv, cwd=job.cwd, capture_output=True, check=False)
        except OSError as error:
            raise CommandFailedError(f"{job.cmd}: {error.strerror}") from error
        if done.returncode:
            raise CommandFailedError(f"{job.cmd} ended with {done.returncode}")
        times.append(time.perf_counter_ns() - start)
    wall = column("wall", times, dtype="i64", unit="ns", role="value")
    return Profile(
        header=Header(type="time", argv=job.argv, cmd=job.cmd),
        created=0,
        collector=Tool(name=job.collector.name),
        tables={"resources": table("resources", [wall])},
    )


class TestPlain(ExecutorContract):
    makes_trees = False

    @pytest.fixture
    def driver(self) -> Plain:
        return Plain()


class Made:
    """Answers as it is told."""

    def __init__(self, answer: Callable[[Plan], Any]) -> None:
        self.answer = answer

    def submit(self, plan: Plan) -> Iterator[Measured]:
        yield from self.answer(plan)


def backwards(plan: Plan) -> Iterator[Measured]:
    yield from reversed(list(Plain().submit(plan)))


def once(plan: Plan) -> Iterator[Measured]:
    return Plain().submit(Plan(jobs=plan.jobs, schedule={"repeat": 1}))


def giving_up(plan: Plan) -> Iterator[Measured]:
    for one in Plain().submit(plan):
        if one.error:
            raise one.error
        yield one


def through_a_shell(plan: Plan) -> Iterator[Measured]:
    for job in plan.jobs:
        line = " ".join(f"'{word}'" for word in job.argv).replace("\x00", "")
        subprocess.run(line, shell=True, cwd=job.cwd, capture_output=True, check=False)
        yield Measured(job=job, profile=_measured(Job(argv=("true",), cmd="true"), 1))


@pytest.mark.parametrize(
    ("law", "answer", "error"),
    [
        ("test_every_job_is_answered_in_order", backwards, AssertionError),
        ("test_the_jobs_are_really_run", once, AssertionError),
        ("test_a_job_that_fails_does_not_end_the_others", giving_up, CommandFailedError),
        ("test_arguments_arrive_as_they_are", through_a_shell, (AssertionError, OSError)),
    ],
)
def test_a_law_finds_the_executor_that_breaks_it(
    law: str, answer: Callable[[Plan], Any], error: type[Exception], tmp_path: Path
) -> None:
    with pytest.raises(error):
        getattr(ExecutorContract(), law)(Made(answer), None, tmp_path)
