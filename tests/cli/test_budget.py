"""`--budget` bounds a whole command, and says what it leaves out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from .conftest import Here


@pytest.fixture
def slow_builds(here: Here) -> Here:
    """Six versions that take half a second to build, each."""
    here.perf("config", "set", "execute.pre_run", "[sleep 0.5]")
    for number in range(5):
        here.commit(f"Version {number}")
    return here


def test_building_counts_and_what_is_left_out_is_named(
    slow_builds: Here, follow_schema: Callable[[str, Any], None]
) -> None:
    words = ("collect", "time", "--all", "--warmup", "0", "--add", "--json")
    done = slow_builds.perf(*words, "--budget", "1s", "--", "true")
    follow_schema("collect", done.json)
    every = slow_builds.git("rev-list", "--reverse", "HEAD").out.split()
    measured = [profile["version"] for profile in done.json["profiles"]]
    left_out = done.json["left_out"]
    assert measured
    assert left_out
    assert measured + left_out == every
    assert "the budget is spent: " in done.err
    assert all(version[:10] in done.err for version in left_out)
    assert done.json["failed"] == []
    rest = slow_builds.perf(*words, "--missing", "--repeat", "2", "--no-build", "--", "true").json
    assert [profile["version"] for profile in rest["profiles"]] == left_out


def test_commands_share_it(here: Here) -> None:
    words = ("collect", "time", "--budget", "2", "--warmup", "0", "--dry-run", "--json", "-c", "true", "-c", "sleep 0")
    assert [job["seconds"] for job in here.perf(*words).json["jobs"]] == [1.0, 1.0]


@pytest.mark.parametrize("options", [("--budget", "100s", "--repeat", "2"), ("--repeat", "2")])
def test_a_number_of_runs_is_never_ignored(here: Here, options: tuple[str, ...]) -> None:
    here.perf("config", "set", "schedule", "{budget: 100}")
    (profile,) = here.perf("collect", "time", *options, "--json", "--", "true").json["profiles"]
    assert {metric["runs"] for metric in profile["metrics"] if metric["metric"] == "cpu"} == {2}


def test_a_comparison_takes_one_pair_if_building_spent_it(slow_builds: Here) -> None:
    words = ("compare", "HEAD~1", "HEAD", "--budget", "0.2s", "--again", "--json", "--", "true")
    done = slow_builds.perf(*words, code=8)
    assert done.json["pairs"] == 1
    assert "more than the budget: one pair is measured" in done.err
