"""Counter values by event set, event and CPU: what a series of readings amounts to.

This knows nothing of PAPI. It is told what was done (start, reset, read, accum, stop), on which CPU, the raw values
that PAPI gave, and when; so any sequence can be replayed. Two things are kept of an event on a CPU: **permanent**
entries, which stay, and at most one **temporary** entry, the last one, which the next reading there overwrites.

- READ and STOP give what was counted since the set was started or reset. What other CPUs hold in temporary entries
  of the latest reading is taken off (the count is split among the CPUs the thread was on) and goes along in time.
- The first READ of an event after START, RESET or ACCUM begins anew: its temporary entries are dropped. Permanent
  ones are history.
- ACCUM gives what was counted since the last time the counter was zeroed, and adds it to what the CPU has. The
  permanent entries that other CPUs got from the latest reading are merged into it.

For one event set, `value(event)` is always what a single array holds that is passed to each read, stop and accum of
plain PAPI. Sets do not disturb each other, nor do the events of a set that is started again with others: each event
of a set has its own latest reading. A set that is attached to a CPU has
one CPU only, so nothing is ever split there.
"""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Collection, Hashable, Iterable, Mapping
from typing import Literal

import attrs

from perfcore_collect_papi import failure
from perfcore_collect_papi.failure import PapiFailure

UNKNOWN = -1  # the CPU of what was counted nobody knows where
Op = Literal["start", "reset", "read", "accum", "stop"]


@attrs.frozen
class PerfEntry:
    """A value and when it was read; a temporary one is overwritten by the next reading on its CPU."""

    timestamp: int
    value: int
    permanent: bool


@attrs.frozen
class CpuPerf:
    """The entries of an event on a CPU, oldest first."""

    cpu: int
    entries: tuple[PerfEntry, ...]


@attrs.frozen(kw_only=True)
class Reading:
    """One line of the journal: what was done, and the raw values as PAPI gave them. `moment` is the time of a clock
    that is never set, and `elapsed` what it was since the set's START."""

    op: Op
    event_set: Hashable
    timestamp: int
    moment: int = 0
    elapsed: int = 0
    cpu: int = UNKNOWN
    permanent: bool = False
    values: tuple[tuple[str, int], ...] = ()


@attrs.define
class _Event:
    """The state of an event of a set. `fresh` says that the next READ begins anew."""

    cpus: dict[int, list[PerfEntry]] = attrs.field(factory=dict)
    latest: int = 0
    fresh: bool = True


@attrs.define
class _Set:
    """The state of one event set: of each event that it ever counted, and of those that it counts now."""

    events: dict[str, _Event] = attrs.field(factory=dict)
    latest_cpu: int = UNKNOWN
    started: int = 0
    counted: frozenset[str] = frozenset()
    running: bool = False

    def begin_anew(self) -> None:
        for event in self.events.values():
            event.fresh = True


