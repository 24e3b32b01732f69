"""The driver of the executor `dask`."""

from __future__ import annotations

import collections
import contextlib
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import attrs

from perfcore.errors import NotFoundError, PerfError, UsageError
from perfcore.model import Attempt, Measured, Plan
from perfcore.model.record import replace
from perfcore.settings import option

if TYPE_CHECKING:
    from perfcore.model.listener import Listener

_LOOK = 1.0  # seconds between two looks whether the workers of a task are still there


@attrs.frozen(kw_only=True)
class DaskSettings:
    scheduler: str = option("", help="The address of the scheduler, such as tcp://bench:8786.")
    scheduler_file: str = option("", help="The file in which the scheduler wrote its address, on a shared disk.")
    resource: str = option("", help="Only workers with this resource, started with --resources NAME=1.")
    spread: bool = option(False, help="Measure the sessions of a plan on several machines at once.")
    environment: str = option(
        "apart",
        help="Machines that differ: `apart`, each has its own history, or `same`, only those like the most common.",
        choices=("apart", "same"),
    )
    remote: str = option("", help="The URL of a git repository that workers clone, instead of trees in the plan.")
    retries: int = option(2, help="How often a session is measured again whose worker was lost.", minimum=0)
    patience: float = option(60.0, help="How long a worker is waited for.", unit="s", minimum=1)


@attrs.define
class _Share:
    """A session on its way: its plan, the task that measures it, and the tries that a lost worker ended."""

    plan: Plan
    task: Any = None
    workers: tuple[str, ...] = ()
    host: str = ""
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
        with self._connected() as client:
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


