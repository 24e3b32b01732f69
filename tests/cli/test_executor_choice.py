"""Which executor measures: the one that the user names, or that of a configuration which the user trusts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from perfcore_testing.distributions import Site

if TYPE_CHECKING:
    from .conftest import Here

SOURCE = '''
import pathlib
from perfcore.errors import PerfError
from perfcore_executor_kit import plan_format
from perfcore.model import Measured
from perfcore.plugins import Plugins

class Recorder:
    """Note what is submitted, as bytes, and measure that here."""
    def submit(self, plan):
        data = plan_format.encode_plan(plan)
        with open("submitted", "ab") as file:
            file.write(data)
        travelled = plan_format.decode_plan(data)
        yield from Plugins().make("executor", "local")[1].submit(travelled)

class Lossy:
    """Lose every worker."""
    def submit(self, plan, listener=None):
        for job in plan.jobs:
            yield Measured(job=job, error=PerfError("the worker was lost", hint="try again"), retry=True)

class Liar:
    """Say of each run that it was of another command, or of a job that nobody gave."""
    def submit(self, plan):
        import os
        from perfcore.model.record import replace
        canary = ("touch", os.environ["CANARY"])
        for measured in Plugins().make("executor", "local")[1].submit(plan):
            profile, lie = measured.profile, os.environ["LIE"]
            if lie == "argv":
                profile = replace(profile, header=replace(profile.header, argv=canary))
            elif lie == "setup":
                params = {**profile.collector.params, "setup": " ".join(canary)}
                profile = replace(profile, collector=replace(profile.collector, params=params))
            job = replace(measured.job, argv=canary) if lie == "job" else measured.job
            yield replace(measured, job=job, profile=profile)
'''
COLLECT = ("collect", "time", "--repeat", "2", "--warmup", "0")


@pytest.fixture
def acme(site: Site) -> Site:
    points = {
        "perfcore.executor": ["recorder = acme_queue:Recorder", "liar = acme_queue:Liar", "lossy = acme_queue:Lossy"]
    }
    site.install("acme-queue", points=points, acme_queue=SOURCE)
    return site


def test_an_executor_gets_everything_in_the_plan(here: Here, acme: Site) -> None:
    here.write("code", "2\n")
    version = here.commit("Second")
    here.perf("config", "set", "execute.pre_run", "touch built")
    here.perf("config", "set", "collector.time.cleanup", "test 1")
    done = here.real.perf(
        *COLLECT, "--all", "--executor", "recorder", "--json", "--", "test", "-e", "built", env=acme.env
    )
    assert [row["version"] for row in done.json["profiles"]][-1] == version
    submitted = (here.path / "submitted").read_text()
    assert submitted.count("\n") == 1
    for part in (
        '"kind":"vcs"',
        '"commands":["touch built"]',
        '"cleanup":"test 1"',
        '"repeat":2',
        '"perfcore-collect-time"',
    ):
        assert part in submitted


def test_the_configuration_names_the_executor_and_is_trusted_first(here: Here, acme: Site) -> None:
    here.write(".perfcore.yml", "executor:\n  name: recorder\n")
    refused = here.real.perf(*COLLECT, "--", "true", code=7, env=acme.env)
    assert "executor.name" in refused.err
    assert not (here.path / "submitted").exists()
    here.real.perf("config", "trust", "--yes", env=acme.env)
    here.real.perf(*COLLECT, "--", "true", env=acme.env)
    assert (here.path / "submitted").exists()


def test_an_unknown_executor_is_named_with_the_nearest(here: Here) -> None:
    done = here.perf(*COLLECT, "--executor", "locale", "--", "true", code=5)
    assert "locale" in done.err
    assert "'local'" in done.err


def test_failures_of_an_executor_are_told_with_their_hint(here: Here, acme: Site) -> None:
    done = here.real.perf(*COLLECT, "--executor", "lossy", "--", "true", code=3, env=acme.env)
    assert "the worker was lost" in done.err
    assert "try again" in done.err


@pytest.mark.parametrize("lie", ["argv", "setup"])
def test_what_a_worker_says_that_it_measured_is_not_run_here(here: Here, acme: Site, tmp_path: Path, lie: str) -> None:
    """Nobody typed it, so that it is asked for."""
    here.commit("Second", code="2\n")
    env = {**acme.env, "CANARY": str(tmp_path / "canary"), "LIE": lie}
    here.real.perf(*COLLECT, "--all", "--add", "--executor", "liar", "--", "true", env=env)
    refused = here.real.perf("bisect", "HEAD~1", "HEAD", code=7, env=acme.env)
    assert "was not measured by you on this machine" in refused.err
    assert not (tmp_path / "canary").exists()


def test_an_answer_for_a_job_that_nobody_gave_is_an_error(here: Here, acme: Site) -> None:
    env = {**acme.env, "CANARY": "canary", "LIE": "job"}
    done = here.real.perf(*COLLECT, "--executor", "liar", "--", "true", code=3, env=env)
    assert done.err.splitlines()[-1] == "perf: the executor answered for a job that it was not given"


def test_what_an_executor_measured_as_it_was_typed_may_run_again(here: Here, acme: Site) -> None:
    here.commit("Second", code="2\n")
    here.real.perf(*COLLECT, "--setup", "true", "--all", "--add", "--executor", "recorder", "--", "true", env=acme.env)
    done = here.real.perf("bisect", "HEAD~1", "HEAD", "--max-runs", "8", code=None, env=acme.env)
    assert "measuring the same command as before: true" in done.err
