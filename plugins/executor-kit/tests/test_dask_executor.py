"""An executor on a cluster that exists already: Dask's, whose workers are processes in another working directory."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator
from typing import IO, Any

import pytest
from perfcore_executor_kit import plan_format, worker
from perfcore_testing.executor import ExecutorContract

from perfcore.errors import PerfError
from perfcore.model import Measured, Plan
from perfcore.model.record import replace

dask = pytest.importorskip("dask", reason="dask cannot be imported", exc_type=ImportError)
distributed = pytest.importorskip("distributed", reason="distributed cannot be imported", exc_type=ImportError)


pytestmark = pytest.mark.filterwarnings("ignore")  # of ports and sockets of the cluster, which are not ours
# A busy machine is no failure: workers may take minutes to start.
SETTINGS = {"distributed.scheduler.allowed-failures": 0, "distributed.comm.timeouts.connect": "300s"}


def answers_of(plan: bytes, cancellation: str) -> list[bytes]:
    """A task of the cluster: one session, measured by a process that ends with the task."""
    cancelled = distributed.Event(cancellation, client=distributed.get_client())
    command = [sys.executable, "-m", "perfcore_executor_kit.worker"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(plan)
        process.stdin.flush()
        threading.Thread(target=_close_when_set, args=(cancelled, process.stdin), daemon=True).start()
        answers = worker.answers(plan_format.decode_plan(plan), process.stdout)
        return [plan_format.encode_measured(answer) for answer in answers]


def _close_when_set(cancelled: Any, stream: IO[bytes]) -> None:
    cancelled.wait()
    stream.close()


class Dask:
    """Each session is a task of its own, which runs wherever there is room."""

    def __init__(self, client: Any) -> None:
        self.client = client

    def submit(self, plan: Plan) -> Iterator[Measured]:
        sessions = plan.sessions or ([range(len(plan.jobs))] if plan.jobs else [])
        parts = [replace(plan, jobs=tuple(plan.jobs[p] for p in each), sessions=()) for each in sessions]
        cancellation = uuid.uuid4().hex
        tasks = {
            self.client.submit(answers_of, plan_format.encode_plan(part), cancellation, pure=False): part
            for part in parts
        }
        try:
            for task in distributed.as_completed(list(tasks)):
                yield from self._answers(task, tasks[task])
        finally:
            distributed.Event(cancellation, client=self.client).set()
            self.client.cancel(list(tasks))

    def _answers(self, task: Any, part: Plan) -> Iterator[Measured]:
        try:
            yield from map(plan_format.decode_measured, task.result())
        except distributed.KilledWorker as lost:
            error = PerfError(f"a worker of the cluster was lost: {lost.last_worker.address}", hint="try again")
            for job in part.jobs:
                yield Measured(job=job, error=error, retry=True)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A cluster of two worker processes in a directory of their own, where a lost worker loses its task at once."""
    elsewhere = tmp_path_factory.mktemp("workers")
    with pytest.MonkeyPatch.context() as patch, dask.config.set(SETTINGS):
        patch.setenv("XDG_CACHE_HOME", str(elsewhere / "cache"))
        with (
            distributed.LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                dashboard_address=":0",
                local_directory=str(elsewhere),
                death_timeout="600s",
            ) as cluster,
            distributed.Client(cluster) as connected,
        ):
            connected.run(os.chdir, str(elsewhere))
            yield connected


class TestDask(ExecutorContract):
    workers = True

    @pytest.fixture
    def driver(self, client: Any) -> Dask:
        return Dask(client)