class _Submission:
    """One plan on a cluster."""

    def __init__(self, settings: DaskSettings, client: Any, plan: Plan, listener: Listener | None) -> None:
        self.settings, self.client, self.listener = settings, client, listener
        self.name = f"perfcore-{uuid.uuid4().hex}"
        self.host = ""  # the machine of the plan, if it stays on one
        self.shares = [_Share(share) for share in _sessions(plan)]
        self.running: list[_Share] = []

    def answers(self) -> Iterator[Measured]:
        import distributed

        cancelled: Any = distributed.Event(self.name, client=self.client)  # type: ignore[no-untyped-call]
        self.client.subscribe_topic(self.name, self._heard)
        waiting = collections.deque(self.shares)
        try:
            while waiting or self.running:
                # In their order, one on a machine: a session that waits for the machine would hold a worker.
                while waiting and (host := self._free_host()):
                    self.running.append(waiting[0])
                    self._start(waiting.popleft(), *host)
                share = self._ended()
                if answers := self._finished(share):
                    self.running.remove(share)
                    yield from answers
        finally:
            cancelled.set()
            self.client.cancel([share.task for share in self.running if share.task is not None], force=True)
            with contextlib.suppress(ValueError):
                self.client.unsubscribe_topic(self.name)

    def _free_host(self) -> tuple[str, list[str]] | None:
        """A machine on which no session of this plan runs, and its workers; None where there is none. NotFoundError
        where no machine comes in time."""
        if self.running and not self.settings.spread:
            return None
        hosts = self._hosts()
        if self.settings.spread:
            hosts = {host: hosts[host] for host in hosts if all(host != share.host for share in self.running)}
            return _largest(hosts) if hosts else None
        if self.host not in hosts:
            if self.host:
                self._note(f"{self.host} is gone: what is left is measured on another machine, in a history of its own")
            self.host, _ = _largest(hosts)
        return self.host, hosts[self.host]

    def _start(self, share: _Share, host: str, workers: list[str]) -> None:
        """Submit a session to the workers of a machine."""
        from perfcore_executor_kit import plan_format

        from perfcore_executor_dask import task

        share.host, share.workers, share.started = host, tuple(workers), time.time_ns()
        share.task = self.client.submit(
            task.measure,
            plan_format.encode_plan(share.plan),
            self.name,
            self.settings.remote,
            workers=share.workers,
            resources={self.settings.resource: 1} if self.settings.resource else None,
            retries=0,
            pure=False,
        )

    def _hosts(self) -> Mapping[str, list[str]]:
        """The workers that may measure, by machine. NotFoundError where none comes in time."""
        from perfcore_executor_dask import task

        end = time.monotonic() + self.settings.patience
        while True:
            workers = [address for address, worker in self._alive().items() if self._is_of_class(worker)]
            places = self._asked(task.where, workers)
            if self.settings.environment == "same" and places:
                ids = self._asked(task.machine_id, list(places))
                common = max(sorted(set(ids.values())), key=list(ids.values()).count)
                places = {address: place for address, place in places.items() if ids.get(address) == common}
            if places:
                hosts: dict[str, list[str]] = {}
                for address in sorted(places):
                    hosts.setdefault(places[address], []).append(address)
                return hosts
            if time.monotonic() > end:
                wanted = f" with the resource {self.settings.resource}" if self.settings.resource else ""
                raise NotFoundError(
                    f"the cluster has no worker{wanted}",
                    hint="dask worker SCHEDULER --nthreads 1 --resources NAME=1",
                )
            time.sleep(_LOOK)

    def _alive(self) -> Mapping[str, Mapping[str, Any]]:
        workers: Mapping[str, Mapping[str, Any]] = self.client.scheduler_info(n_workers=-1)["workers"]
        return workers

    def _is_of_class(self, worker: Mapping[str, Any]) -> bool:
        return not self.settings.resource or self.settings.resource in worker.get("resources", {})

    def _asked(self, question: Callable[[], str], workers: list[str]) -> dict[str, str]:
        """What each worker answers; without those that do not."""
        answers = self.client.run(question, workers=workers, on_error="return") if workers else {}
        return {address: answer for address, answer in answers.items() if isinstance(answer, str)}

    def _ended(self) -> _Share:
        """The next share whose task ended, or whose workers all went."""
        while True:
            for share in self.running:
                if share.task.done():
                    return share
            alive = self._alive()
            for share in self.running:
                if not alive.keys() & set(share.workers):
                    return share
            time.sleep(_LOOK / 10)

    def _finished(self, share: _Share) -> list[Measured]:
        """The answers of a share; none where it is measured again."""
        import distributed
        from perfcore_executor_kit import plan_format

        try:
            if not share.task.done():
                raise PerfError(f"all workers on {share.host} are gone")
            encoded = share.task.result()
        except (distributed.KilledWorker, distributed.scheduler.NoValidWorkerError, PerfError) as error:
            if isinstance(error, PerfError) and share.task.done():
                raise
            return self._lost(share, _reason(error))
        answers = [plan_format.decode_measured(data) for data in encoded]
        failed = next((answer.error for answer in answers if answer.retry and answer.error is not None), None)
        if failed is not None and len(share.lost) < self.settings.retries:
            return self._lost(share, failed.message)
        return [replace(answer, attempts=(*share.lost, *answer.attempts)) for answer in answers]

    def _lost(self, share: _Share, reason: str) -> list[Measured]:
        """Nothing of a lost try was given to anybody, so the whole session is measured again."""
        share.lost.append(Attempt(worker=share.host, started=share.started, error=reason))
        self.client.cancel([share.task], force=True)
        if len(share.lost) <= self.settings.retries:
            self._note(f"{reason}: the session is measured again")
            self.running.remove(share)
            host = self._free_host() or _largest(self._hosts())
            self.running.append(share)
            self._start(share, *host)
            return []
        error = PerfError(reason, hint="try again, or raise executor.dask.retries")
        tries = tuple(share.lost)
        return [Measured(job=job, error=error, retry=True, attempts=tries) for job in share.plan.jobs]

    def _heard(self, event: tuple[float, Mapping[str, Any]]) -> None:
        """Progress or a note of a worker."""
        said = event[1]
        if self.listener is not None and "note" in said:
            self.listener.note(said["note"])
        elif self.listener is not None:
            self.listener.progress(said["done"], said["total"], said["text"])

    def _note(self, text: str) -> None:
        if self.listener is not None:
            self.listener.note(text)


def _largest(hosts: Mapping[str, list[str]]) -> tuple[str, list[str]]:
    """The machine with the most workers."""
    name = max(sorted(hosts), key=lambda host: len(hosts[host]))
    return name, hosts[name]


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
    if isinstance(error, PerfError):
        return error.message
    last = getattr(getattr(error, "last_worker", None), "address", "")
    return f"a worker was lost{f': {last}' if last else ''}"
