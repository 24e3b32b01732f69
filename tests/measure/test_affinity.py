"""Lists of CPUs, and what runs on them."""

from __future__ import annotations

import os
import sys

import pytest
from perfcore_testing.project import Project

from perfcore import open_repository
from perfcore.errors import UsageError
from perfcore.measure import affinity
from perfcore.measure.schedule import Schedule

pytestmark = pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system pins no process to a CPU")
WRITES = "import os; open('cpus', 'a').write(str(sorted(os.sched_getaffinity(0))) + chr(10))"
COMMAND = ("--", sys.executable, "-S", "-c", WRITES)


@pytest.fixture
def first() -> int:
    """A CPU that this process may use."""
    return min(os.sched_getaffinity(0))


def test_a_list_is_numbers_and_ranges(first: int) -> None:
    assert Schedule().cpus == frozenset()
    assert affinity.cpus(f"{first}") == affinity.cpus(f" {first}-{first}, {first}") == {first}


@pytest.mark.parametrize("text", ["", "a", "1-", "-1", "3-1", "1,,2", "1;2", "0x1", "1" * 6])
def test_what_is_no_list_is_an_error(text: str) -> None:
    with pytest.raises(UsageError, match="no list of CPUs"):
        affinity.cpus(text)


def test_a_cpu_that_may_not_be_used_is_an_error() -> None:
    with pytest.raises(UsageError, match="cannot use CPU 99999"):
        affinity.cpus("99999")


def test_the_cpus_of_before_are_there_again(first: int) -> None:
    before = os.sched_getaffinity(0)
    with affinity.pinned(frozenset({first})):
        assert os.sched_getaffinity(0) == {first}
    assert os.sched_getaffinity(0) == before


def pinned(project: Project, *words: str, code: int | None = 0) -> set[str]:
    """The CPUs of the processes that a command measures."""
    file = project.path / "cpus"
    file.unlink(missing_ok=True)
    project.perf(*words, code=code)
    return set(file.read_text().splitlines())


def test_every_command_that_measures_pins_what_it_measures(project: Project, first: int) -> None:
    few = ("--repeat", "2", "--warmup", "0", "--cpu", str(first))
    assert pinned(project, "collect", "time", *few, *COMMAND) == {f"[{first}]"}
    project.write("cpus.py", WRITES)
    job = ("run", "job", "--command", f"{sys.executable} -S cpus.py", "--collector", "time")
    assert pinned(project, *job, *few) == {f"[{first}]"}
    pairs = ("--max-pairs", "2", "--cpu", str(first), "--again")
    assert pinned(project, "compare", *pairs, "HEAD", *COMMAND, code=None) >= {f"[{first}]"}
    every = str(sorted(os.sched_getaffinity(0)))
    assert pinned(project, "collect", "time", *few[:-2], *COMMAND) == {every}


def test_the_configuration_pins_too_and_the_profile_says_it(project: Project, first: int) -> None:
    project.perf("config", "set", "schedule", f"{{cpu: '{first}'}}")
    assert pinned(project, "collect", "time", "--repeat", "2", *COMMAND) == {f"[{first}]"}
    (pending,) = open_repository(project.path).pending()
    assert pending.profile is not None
    assert pending.profile.collector.params["cpu"] == str(first)


def test_nothing_is_built_or_measured_on_a_cpu_that_is_not_there(project: Project) -> None:
    project.perf("config", "set", "execute.pre_run", "touch built")
    project.commit("Second")
    for verb in (["collect", "time"], ["compare", "HEAD"], ["bisect", "HEAD~1", "HEAD"]):
        done = project.perf(*verb, "--cpu", "99999", *COMMAND, code=2)
        assert "cannot use CPU 99999" in done.err
    assert not (project.path / "built").exists()
    assert not (project.path / "cpus").exists()
