"""The driver of the executor `dask`."""

from __future__ import annotations

import collections
import concurrent.futures
import contextlib
import time
import uuid
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import attrs

from perfcore.errors import NotFoundError, PerfError, UsageError
from perfcore.model import Attempt, Measured, Plan
from perfcore.model.record import replace
from perfcore.text import printable
from perfcore_executor_dask.machines import DaskSettings, Machine, Machines

if TYPE_CHECKING:
    from perfcore.model.listener import Listener

_LOOK = 1.0  # seconds between two looks whether the workers of a task are still there


@attrs.define
class _Share:
    """A session on its way: its plan, the task that measures it, and the tries that a lost worker ended."""

    plan: Plan
    task: Any = None
    machine: Machine = attrs.field(factory=Machine)
    started: int = 0
    lost: list[Attempt] = attrs.field(factory=list)


class DaskExecutor:
    """Measure on the workers of a Dask cluster: each session is a task, alone on its machine."""

    Settings = DaskSettings

    def __init__(self, settings: DaskSettings | None = None, client: Any = None) -> None:
        self.settings = settings or DaskSettings()
        self._client = client

    def submit(self, plan: Plan, listener: Listener | None = None) -> Iterator[Measured]:
        if not plan.jobs:
            return
        from perfcore_executor_dask.sources import bundled

        if self.settings.remote:
            plan = replace(plan, source=None)
        else:
            plan = bundled(plan)
        with self._connected() as client, _scheduler_needed(client):
            yield from _Submission(self.settings, client, plan, listener).answers()

    @contextlib.contextmanager
    def _connected(self) -> Iterator[Any]:
        if self._client is not None:
            yield self._client
            return
        import distributed

        place = self.settings.scheduler or self.settings.scheduler_file
        if not place:
            raise UsageError("no cluster is named", hint="executor.dask.scheduler or executor.dask.scheduler_file")
        address: dict[str, Any] = {"address": place} if self.settings.scheduler else {"scheduler_file": place}
        try:
            client: Any = distributed.Client(  # type: ignore[no-untyped-call]
                **address, timeout=self.settings.patience, set_as_default=False
            )
        except (OSError, ValueError) as error:
            raise NotFoundError(f"the scheduler {place} does not answer: {error}") from error
        with client:
            yield client


@contextlib.contextmanager
def _scheduler_needed(client: Any) -> Iterator[None]:
    """Errors of a scheduler that does not answer any more, as one that says so."""
    scheduler = client.scheduler.address  # which a client forgets
    try:
        yield
    except Exception as error:
        if isinstance(error, PerfError) or (client.status == "running" and not isinstance(error, OSError)):
            raise
        raise NotFoundError(
            f"the scheduler {scheduler} does not answer any more",
            hint="what was measured until then is kept; --continue measures the rest",
        ) from error


