"""The executor on a real cluster: a scheduler and worker processes in folders of their own."""

from __future__ import annotations

import concurrent.futures
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from perfcore_executor_dask.driver import DaskExecutor, DaskSettings
from perfcore_testing.dask_cluster import Cluster, wait_for
from perfcore_testing.executor import ExecutorContract
from perfcore_testing.processes import PATIENCE
from perfcore_testing.project import Project

from perfcore.errors import NotFoundError, UsageError
from perfcore.model import Job, Measured, Plan, Source, Step
from perfcore.model.record import replace

distributed = pytest.importorskip("distributed", reason="distributed cannot be imported", exc_type=ImportError)
pytestmark = pytest.mark.filterwarnings("ignore")  # of ports and sockets of the cluster, which are not ours


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    started = Cluster(tmp_path_factory.mktemp("cluster"))
    try:
        started.add("one", "--resources", "bench=1")
        started.add("two", "--resources", "bench=1")
        started.add("small")
        yield started
    finally:
        started.close()


@pytest.fixture(scope="module")
def client(cluster: Cluster) -> Iterator[Any]:
    deadline = time.monotonic() + PATIENCE
    while not cluster.file.exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    with distributed.Client(scheduler_file=str(cluster.file), timeout=PATIENCE) as connected:
        connected.wait_for_workers(3, timeout=PATIENCE)
        yield connected


class TestDask(ExecutorContract):
    workers = True

    @pytest.fixture
    def driver(self, client: Any) -> DaskExecutor:
        return DaskExecutor(DaskSettings(resource="bench", retries=0), client)

    @pytest.mark.skip(reason="a client of a cluster does not pickle; the name of a scheduler does")
    def test_a_plan_may_come_from_another_process(self) -> None: ...


