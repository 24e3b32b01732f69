"""The executor on a real cluster: a scheduler and worker processes in folders of their own."""

from __future__ import annotations

import concurrent.futures
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from perfcore_executor_dask.driver import DaskExecutor
from perfcore_executor_dask.machines import DaskSettings
from perfcore_testing.dask_cluster import Cluster, wait_for
from perfcore_testing.executor import ExecutorContract
from perfcore_testing.processes import PATIENCE, eventually
from perfcore_testing.project import Project

from perfcore.errors import NotFoundError, UsageError
from perfcore.model import Job, Measured, Plan, Source, Step
from perfcore.model.record import replace

dask = pytest.importorskip("dask", reason="dask cannot be imported", exc_type=ImportError)
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


COLLECT = (
    *("collect", "time", "--version", "HEAD~2..HEAD", "--add"),
    *("--repeat", "3", "--warmup", "0", "--executor", "dask", "--"),
)
# Ends well where one of the processes above it is a worker.
BELOW_A_WORKER = """
import os
pid, names = os.getpid(), ""
while pid > 1:
    with open(f"/proc/{pid}/cmdline") as file:
        names += file.read()
    with open(f"/proc/{pid}/stat") as file:
        pid = int(file.read().rpartition(")")[2].split()[1])
raise SystemExit("dask_worker" not in names)
"""


# Says that it runs; the fourth time it waits until it is killed.
IN_THE_MIDDLE = """
import os, sys, time
place = sys.argv[1]
with open(place + "/trace", "a") as trace:
    trace.write(f"{os.getpid()}\\n")
end = time.monotonic() + 600
while len(open(place + "/trace").readlines()) == 4 and time.monotonic() < end:
    time.sleep(0.01)
"""


def counts(project: Project) -> dict[str, int]:
    """How many profiles each version has, by its subject."""
    versions = [json.loads(line) for line in project.perf("log", "--json").out.splitlines()]
    return {version["subject"]: len(version["profiles"]) for version in versions}


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
    assert [attempt.error for attempt in answer.attempts] == [str(answer.error)] * 3
    assert "the worker ended before it had measured" in str(answer.error)


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
    """`perf collect` for versions, registered here; the program only ends well below a worker."""
    project.commit("A program", program__py=BELOW_A_WORKER)
    project.perf("config", "set", "executor.dask.scheduler_file", str(cluster.file))
    words = ("collect", "time", "--version", "HEAD", "--add", "--repeat", "2")
    here = project.perf(*words, "--", sys.executable, "program.py", code=6)
    assert counts(project) == {"A program": 0, "First": 0}, here
    project.perf(*words, "--executor", "dask", "--", sys.executable, "program.py")
    assert counts(project) == {"A program": 1, "First": 0}


def test_what_a_build_on_a_worker_prints_comes_back_when_it_fails(
    client: Any, cluster: Cluster, project: Project
) -> None:
    """Once, with the version; the other version is measured all the same."""
    good = project.commit("Good", build__sh="echo fine")
    bad = project.commit("Bad", build__sh="echo compiling; echo 'program.c:3: error: no semicolon' >&2; exit 2")
    project.perf("config", "set", "executor.dask.scheduler_file", str(cluster.file))
    project.perf("config", "set", "execute.pre_run", "[sh build.sh]")
    done = project.perf(*COLLECT, "true", code=6)
    assert counts(project) == {"Bad": 0, "Good": 1, "First": 0}
    assert done.err.count("program.c:3: error: no semicolon") == 1
    assert done.err.count("compiling") == 1
    assert bad[:10] in done.err
    assert good[:10] not in done.err


@pytest.mark.process
@pytest.mark.parametrize("tries", [0, 3], ids=["the executor tries again", "the scheduler tries again"])
def test_a_worker_killed_in_the_middle_registers_nothing_twice(project: Project, tmp_path: Path, tries: int) -> None:
    """By the command line, on a LocalCluster of worker processes in folders of their own. Two versions are measured
    three times each, in turn, until the worker is killed in the fourth run."""
    for number in range(2):
        project.commit(f"Version {number}", program__py=f"{IN_THE_MIDDLE}# {number}\n")
    trace = tmp_path / "trace"
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": tries}),
        distributed.LocalCluster(
            n_workers=3, threads_per_worker=1, dashboard_address=":0", local_directory=str(tmp_path / "workers")
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        client.run(_go_to_own_folder)
        workers = client.run(os.getpid).values()
        folders = set(client.run(os.getcwd).values())

        def kill() -> None:
            assert eventually(lambda: bool(ended) or (trace.exists() and trace.read_text().count("\n") == 4))
            os.kill(next(pid for pid in _above(int(trace.read_text().split()[3])) if pid in workers), signal.SIGKILL)

        project.perf("config", "set", "executor.dask.scheduler", cluster.scheduler_address)
        ended: list[bool] = []
        with concurrent.futures.ThreadPoolExecutor() as pool:
            killing = pool.submit(kill)
            try:
                done = project.perf(*COLLECT, sys.executable, "program.py", str(tmp_path))
            finally:
                ended.append(True)
            killing.result()
        lost = set(workers) - set(client.run(os.getpid).values())
    assert len(folders) == 3
    assert len(lost) == 1
    assert len(trace.read_text().splitlines()) == 4 + 6
    assert counts(project) == {"Version 1": 1, "Version 0": 1, "First": 0}
    assert done.out.count("registered as") == 2
    assert project.perf("status", "--json").json["pending"] == []
    assert ("measured again" in done.err) is (tries == 0)
    project.perf("fsck")


def _go_to_own_folder(dask_worker: Any) -> None:
    os.chdir(dask_worker.local_directory)


def _above(pid: int) -> Iterator[int]:
    """The processes above one."""
    while pid > 1:
        pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        yield pid


def test_no_cluster_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="no cluster is named"):
        list(DaskExecutor().submit(plan(python("pass"))))


def test_a_scheduler_that_is_not_there_is_told() -> None:
    driver = DaskExecutor(DaskSettings(scheduler="tcp://127.0.0.1:9", patience=1))
    with pytest.raises(NotFoundError, match="does not answer"):
        list(driver.submit(plan(python("pass"))))


def test_an_empty_plan_needs_no_cluster() -> None:
    assert list(DaskExecutor().submit(replace(plan(), jobs=()))) == []
