"""The machines of a cluster, and those of them on which a plan may be measured."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import attrs

from perfcore.errors import NotFoundError
from perfcore.settings import option
from perfcore.text import plural, printable

_LOOK = 1.0  # seconds between two looks for a worker


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
    patience: float = option(60.0, help="How long a worker or the scheduler is waited for.", unit="s", minimum=1)


@attrs.frozen
class Machine:
    """A machine by its name, and the addresses of its workers."""

    host: str = ""
    workers: tuple[str, ...] = ()


@attrs.define
class Machines:
    """Those on which one plan may be measured. What was measured is compared, so a plan stays where it began to be
    `measured`: on one machine, unless it may spread, and on machines of one environment, where this is asked."""

    settings: DaskSettings
    client: Any
    sessions: int
    measured: int = 0  # sessions of which there are profiles
    _host: str = ""
    _environment: str = ""
    _facts: dict[str, tuple[str, str]] = attrs.field(factory=dict)  # of a worker: its host, the id of its environment

    def free(self, busy: Collection[str] = ()) -> Machine | None:
        """The one with the most workers that is not busy; None where all are. NotFoundError where none comes in
        time."""
        machines = [machine for machine in self._fitting(busy) if machine.host not in busy]
        if not machines:
            return None
        chosen = max(machines, key=lambda machine: len(machine.workers))
        if not self.measured and not busy:
            self._host, self._environment = chosen.host, self._facts[chosen.workers[0]][1]
        return chosen

    def alive(self) -> Mapping[str, Mapping[str, Any]]:
        """What the scheduler says of its workers, by their addresses. TimeoutError where it says nothing in time."""
        scheduler = self.client.scheduler
        identity = self.client.sync(scheduler.identity, n_workers=-1, callback_timeout=self.settings.patience)
        workers: Mapping[str, Mapping[str, Any]] = identity["workers"]
        return workers

    def _fitting(self, busy: Collection[str]) -> Sequence[Machine]:
        """All that may measure, busy ones too, by name."""
        end = time.monotonic() + self.settings.patience
        while True:
            workers = sorted(address for address, worker in self.alive().items() if self._is_of_class(worker))
            refusals = self._meet(workers)
            facts = {address: self._facts[address] for address in workers if address in self._facts}
            if machines := self._of_plan(facts, pinned=bool(self.measured or busy)):
                return machines
            if time.monotonic() > end:
                raise self._nowhere(refusals, has_others=bool(facts))
            time.sleep(_LOOK)

    def _of_plan(self, facts: Mapping[str, tuple[str, str]], *, pinned: bool) -> Sequence[Machine]:
        """The machines of these workers; where the plan is pinned, those whose measurements may be compared."""
        environments = sorted(environment for _, environment in facts.values())
        environment = self._environment if pinned else max(environments, key=environments.count, default="")
        workers: dict[str, list[str]] = {}
        for address, (host, own) in facts.items():
            is_other = self.settings.environment == "same" and own != environment
            if not is_other and (not pinned or self.settings.spread or host == self._host):
                workers.setdefault(host, []).append(address)
        return [Machine(host, tuple(workers[host])) for host in sorted(workers)]

    def _is_of_class(self, worker: Mapping[str, Any]) -> bool:
        return not self.settings.resource or self.settings.resource in worker.get("resources", {})

    def _meet(self, workers: Sequence[str]) -> Sequence[str]:
        """Ask the workers that were not asked before what their machine is. Why those that do not know cannot tell."""
        from perfcore_executor_dask import task

        new = [address for address in workers if address not in self._facts]
        answers = self.client.run(task.machine, workers=new, on_error="return") if new else {}
        self._facts |= {address: answer for address, answer in answers.items() if isinstance(answer, tuple)}
        # An OSError is one of the connection: a worker that goes is none that lacks something.
        return [
            printable(str(answer))
            for answer in answers.values()
            if isinstance(answer, Exception) and not isinstance(answer, OSError)
        ]

    def _nowhere(self, refusals: Sequence[str], *, has_others: bool) -> NotFoundError:
        """The error where no worker may measure."""
        worker = f"worker with the resource {self.settings.resource}" if self.settings.resource else "worker"
        if self.measured or has_others:
            place, others = f" on {self._host}, where this plan is measured", "; executor.dask.spread takes any machine"
            if self.settings.spread:
                place, others = " on a machine like those that measured" if has_others else "", ""
            return NotFoundError(
                f"no {worker} is left{place}: {self.measured} of {plural(self.sessions, 'session')} measured",
                hint=f"start one there and give the command again with --continue{others}",
            )
        if refusals:
            needed = "perfcore, the plugins of the plan, and perfcore-executor-dask"
            return NotFoundError(f"no {worker} can measure: {refusals[0]}", hint=f"install there {needed}")
        return NotFoundError(
            f"the cluster has no {worker}", hint="dask worker SCHEDULER --nthreads 1 --resources NAME=1"
        )
