"""Runs of a plan, and what a collector takes along with them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from perfcore_testing.distributions import Site

from perfcore import environment
from perfcore.errors import PerfError
from perfcore.measure.runner import Context, run
from perfcore.model import Job, Measured, Plan, Profile, Step
from perfcore.plugins import Plugins

COLLECTOR = """
from perfcore.profile.recording import Session
class Counter:
    '''Runs nothing: the amount of a run is its number.'''
    together = 1
    def before(self, job):
        return Session(job)
    def collect(self, session, run):
        count = min(self.together - 1, run.following)
        numbers = list(range(run.index, run.index + count + 1))
        began, disturbed = [10 * number for number in numbers], [number % 2 == 0 for number in numbers]
        run.started, run.disturbed, run.exitcode = began[0], disturbed[0], 3
        run.rows.add(amount=run.index)
        if count:
            run.take_along(began[1:], disturbed[1:], {"amount": numbers[1:]})
    def after(self, session, outcome):
        session.sampling["runs"] = outcome.runs
"""


def measured(together: int, jobs: int = 1, **schedule: Any) -> list[Measured]:
    """The answers to a plan of equal jobs, whose collector gives so many runs together where it can."""
    plan = Plan(
        jobs=(Job(argv=("x",), cmd="x", cwd=Path(), collector=Step(name=f"counter{together}")),) * jobs,
        schedule={"warmup": 1, **schedule},
    )
    context = Context(plugins=Plugins(), machine=environment.facts())
    return list(run(plan, context))


def profiles(answers: Sequence[Measured]) -> list[Profile]:
    assert all(answer.error is None for answer in answers), answers
    return [answer.profile for answer in answers if answer.profile is not None]


def content(profile: Profile) -> dict[str, list[Any]]:
    """All that the tables say but the session's random name."""
    columns = {
        f"{table.name}.{column.name}": list(column) for table in profile.tables.values() for column in table.columns
    }
    del columns["runs.session"]
    return columns


@pytest.fixture(autouse=True)
def _collectors(site: Site) -> None:
    for count in (1, 3, 100):
        names = {f"counter{count}": COLLECTOR.replace("together = 1", f"together = {count}")}
        points = {"perfcore.collector": [f"counter{count} = counter{count}:Counter"]}
        site.install(f"counter{count}-perf", points=points, **names)


@pytest.mark.parametrize("together", [3, 100])
@pytest.mark.parametrize("schedule", [{"repeat": 1}, {"repeat": 2}, {"repeat": 10}, {"repeat": 9, "order": "random"}])
def test_runs_that_are_taken_along_are_runs_like_those_that_are_asked_for(
    together: int, schedule: dict[str, Any]
) -> None:
    (each,) = profiles(measured(1, **schedule))
    (some,) = profiles(measured(together, **schedule))
    assert content(some) == content(each)
    assert some.header.exitcode == each.header.exitcode == 3
    assert some.collector.sampling == each.collector.sampling == {"runs": schedule["repeat"]}
    assert len(set(some.tables["runs"]["session"])) == 1


def test_disturbed_runs_that_were_taken_along_are_repeated() -> None:
    (each,), (some,) = (profiles(measured(count, repeat=7, retry_disturbed=100)) for count in (1, 100))
    assert content(some) == content(each)
    assert some.tables["runs"].rows == 1 + 7 + 3


@pytest.mark.parametrize("order", ["interleaved", "blocks"])
def test_jobs_that_take_turns_do_so_run_by_run(order: str) -> None:
    each, some = (profiles(measured(count, jobs=2, repeat=4, order=order)) for count in (1, 100))
    assert list(map(content, some)) == list(map(content, each))
    assert [list(profile.tables["runs"]["run"]) for profile in some] == [[0, 1, 2, 3, 4]] * 2


def test_no_more_runs_are_taken_along_than_follow(site: Site) -> None:
    collector = COLLECTOR.replace("min(self.together - 1, run.following)", "run.following + 1")
    site.install("greedy-perf", points={"perfcore.collector": ["counter7 = greedy:Counter"]}, greedy=collector)
    (answer,) = measured(7, repeat=4)
    assert isinstance(answer.error, PerfError)
    assert "1 runs were taken along where 0 follow" in str(answer.error)