class Metrics:
    """The store. Event sets are told apart by any name; a program with one needs none.

    `cpus` are those that are known to exist: what is counted on another one is kept under the CPU -1, and a line of
    `warnings` says so. Timestamps are nanoseconds, or any other numbers that rise: one that is not later than the
    one before is taken as the next number after it, so that no two readings share one. They may jump where the clock
    is set; `moment`, of a clock that never is, tells how much time passed (without it the timestamps do). `journal`
    has every operation, unless none is wanted.

        metrics = Metrics()
        metrics.start()
        metrics.read(0, {"PAPI_TOT_INS": 100})
        metrics.read(1, {"PAPI_TOT_INS": 150})
        assert metrics.value("PAPI_TOT_INS") == 150
        assert metrics.value("PAPI_TOT_INS", cpu=1) == 50
    """

    def __init__(self, cpus: Collection[int] | None = None, *, journal: bool = True) -> None:
        self.journal: list[Reading] = []
        self._writes_journal = journal
        self.warnings: list[str] = []
        self.latest_cpu = UNKNOWN
        self._known = None if cpus is None else frozenset(cpus)
        self._sets: dict[Hashable, _Set] = {}
        self._last = 0

    @classmethod
    def replay(cls, journal: Iterable[Reading], cpus: Collection[int] | None = None) -> Metrics:
        """The store as it is after these operations."""
        metrics = cls(cpus)
        for reading in journal:
            if reading.op in ("start", "reset"):
                operation = getattr(metrics, reading.op)
                operation(event_set=reading.event_set, timestamp=reading.timestamp, moment=reading.moment)
                continue
            getattr(metrics, reading.op)(
                reading.cpu,
                dict(reading.values),
                timestamp=reading.timestamp,
                moment=reading.moment,
                permanent=reading.permanent,
                event_set=reading.event_set,
            )
        return metrics

    def start(self, *, event_set: Hashable = 0, timestamp: int = 0, moment: int = 0) -> None:
        """The set counts from 0. What it has is left until its first READ. A set that is running here was stopped
        without this store, or PAPI would not have started it."""
        state = self._sets.setdefault(event_set, _Set())
        state.running, state.counted = True, frozenset()
        state.begin_anew()
        timestamp = max(timestamp, self._last)
        state.started = moment or timestamp
        self._note(Reading(op="start", event_set=event_set, timestamp=timestamp, moment=state.started))

    def reset(self, *, event_set: Hashable = 0, timestamp: int = 0, moment: int = 0) -> None:
        """The set counts from 0 again. What it has is left until its first READ."""
        state = self._state(event_set, "reset")
        state.begin_anew()
        timestamp = max(timestamp, self._last)
        moment = moment or timestamp
        elapsed = moment - state.started
        self._note(Reading(op="reset", event_set=event_set, timestamp=timestamp, moment=moment, elapsed=elapsed))

    def read(
        self,
        cpu: int | None,
        values: Mapping[str, int],
        *,
        timestamp: int = 0,
        moment: int = 0,
        permanent: bool = False,
        event_set: Hashable = 0,
    ) -> int:
        """What was counted since START or RESET, credited to the CPU. Gives the reading's timestamp."""
        state = self._state(event_set, "read")
        reading = self._reading("read", state, cpu, values, (timestamp, moment), permanent, event_set)
        _read(state, reading)
        return self._done(state, reading)

    def stop(
        self,
        cpu: int | None,
        values: Mapping[str, int],
        *,
        timestamp: int = 0,
        moment: int = 0,
        permanent: bool = False,
        event_set: Hashable = 0,
    ) -> int:
        """The last READ."""
        state = self._state(event_set, "stopped")
        if not state.running:
            raise PapiFailure(failure.ENOTRUN, f"event set {event_set!r} cannot be stopped")
        reading = self._reading("stop", state, cpu, values, (timestamp, moment), permanent, event_set)
        state.running = False
        _read(state, reading)
        return self._done(state, reading)

    def accum(
        self,
        cpu: int | None,
        values: Mapping[str, int],
        *,
        timestamp: int = 0,
        moment: int = 0,
        permanent: bool = False,
        event_set: Hashable = 0,
    ) -> int:
        """What was counted since the counter was zeroed last, which it is now too, on top of what there is."""
        state = self._state(event_set, "accumulated")
        reading = self._reading("accum", state, cpu, values, (timestamp, moment), permanent, event_set)
        _accumulate(state, reading)
        return self._done(state, reading)

    def value(
        self, event: str, cpu: int = UNKNOWN, timestamp: int = 0, event_set: Hashable | None = None
    ) -> int | None:
        """The value on a CPU, or the sum over all of them (-1), at a reading, or at the latest of it in each set (0).
        None where there is no such entry: an event that was counted and never happened is 0."""
        chosen = self._sets.values() if event_set is None else [self._state(event_set, "asked")]
        readings = [
            entry.value
            for state in chosen
            if event in state.events
            for entry_cpu, entries in state.events[event].cpus.items()
            if cpu in (UNKNOWN, entry_cpu)
            for entry in _at(entries, timestamp or state.events[event].latest)
        ]
        return sum(readings) if readings else None

    def entries(self, event: str, cpu: int, event_set: Hashable | None = None) -> CpuPerf | None:
        """All entries of an event on a CPU, of one set or of all in the order of time; None where there are none."""
        chosen = self._sets.values() if event_set is None else [self._state(event_set, "asked")]
        matching = [
            entry for state in chosen if event in state.events for entry in state.events[event].cpus.get(cpu, ())
        ]
        return CpuPerf(cpu, tuple(sorted(matching, key=lambda entry: entry.timestamp))) if matching else None

    def by_cpu(self, event: str) -> dict[int, int]:
        """The values of the latest reading of each set, summed by CPU; -1 stands for those that are not known."""
        values_by_cpu: dict[int, int] = {}
        for state in self._sets.values():
            known = state.events.get(event, _Event())
            for cpu, entries in known.cpus.items():
                for entry in _at(entries, known.latest):
                    values_by_cpu[cpu] = values_by_cpu.get(cpu, 0) + entry.value
        return values_by_cpu

    def latest_cpu_of(self, event_set: Hashable) -> int:
        """The CPU that the latest reading of a set was credited to; -1 before the first."""
        return self._state(event_set, "asked").latest_cpu

    def elapsed(self, timestamp: int, event_set: Hashable = 0) -> int:
        """The time from the START of the set to a reading of it, by the clock that is never set. The journal knows."""
        self._state(event_set, "asked")
        at = bisect.bisect_left(self.journal, timestamp, key=lambda reading: reading.timestamp)
        for reading in itertools.takewhile(lambda reading: reading.timestamp == timestamp, self.journal[at:]):
            if reading.event_set == event_set and reading.op not in ("start", "reset"):
                return reading.elapsed
        raise PapiFailure(failure.EINVAL, f"event set {event_set!r} has no reading at {timestamp}")

    @property
    def latest(self) -> int:
        """The timestamp of the latest reading of all; 0 before the first."""
        return max((event.latest for state in self._sets.values() for event in state.events.values()), default=0)

    @property
    def event_sets(self) -> tuple[Hashable, ...]:
        return tuple(self._sets)

    @property
    def events(self) -> tuple[str, ...]:
        """Every event that has an entry."""
        return tuple(
            dict.fromkeys(name for state in self._sets.values() for name, event in state.events.items() if event.cpus)
        )

    @property
    def cpus(self) -> tuple[int, ...]:
        """Every CPU that has an entry; -1 stands for those that are not known."""
        return tuple(
            sorted({cpu for state in self._sets.values() for event in state.events.values() for cpu in event.cpus}),
        )

    def _state(self, event_set: Hashable, what: str) -> _Set:
        if event_set not in self._sets:
            raise PapiFailure(failure.ENOEVST, f"event set {event_set!r} cannot be {what}")
        return self._sets[event_set]

    def _reading(
        self,
        op: Op,
        state: _Set,
        cpu: int | None,
        values: Mapping[str, int],
        time: tuple[int, int],
        permanent: bool,
        event_set: Hashable,
    ) -> Reading:
        """Checked before anything is changed: a refused reading leaves the store as it was."""
        if not values or (state.counted and state.counted != values.keys()):
            raise PapiFailure(failure.EINVAL, f"{op} of event set {event_set!r} gave {_listed(values)}")
        timestamp = max(time[0], self._last + 1)
        moment = time[1] or timestamp
        return Reading(
            op=op,
            event_set=event_set,
            timestamp=timestamp,
            moment=moment,
            elapsed=moment - state.started,
            cpu=self._place(cpu),
            permanent=permanent,
            values=tuple(values.items()),
        )

    def _place(self, cpu: int | None) -> int:
        if cpu is None or cpu < 0:
            return UNKNOWN
        if self._known is None or cpu in self._known:
            return cpu
        warning = f"CPU {cpu} is not among those that are known: what it counted is kept as of an unknown CPU"
        if warning not in self.warnings:
            self.warnings.append(warning)
        return UNKNOWN

    def _note(self, reading: Reading) -> None:
        if self._writes_journal:
            self.journal.append(reading)

    def _done(self, state: _Set, reading: Reading) -> int:
        self._last = reading.timestamp
        self.latest_cpu = state.latest_cpu = reading.cpu
        state.counted = frozenset(event for event, _ in reading.values)
        for event in state.counted:
            state.events[event].latest = reading.timestamp
        self._note(reading)
        return reading.timestamp


