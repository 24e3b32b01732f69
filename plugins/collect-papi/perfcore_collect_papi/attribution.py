"""PAPI's operations on event sets, their values attributed to the hardware threads of the machine.

    from perfcore_collect_papi import EventSet, PapiMetrics, library

    events = EventSet(library(), ["PAPI_TOT_INS"])
    metrics = PapiMetrics.start(events)
    work()
    metrics.read(events)
    more_work()
    metrics.stop(events, permanent=True)
    print(metrics.value("PAPI_TOT_INS"), metrics.entries("PAPI_TOT_INS", cpu=0))
    metrics.save("solver")

Several event sets may share one store, and none disturbs another. Permanent readings make a profile.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Collection, Hashable
from pathlib import Path
from typing import TYPE_CHECKING

from perfcore_collect_time.clock import Clock, ClockReader

from perfcore_collect_papi.counters import last_cpu
from perfcore_collect_papi.metrics import CpuPerf, Metrics, Reading

if TYPE_CHECKING:
    from perfcore.model import Profile
    from perfcore.store.pending import Pending
    from perfcore_collect_papi.binding import EventSet
    from perfcore_collect_papi.software import SoftwareSet
    from perfcore_collect_papi.topology import Cpu, Part

    Counted = EventSet | SoftwareSet

current_cpu: Callable[[], int] = getattr(ctypes.PyDLL(None), "sched_getcpu", lambda: -1)  # no reason to let others run


class PapiMetrics:
    """The store of one or several event sets. `topology` says which CPUs are known; what is counted on others is
    kept under the CPU -1. `clocks` has the clock rate at each permanent reading, by its timestamp, where the files
    below `root` tell it."""

    def __init__(self, topology: Collection[Cpu] | None = None, *, root: Path = Path("/")) -> None:
        self.metrics = Metrics(None if topology is None else {cpu.cpu for cpu in topology})
        self.clocks: dict[int, Clock] = {}
        self._clock = ClockReader(root)
        self._topology = topology
        self._names: dict[int, Counted] = {}

    @classmethod
    def start(
        cls, event_set: Counted, metrics: PapiMetrics | None = None, topology: Collection[Cpu] | None = None
    ) -> PapiMetrics:
        """Start to count, in a store of its own or in one that there is."""
        running_metrics = metrics or cls(topology)
        event_set.start()
        running_metrics._names[id(event_set)] = event_set  # kept, so that no other one gets its id
        running_metrics.metrics.start(event_set=id(event_set), **_now())
        return running_metrics

    def reset(self, event_set: Counted) -> None:
        event_set.reset()
        self.metrics.reset(event_set=id(event_set), **_now())

    def read(self, event_set: Counted, permanent: bool = False) -> int:
        """What was counted since START or RESET. Gives the timestamp of the reading."""
        return self._put(self.metrics.read, event_set, event_set.read(), permanent)

    def accum(self, event_set: Counted, permanent: bool = False) -> int:
        """What was counted since the counters were zeroed, on top of what there is."""
        return self._put(self.metrics.accum, event_set, event_set.accum(), permanent)

    def stop(self, event_set: Counted, permanent: bool = False) -> int:
        """The last READ. Counts of a thread that is no more are kept."""
        return self._put(self.metrics.stop, event_set, event_set.stop(), permanent)

    def value(self, event: str, cpu: int = -1, timestamp: int = 0, event_set: Counted | None = None) -> int | None:
        """As `Metrics.value`: None where there is no such entry."""
        return self.metrics.value(event, cpu, timestamp, None if event_set is None else id(event_set))

    def entries(self, event: str, cpu: int, event_set: Counted | None = None) -> CpuPerf | None:
        return self.metrics.entries(event, cpu, None if event_set is None else id(event_set))

    def elapsed(self, timestamp: int, event_set: Counted) -> int:
        """Nanoseconds from the START of the set to a reading of it, whatever was done to the clock."""
        return self.metrics.elapsed(timestamp, id(event_set))

    @property
    def cpus(self) -> tuple[int, ...]:
        return self.metrics.cpus

    @property
    def events(self) -> tuple[str, ...]:
        return self.metrics.events

    @property
    def readings(self) -> tuple[Reading, ...]:
        """The journal, from which everything can be recomputed."""
        return tuple(self.metrics.journal)

    @property
    def latest_cpu(self) -> int:
        return self.metrics.latest_cpu

    @property
    def topology(self) -> tuple[Cpu, ...]:
        """The machine: as it was given, or this one."""
        from perfcore_collect_papi import topology

        return topology.of_system() if self._topology is None else tuple(self._topology)

    def event_set(self, number: Hashable) -> Counted:
        """The set that a line of the journal is about."""
        return self._names[number]  # type: ignore[index]

    def by_part(self, event: str, level: str) -> dict[Part, int]:
        """The values of the latest reading by the parts of a level (`core`, `l1d`, `l1i`, `l2`, `l3`, `numa` or
        `package`) that have any, each with its CPUs and size."""
        from perfcore_collect_papi import topology

        values = self.metrics.by_cpu(event)
        counted = {
            part: [values[cpu] for cpu in part.cpus if cpu in values] for part in topology.parts(self.topology, level)
        }
        return {part: sum(of) for part, of in counted.items() if of}

    def profile(self, name: str = "metrics") -> Profile:
        """A snapshot for each permanent reading, a run for each START; PerfError where no reading is permanent."""
        from perfcore_collect_papi.metrics_profile import metrics_profile

        return metrics_profile(self, name, {})

    def save(self, name: str = "metrics", directory: Path | None = None) -> Pending:
        """Keep the profile as a pending one of the repository around a folder (this one)."""
        from perfcore_collect_papi.metrics_profile import metrics_profile
        from perfcore_collect_papi.program_profile import save

        return save(lambda machine: metrics_profile(self, name, machine), directory)

    def _put(self, operation: Callable[..., int], event_set: Counted, values: list[int], permanent: bool) -> int:
        """The CPU is looked up after the counters were read, and the time last."""
        cpu = cpu_of(event_set)
        named = dict(zip(event_set.events, values, strict=True))
        timestamp = operation(cpu, named, **_now(), permanent=permanent, event_set=id(event_set))
        if permanent and self._clock.known:
            self.clocks[timestamp] = self._clock.read()
        return timestamp


def _now() -> dict[str, int]:
    return {"timestamp": time.time_ns(), "moment": time.monotonic_ns()}


def cpu_of(event_set: Counted) -> int:
    """The CPU that a set is attached to, or the last one of the thread that it counts; -1 is not known."""
    if event_set.cpu is not None:
        return event_set.cpu
    return current_cpu() if event_set.pid is None else last_cpu(event_set.pid, event_set.pid)
