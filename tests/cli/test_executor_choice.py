"""Which executor measures: the one that the user names, or that of a configuration which the user trusts."""

from __future__ import annotations

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
'''
COLLECT = ("collect", "time", "--repeat", "2", "--warmup", "0")


@pytest.fixture
def acme(site: Site) -> Site:
    points = {"perfcore.executor": ["recorder = acme_queue:Recorder", "lossy = acme_queue:Lossy"]}
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