def _read(state: _Set, reading: Reading) -> None:
    """READ: new value = raw value without what other CPUs hold of the latest reading for the time being."""
    for name, raw in reading.values:
        event = state.events.setdefault(name, _Event())
        if event.fresh:
            _drop_temporary(event)
        on_other_cpus = 0
        for entries in _others(event, reading.cpu):
            if not entries[-1].permanent:
                on_other_cpus += entries[-1].value
                _move(entries, reading.timestamp)
        _put(event.cpus, reading, raw - on_other_cpus)


def _accumulate(state: _Set, reading: Reading) -> None:
    """ACCUM: new value = raw value on top of what the CPU has, and of what others made permanent just before."""
    for name, raw in reading.values:
        event = state.events.setdefault(name, _Event())
        event.fresh = True
        amount = raw
        for entries in _others(event, reading.cpu):
            if entries[-1].permanent:
                amount += entries[-1].value
            else:
                _move(entries, reading.timestamp)
        own_entries = event.cpus.get(reading.cpu)
        if own_entries and (not own_entries[-1].permanent or own_entries[-1].timestamp == event.latest):
            amount += own_entries[-1].value
        _put(event.cpus, reading, amount)


def _others(event: _Event, cpu: int) -> list[list[PerfEntry]]:
    """The entries of each other CPU that was part of the latest reading."""
    return [entries for other, entries in event.cpus.items() if other != cpu and entries[-1].timestamp == event.latest]


def _move(entries: list[PerfEntry], timestamp: int) -> None:
    entries[-1] = attrs.evolve(entries[-1], timestamp=timestamp)


def _put(cpus: dict[int, list[PerfEntry]], reading: Reading, value: int) -> None:
    entries = cpus.setdefault(reading.cpu, [])
    if entries and not entries[-1].permanent:
        entries.pop()
    entries.append(PerfEntry(reading.timestamp, value, reading.permanent))


def _drop_temporary(event: _Event) -> None:
    for cpu, entries in list(event.cpus.items()):
        if not entries[-1].permanent:
            entries.pop()
        if not entries:
            del event.cpus[cpu]
    event.fresh = False


def _at(entries: list[PerfEntry], timestamp: int) -> list[PerfEntry]:
    """The newest entry of this timestamp, if there is one."""
    return next(([entry] for entry in reversed(entries) if entry.timestamp == timestamp), [])


def _listed(values: Mapping[str, int]) -> str:
    return f"values of {', '.join(values)} where others were read before" if values else "no values"
