"""An executor on a cluster that exists already: Dask's, whose workers are processes in another working directory."""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from perfcore_testing.executor import ExecutorContract

from perfcore.errors import PerfError
from perfcore.measure import plan_format
from perfcore.model import Attempt, Measured, Plan
from perfcore.plugins import Plugins

distributed = pytest.importorskip("distributed", reason="distributed is not installed", exc_type=ImportError)
WAITING = 0.05  # seconds between two looks whether the plan was cancelled


def answers_of(plan: bytes, cancelled: str) -> list[bytes]:
    """On a worker: the answers of one session, as bytes. It ends when the file `cancelled` appears."""
    _, local = Plugins().make("executor", "local")
    done = []
    with contextlib.closing(local.submit(plan_format.decode_plan(plan))) as answers:
        for answer in answers:
            done.append(plan_format.encode_measured(answer))
            if Path(cancelled).exists():
                break
    return done


class Dask:
    """Each session is a task of its own, and sessions run wherever there is room."""

    def __init__(self, client: Any, directory: Path) -> None:
        self.client, self.cancelled = client, directory / f"cancelled-{time.time_ns()}"

    def submit(self, plan: Plan) -> Iterator[Measured]:
        from attrs import evolve

        sessions = plan.sessions or ([range(len(plan.jobs))] if plan.jobs else [])
        parts = [evolve(plan, jobs=tuple(plan.jobs[p] for p in positions), sessions=()) for positions in sessions]
        tasks = {
            self.client.submit(answers_of, plan_format.encode_plan(part), str(self.cancelled), pure=False): part
            for part in parts
        }
        try:
            for task in distributed.as_completed(list(tasks)):
                yield from self._answers(task, tasks[task])
        finally:
            self.cancelled.touch()
            self.client.cancel(list(tasks), force=True)

    def _answers(self, task: Any, part: Plan) -> Iterator[Measured]:
        started = time.time_ns()
        try:
            yield from map(plan_format.decode_measured, task.result())
        except distributed.scheduler.KilledWorker as lost:
            error = PerfError(f"a worker of the cluster was lost: {lost.last_worker.address}", hint="try again")
            attempt = Attempt(worker=socket.gethostname(), started=started, error=str(error))
            for job in part.jobs:
                yield Measured(job=job, error=error, retry=True, attempts=(attempt,))


class TestDask(ExecutorContract):
    workers = True

    @pytest.fixture
    def driver(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Dask]:
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        elsewhere = tmp_path / "worker"
        elsewhere.mkdir()
        settings = {"distributed.scheduler.allowed-failures": 0, "distributed.worker.daemon": False}
        with (
            distributed.config.set(settings) if hasattr(distributed, "config") else contextlib.nullcontext(),
            distributed.LocalCluster(
                n_workers=2, threads_per_worker=1, dashboard_address=None, local_directory=str(elsewhere)
            ) as cluster,
            distributed.Client(cluster) as client,
        ):
            client.run(os.chdir, str(elsewhere))
            yield Dask(client, tmp_path)
