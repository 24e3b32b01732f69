"""Workers on machines that differ: processes with a host name, an architecture and locks of their own."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from perfcore_executor_dask.driver import DaskExecutor
from perfcore_executor_dask.machines import DaskSettings
from perfcore_testing.dask_cluster import Cluster, can_be_other_machines, wait_for
from perfcore_testing.processes import PATIENCE, eventually
from perfcore_testing.project import Project

from perfcore.errors import NotFoundError
from perfcore.model import Job, Measured, Plan, Profile, Step

distributed = pytest.importorskip("distributed", reason="distributed cannot be imported", exc_type=ImportError)
LONG = "import time; time.sleep(0.3)"  # long enough that every machine gets a session
pytestmark = [
    pytest.mark.filterwarnings("ignore"),  # of ports and sockets of the cluster, which are not ours
    pytest.mark.skipif(not can_be_other_machines(), reason="no process can have a host name of its own here"),
]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    started = Cluster(tmp_path_factory.mktemp("machines"), DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL="5s")
    try:
        yield started
    finally:
        started.close()


@pytest.fixture(scope="module")
def client(cluster: Cluster) -> Iterator[Any]:
    assert eventually(cluster.file.exists)
    with distributed.Client(scheduler_file=str(cluster.file), timeout=PATIENCE) as connected:
        yield connected


def sessions(count: int, code: str) -> Plan:
    """A plan of so many sessions of one job."""
    jobs = tuple(
        Job(argv=(sys.executable, "-c", code, str(number)), cmd="python", collector=Step(name="time"))
        for number in range(count)
    )
    return Plan(jobs=jobs, schedule={"repeat": 1, "warmup": 0}, sessions=tuple((n,) for n in range(count)))


def hosts(answers: Iterable[Measured]) -> list[str]:
    """Where each session was measured."""
    return [str(_profile(answer).machine["host"]) for answer in answers]


def _profile(answer: Measured) -> Profile:
    assert answer.error is None, answer.error
    assert answer.profile is not None
    return answer.profile


def environments(answers: Iterable[Measured]) -> set[str]:
    return {_profile(answer).environment_id for answer in answers}


@pytest.fixture(scope="module")
def three(cluster: Cluster, client: Any) -> None:
    """Two machines that are alike, and one of another architecture."""
    cluster.add("left", "--resources", "alike=1 any=1 left=1", machine="left")
    cluster.add("right", "--resources", "alike=1 any=1", machine="right")
    cluster.add("strange", "--resources", "strange=1 any=1", machine="strange", arch="linux32")
    wait_for(client, "left", "right", "strange")


@pytest.mark.usefixtures("three")
def test_a_plan_stays_on_one_machine_unless_it_may_spread(client: Any) -> None:
    plan = sessions(4, LONG)
    alone = hosts(DaskExecutor(DaskSettings(resource="alike"), client).submit(plan))
    assert len(alone) == 4
    assert len(set(alone)) == 1
    spread = hosts(DaskExecutor(DaskSettings(resource="alike", spread=True), client).submit(plan))
    assert sorted(set(spread)) == ["left", "right"]
    assert len(spread) == 4


@pytest.mark.usefixtures("three")
def test_machines_that_differ_are_environments_apart_or_left_out(client: Any) -> None:
    plan = sessions(4, LONG)
    apart = list(DaskExecutor(DaskSettings(resource="any", spread=True), client).submit(plan))
    assert set(hosts(apart)) == {"left", "right", "strange"}
    assert {_profile(answer).machine["arch"]: _profile(answer).environment_id for answer in apart}.keys() == {
        os.uname().machine,
        "i686",
    }
    assert len(environments(apart)) == 2
    same = list(DaskExecutor(DaskSettings(resource="any", spread=True, environment="same"), client).submit(plan))
    assert set(hosts(same)) == {"left", "right"}
    assert len(environments(same)) == 1


@pytest.mark.usefixtures("three")
def test_profiles_of_machines_that_differ_are_not_compared(cluster: Cluster, project: Project) -> None:
    """By the command line: each version is measured on another machine, and `perf check` says why it compares none."""
    old, new = project.commit("Old"), project.commit("New")
    project.perf("config", "set", "executor.dask.scheduler_file", str(cluster.file))
    for version, resource in ((old, "left"), (new, "strange")):
        project.perf("config", "set", "executor.dask.resource", resource)
        words = ("collect", "time", "--version", version, "--add", "--repeat", "6", "--warmup", "0")
        project.perf(*words, "--executor", "dask", "--", "true")
    done = project.perf("check", old, new, code=9)
    assert "another machine" in done.out


@pytest.mark.parametrize(
    ("resource", "options", "where"),
    [
        ("gone", {}, "{machine}, where this plan is measured"),
        ("less", {"spread": True, "environment": "same"}, "a machine like those that measured"),
    ],
)
def test_a_plan_whose_machine_is_gone_says_so_instead_of_going_on_elsewhere(
    cluster: Cluster, client: Any, resource: str, options: dict[str, Any], where: str
) -> None:
    """On another machine, without a word, it would be compared with what was measured before."""
    cluster.add(f"{resource}-1", "--resources", f"{resource}=1", machine=f"{resource}-1")
    arch = "linux32" if options else ""
    cluster.add(f"{resource}-2", "--resources", f"{resource}=1", machine=f"{resource}-2", arch=arch)
    wait_for(client, f"{resource}-1", f"{resource}-2")
    driver = DaskExecutor(DaskSettings(resource=resource, patience=2, **options), client)
    answers = driver.submit(sessions(3, LONG))
    (machine,) = hosts([next(answers)])
    cluster.kill(machine)
    with pytest.raises(NotFoundError, match=f"is left on {where.format(machine=machine)}: 1 of 3 sessions measured"):
        list(answers)


def test_a_plan_waits_for_its_machine_to_come_back(cluster: Cluster, client: Any) -> None:
    for machine in ("here", "there"):
        cluster.add(machine, "--resources", "back=1", machine=machine)
    wait_for(client, "here", "there")
    answers = DaskExecutor(DaskSettings(resource="back", patience=PATIENCE), client).submit(sessions(3, LONG))
    (machine,) = hosts([next(answers)])
    cluster.kill(machine)
    cluster.add("again", "--resources", "back=1", machine=machine)
    assert hosts(answers) == [machine, machine]


def test_a_plan_of_which_nothing_is_measured_goes_on_elsewhere(cluster: Cluster, client: Any, tmp_path: Path) -> None:
    """There is nothing that it could be compared with."""
    for machine in ("old", "young"):
        cluster.add(machine, "--resources", "early=1", machine=machine)
    wait_for(client, "old", "young")
    code = f"import socket, time; open({str(tmp_path)!r} + '/' + socket.gethostname(), 'w'); time.sleep(0.5)"
    answers: list[Measured] = []
    driver = DaskExecutor(DaskSettings(resource="early", patience=PATIENCE), client)
    thread = threading.Thread(target=lambda: answers.extend(driver.submit(sessions(2, code))), daemon=True)
    thread.start()
    assert eventually(lambda: list(tmp_path.iterdir()) != [])
    (machine,) = (path.name for path in tmp_path.iterdir())
    cluster.kill(machine)
    thread.join(PATIENCE)
    assert hosts(answers) == [{"old": "young", "young": "old"}[machine]] * 2


def test_a_machine_that_falls_silent_is_lost(cluster: Cluster, client: Any) -> None:
    """Its process stands, as after the loss of a network, and is given up by the scheduler."""
    cluster.add("silent", "--resources", "silent=1", machine="silent")
    wait_for(client, "silent")
    answers = DaskExecutor(DaskSettings(resource="silent", patience=2), client).submit(sessions(3, LONG))
    assert hosts([next(answers)]) == ["silent"]
    cluster.workers["silent"].send_signal(signal.SIGSTOP)
    with pytest.raises(NotFoundError, match="is left on silent"):
        list(answers)


def test_a_worker_that_lacks_something_is_named_with_what_it_lacks(cluster: Cluster, client: Any) -> None:
    cluster.add("bare", "--resources", "bare=1", without="perfcore_executor_dask")
    wait_for(client, "bare")
    driver = DaskExecutor(DaskSettings(resource="bare", patience=1), client)
    with pytest.raises(NotFoundError, match=r"resource bare can measure: .*No module named 'perfcore_executor_dask"):
        list(driver.submit(sessions(1, LONG)))


def test_a_scheduler_that_goes_is_told(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path / "cluster")
    try:
        cluster.add("only")
        settings = DaskSettings(scheduler_file=str(cluster.file), patience=20)
        assert eventually(cluster.file.exists)
        answers = DaskExecutor(settings).submit(sessions(3, LONG))
        next(answers)
        cluster.scheduler.kill()
        with pytest.raises(NotFoundError, match=r"the scheduler tcp.* does not answer any more"):
            list(answers)
    finally:
        cluster.close()


def test_a_scheduler_that_says_nothing_more_is_told(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path / "cluster")
    try:
        cluster.add("only")
        assert eventually(cluster.file.exists)
        client = distributed.Client(scheduler_file=str(cluster.file), timeout=PATIENCE, set_as_default=False)
        wait_for(client, "only")
        answers = DaskExecutor(DaskSettings(patience=3), client).submit(sessions(3, LONG))
        next(answers)
        cluster.scheduler.send_signal(signal.SIGSTOP)
        with pytest.raises(NotFoundError, match=r"the scheduler tcp.* does not answer any more"):
            list(answers)
    finally:
        cluster.close()
    client.close()