class _Submission:
    """One plan on a cluster."""

    def __init__(self, settings: DaskSettings, client: Any, plan: Plan, listener: Listener | None) -> None:
        self.settings, self.client, self.listener = settings, client, listener
        self.name = f"perfcore-{uuid.uuid4().hex}"
        self.waiting = collections.deque(_Share(share) for share in _sessions(plan))
        self.running: list[_Share] = []
        self.machines = Machines(settings, client, sessions=len(self.waiting))

    def answers(self) -> Iterator[Measured]:
        import distributed

        cancelled: Any = distributed.Event(self.name, client=self.client)  # type: ignore[no-untyped-call]
        self.client.subscribe_topic(self.name, self._heard)
        is_silent = False
        try:
            while self.waiting or self.running:
                # In their order, one on a machine: a session that waits for the machine would hold a worker.
                while self.waiting and (machine := self._free_machine()):
                    self._start(self.waiting.popleft(), machine)
                share = self._ended()
                self.running.remove(share)
                answers = self._finished(share)
                if any(answer.profile is not None for answer in answers):
                    self.machines.measured += 1
                yield from answers
        except TimeoutError:
            is_silent = True
            raise
        finally:
            if not is_silent:  # or these would wait for good
                with contextlib.suppress(OSError, ValueError, RuntimeError):  # a scheduler that is gone has no tasks
                    cancelled.set()
                    self.client.cancel([share.task for share in self.running if share.task is not None], force=True)
                    self.client.unsubscribe_topic(self.name)

    def _free_machine(self) -> Machine | None:
        """A machine for the next session; None while it has to wait for one before it."""
        if self.running and not self.settings.spread:
            return None
        return self.machines.free([share.machine.host for share in self.running])

    def _start(self, share: _Share, machine: Machine) -> None:
        """Submit a session to the workers of a machine."""
        from perfcore_executor_kit import plan_format

        from perfcore_executor_dask import task

        self.running.append(share)
        share.machine, share.started = machine, time.time_ns()
        share.task = self.client.submit(
            task.measure,
            plan_format.encode_plan(share.plan),
            self.name,
            self.settings.remote,
            workers=machine.workers,
            resources={self.settings.resource: 1} if self.settings.resource else None,
            retries=0,
            pure=False,
        )

    def _ended(self) -> _Share:
        """The next share whose task ended, or whose workers all went."""
        import distributed

        while True:
            with contextlib.suppress(TimeoutError), self.client.as_current():
                tasks = [share.task for share in self.running]
                distributed.wait(tasks, _LOOK, "FIRST_COMPLETED")  # type: ignore[no-untyped-call]
            for share in self.running:
                if share.task.done():
                    return share
            alive = self.machines.alive()
            for share in self.running:
                if not alive.keys() & set(share.machine.workers):
                    return share

    def _finished(self, share: _Share) -> list[Measured]:
        """The answers of a share; none where it is measured again."""
        import distributed
        from perfcore_executor_kit import plan_format

        try:
            if not share.task.done():
                return self._lost(share, f"all workers on {share.machine.host} are gone")
            encoded = share.task.result()
        except (distributed.KilledWorker, distributed.scheduler.NoValidWorkerError) as error:
            return self._lost(share, _reason(error))
        except concurrent.futures.CancelledError as error:
            if self.client.status != "running":
                raise
            return self._lost(share, f"the scheduler forgot the session: {error}")  # it was started again
        except Exception as error:
            if share.task.status != "error" or isinstance(error, PerfError):
                raise
            raise PerfError(f"measuring on {share.machine.host} failed: {printable(str(error))}") from error
        answers = [plan_format.decode_measured(data) for data in encoded]
        failed = next((answer.error for answer in answers if answer.retry and answer.error is not None), None)
        if failed is not None and len(share.lost) < self.settings.retries:
            return self._lost(share, failed.message)
        return [_with_attempts(answer, share) for answer in answers]

    def _lost(self, share: _Share, reason: str) -> list[Measured]:
        """Nothing of a lost try was given to anybody, so the whole session is measured again."""
        share.lost.append(Attempt(worker=share.machine.host, started=share.started, error=reason))
        self.client.cancel([share.task], force=True)
        if len(share.lost) <= self.settings.retries:
            self._note(f"{reason}: the session is measured again")
            self.waiting.appendleft(share)
            return []
        error = PerfError(reason, hint="try again, or raise executor.dask.retries")
        tries = tuple(share.lost)
        return [Measured(job=job, error=error, retry=True, attempts=tries) for job in share.plan.jobs]

    def _heard(self, event: tuple[float, Mapping[str, Any]]) -> None:
        """Progress, a note or a failure of a worker."""
        said = event[1]
        if self.listener is None:
            return
        if "failed" in said:
            self.listener.failed(said["subject"], PerfError(said["failed"]))
        elif "note" in said:
            self.listener.note(said["note"])
        else:
            self.listener.progress(said["done"], said["total"], said["text"])

    def _note(self, text: str) -> None:
        if self.listener is not None:
            self.listener.note(text)


def _with_attempts(answer: Measured, share: _Share) -> Measured:
    """The answer with all tries. A worker that died has not told of its own."""
    last = answer.attempts
    if answer.retry and answer.error is not None and not last:
        last = (Attempt(worker=share.machine.host, started=share.started, error=answer.error.message),)
    return replace(answer, attempts=(*share.lost, *last))


def _sessions(plan: Plan) -> Iterator[Plan]:
    """The sessions of a plan, each with the trees of its versions alone. What the executor is to split, a worker
    splits: it stays on one machine."""
    if not plan.sessions:
        yield plan
        return
    for positions in plan.sessions:
        shared_plan = replace(plan, jobs=tuple(plan.jobs[position] for position in positions), sessions=())
        if shared_plan.source is not None and shared_plan.source.kind == "bundle":
            versions = {job.version for job in shared_plan.jobs}
            bundles = {version: data for version, data in shared_plan.source.bundles.items() if version in versions}
            shared_plan = replace(shared_plan, source=replace(shared_plan.source, bundles=bundles))
        yield shared_plan


def _reason(error: Exception) -> str:
    last = getattr(getattr(error, "last_worker", None), "address", "")
    return f"a worker was lost{f': {last}' if last else ''}"