class Heard:
    """A listener that keeps what it heard."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.texts: list[str] = []

    def progress(self, done: int, total: int, text: str) -> None:
        self.texts.append(text)

    def note(self, text: str) -> None:
        self.notes.append(text)

    def saved(self, name: str) -> None: ...

    def failed(self, subject: str, error: Exception) -> None: ...


def job(*argv: str, **fields: Any) -> Job:
    return Job(argv=argv, cmd=argv[0], collector=Step(name="time"), **fields)


def python(code: str, *words: str, **fields: Any) -> Job:
    return job(sys.executable, "-c", code, *words, **fields)


def plan(*jobs: Job, **fields: Any) -> Plan:
    return Plan(jobs=jobs, schedule={"repeat": 2, "warmup": 0}, **fields)


def test_a_killed_worker_costs_a_try_and_gives_every_profile_once(
    cluster: Cluster, client: Any, tmp_path: Path
) -> None:
    """The worker that measures is killed in the middle: the session is measured again by the other."""
    cluster.add("doomed", "--resources", "doomed=1")
    wait_for(client, "doomed")
    code = f"import os,time; open({str(tmp_path / 'began')!r}, 'a').write('x'); time.sleep(0.3)"
    heard = Heard()
    driver = DaskExecutor(DaskSettings(resource="doomed", patience=PATIENCE), client)
    answers = driver.submit(plan(python(code), python("pass"), python("print(1)")), heard)

    def kill() -> None:
        while not (tmp_path / "began").exists():
            time.sleep(0.02)
        cluster.kill("doomed")
        cluster.add("rescue", "--resources", "doomed=1")

    threading.Thread(target=kill, daemon=True).start()
    measured = list(answers)
    assert [answer.error for answer in measured] == [None] * 3
    assert all(answer.profile is not None for answer in measured)
    assert len(measured[0].attempts) == 2
    assert "worker" in measured[0].attempts[0].error
    assert any("measured again" in note for note in heard.notes)


def test_a_measuring_process_that_is_lost_too_often_is_an_error_that_says_so(cluster: Cluster, client: Any) -> None:
    code = "import os, signal; os.kill(int(open('/proc/%d/stat' % os.getppid()).read().split()[3]), signal.SIGKILL)"
    cluster.add("fragile", "--resources", "fragile=1")
    wait_for(client, "fragile")
    driver = DaskExecutor(DaskSettings(resource="fragile", retries=2, patience=PATIENCE), client)
    (answer,) = driver.submit(plan(python(code)))
    assert answer.retry
    assert answer.profile is None
    assert len(answer.attempts) == 2


def test_only_workers_of_the_class_measure(client: Any) -> None:
    driver = DaskExecutor(DaskSettings(resource="gpu", patience=1), client)
    with pytest.raises(NotFoundError, match="no worker with the resource gpu"):
        list(driver.submit(plan(python("pass"))))


def test_two_measurements_never_share_a_machine(client: Any, tmp_path: Path) -> None:
    """Though there are three workers on it, and two plans at once: each session holds the machine."""
    code = (
        "import os, sys, time; f = sys.argv[1]; fd = os.open(f, os.O_CREAT | os.O_EXCL); time.sleep(0.2); os.unlink(f)"
    )
    jobs = [python(code, str(tmp_path / "alone")) for _ in range(2)]

    def submit() -> list[Measured]:
        return list(DaskExecutor(DaskSettings(spread=True), client).submit(plan(*jobs, sessions=((0,), (1,)))))

    with concurrent.futures.ThreadPoolExecutor() as pool:
        plans = [pool.submit(submit) for _ in range(2)]
        measured = [answer for answers in plans for answer in answers.result()]
    assert [answer.error for answer in measured] == [None] * 4


def test_sessions_of_a_plan_run_in_its_order(client: Any, tmp_path: Path) -> None:
    """A session is not submitted before the machine is free for it, and holds no worker until then. Dask runs one again
    when the worker that had it is silent for too long."""
    code = "import sys; open(sys.argv[1], 'a').write(sys.argv[2])"
    jobs = [python(code, str(tmp_path / "order"), str(number)) for number in range(5)]
    driver = DaskExecutor(DaskSettings(), client)
    measured = list(driver.submit(plan(*jobs, sessions=tuple((position,) for position in range(5)))))
    assert [answer.job for answer in measured] == jobs
    order = (tmp_path / "order").read_text()
    assert list(order) == sorted(order)
    assert all(order.count(number) >= 2 for number in "01234")


def test_progress_comes_back(client: Any) -> None:
    heard = Heard()
    list(DaskExecutor(DaskSettings(), client).submit(plan(python("import time; time.sleep(0.2)")), heard))
    deadline = time.monotonic() + PATIENCE
    while not heard.texts and time.monotonic() < deadline:
        time.sleep(0.05)
    assert heard.texts


def test_machines_are_required_to_be_the_same(client: Any) -> None:
    driver = DaskExecutor(DaskSettings(environment="same"), client)
    (answer,) = driver.submit(plan(python("pass")))
    assert answer.error is None


@pytest.mark.parametrize("remote", [False, True], ids=["in the plan", "from a remote"])
def test_trees_are_made_on_the_worker(client: Any, project: Project, remote: bool) -> None:
    (project.path / "program.py").write_text("raise SystemExit(3)")
    old = project.commit("broken")
    (project.path / "program.py").write_text("print('fine')")
    new = project.commit("repaired")
    source = Source(kind="vcs", root=project.path, vcs=Step(name="git"))
    jobs = [job(sys.executable, "program.py", version=version) for version in (old, new)]
    settings = DaskSettings(remote=str(project.path) if remote else "")
    answers = list(DaskExecutor(settings, client).submit(plan(*jobs, source=source)))
    assert [answer.job.version for answer in answers] == [old, new]
    assert answers[0].error is not None
    assert answers[1].error is None
    assert answers[1].profile is not None


def test_uncommitted_changes_are_not_sent_anywhere(client: Any, project: Project) -> None:
    source = Source(kind="path", root=project.path)
    with pytest.raises(UsageError, match="uncommitted changes"):
        list(DaskExecutor(DaskSettings(), client).submit(plan(job("true"), source=source)))


def test_the_command_line_measures_on_the_cluster(client: Any, cluster: Cluster, project: Project) -> None:
    """`perf collect` for versions, registered here."""
    (project.path / "program.py").write_text("print('fine')")
    project.commit("a program")
    project.perf("config", "set", "executor.dask.scheduler_file", str(cluster.file))
    project.perf("config", "trust")
    words = ("collect", "time", "--version", "HEAD", "--add", "--repeat", "2", "--executor", "dask")
    done = project.perf(*words, "--", sys.executable, "program.py")
    assert done.code == 0
    assert (
        "registered" in done.out
        or "1 profile" in project.perf("status").out
        or project.perf("log", "-n", "1").code == 0
    )


def test_no_cluster_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="no cluster is named"):
        list(DaskExecutor().submit(plan(python("pass"))))


def test_a_scheduler_that_is_not_there_is_told() -> None:
    driver = DaskExecutor(DaskSettings(scheduler="tcp://127.0.0.1:9", patience=1))
    with pytest.raises(NotFoundError, match="does not answer"):
        list(driver.submit(plan(python("pass"))))


def test_an_empty_plan_needs_no_cluster() -> None:
    assert list(DaskExecutor().submit(replace(plan(), jobs=()))) == []
