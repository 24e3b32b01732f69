"""Counters of a region of Python code, from inside the program.

    from perfcore_collect_papi import region

    with region("parse") as parsing:
        parse(text)
    print(parsing.counts)

    @region("compile")
    def compile_all(): ...

A region is a span of one thread. What is counted belongs to the CPU that the thread was on at its end (`sampled`).
Regions may stand within one another, those of one thread share a set of counters that runs from the start of the
outermost to its end.
"""

from __future__ import annotations

import contextlib
import functools
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar

import attrs

from perfcore.errors import PerfError, PluginError
from perfcore.named_tuple import NamedTuple
from perfcore_collect_papi.attribution import current_cpu
from perfcore_collect_papi.names import DEFAULT_EVENTS

if TYPE_CHECKING:
    from perfcore.model import Profile
    from perfcore.profile.table import Table
    from perfcore.store.pending import Pending
    from perfcore_collect_papi.choice import Choice

P = ParamSpec("P")
T = TypeVar("T")


class Counting(Protocol):
    """A set of counters that is started, read and stopped."""

    def start(self) -> None: ...
    def read(self) -> list[int]: ...
    def stop(self) -> list[int]: ...
    def close(self) -> None: ...


@attrs.frozen
class Events:
    """What the regions of a program count. Regions that stand within one another count the same."""

    events: tuple[str, ...] = DEFAULT_EVENTS
    threads: bool = False
    domain: str = "user"
    fallback: bool = False


class Pass(NamedTuple):
    """One time through a region: its name with those around it, CPU, wall time and counts."""

    path: str
    cpu: int
    started: int
    wall: int
    values: list[int]


def _nothing() -> None:
    """What starts no counters."""


@attrs.define
class _Thread:
    """The counters of a thread, and the regions that it is in: (region, name with those around it, moment,
    readings; none for the outermost, where the counters start). `start` and `stop` are those of the only set, or of
    all: a region should cost little more than they do."""

    what: Events | None = None
    sets: tuple[Counting, ...] = ()
    start: Callable[[], None] = _nothing
    stop: Callable[[], list[int]] = list
    inside: list[tuple[Region, str, int, list[int] | None]] = attrs.field(factory=list)

    def __del__(self) -> None:
        for counting in self.sets:
            counting.close()


class _Local(threading.local):
    """A value for each thread, made when the thread first asks."""

    def __init__(self) -> None:
        self.state = _Thread()


_local = _Local()


def _after_fork() -> None:
    """A fork has its parent's memory, and none of its counters."""
    global _local
    _local = _Local()


os.register_at_fork(after_in_child=_after_fork)


class Region:
    """A region by name: a context manager, and a decorator. It may be passed any number of times, by any thread;
    `passes` has them all. `fallback` counts what can be counted where there is no hardware."""

    def __init__(
        self,
        name: str,
        events: Sequence[str] = DEFAULT_EVENTS,
        *,
        threads: bool = False,
        domain: str = "user",
        fallback: bool = False,
    ) -> None:
        self.name = name
        self._taken: list[tuple[str, int, int, int, list[int]]] = []
        self._what = Events(tuple(dict.fromkeys(events)), threads, domain, fallback)

    def __enter__(self) -> Region:
        state = _local.state
        if state.inside or state.what is not self._what:
            self._enter(state)
            return self
        state.inside.append((self, self.name, time.perf_counter_ns(), None))
        try:
            state.start()
        except BaseException:
            state.inside.pop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        ended = time.perf_counter_ns()
        state = _local.state
        inside = state.inside
        if len(inside) != 1 or inside[0][0] is not self:
            self._leave(state, ended)
            return
        try:
            readings = state.stop()
        finally:
            began = inside.pop()[2]
        self._taken.append((self.name, current_cpu(), began, ended, readings))

    def _enter(self, state: _Thread) -> None:
        """For the first time in this thread, or within another region."""
        inside = state.inside
        if not inside:
            _prepare(state, self._what)
            state.what = self._what
            self.__enter__()
            return
        if state.what != self._what:
            raise PerfError(
                f"region {self.name!r} counts other events than {inside[0][0].name!r} around it",
                hint="give both the same events, threads, domain and fallback",
            )
        path = f"{inside[-1][1]}/{self.name}"
        inside.append((self, path, time.perf_counter_ns(), _read(state.sets)))

    def _leave(self, state: _Thread, now: int) -> None:
        """Within another region."""
        inside = state.inside
        if not inside or inside[-1][0] is not self:
            raise PerfError(
                f"region {self.name!r} ends where it did not begin",
                hint="a region is a span of one thread, and ends before those around it",
            )
        readings = _read(state.sets)
        _, path, began, before = inside.pop()
        if any(around is self for around, *_ in inside):  # of a recursion, the outermost counts it all
            return
        assert before is not None
        self._taken.append((path, current_cpu(), began, now, list(map(int.__sub__, readings, before))))

    def __call__(self, function: Callable[P, T]) -> Callable[P, T]:
        @functools.wraps(function)
        def counted(*args: P.args, **kwargs: P.kwargs) -> T:
            with self:
                return function(*args, **kwargs)

        return counted

    @property
    def passes(self) -> list[Pass]:
        """Every time through, in the order of their ends."""
        epoch = time.time_ns() - time.perf_counter_ns()
        return [
            Pass(path, cpu, epoch + began, ended - began, values) for path, cpu, began, ended, values in self._taken
        ]

    @property
    def events(self) -> tuple[str, ...]:
        """What is counted: with `fallback`, perhaps not what was asked for. Known from the first pass on."""
        return _chosen(self._what).events

    @property
    def counts(self) -> dict[str, int]:
        """The sum of all passes, by event; empty before the first."""
        sums = map(sum, zip(*(values for *_, values in self._taken), strict=True))
        return dict(zip(self.events, sums, strict=True)) if self._taken else {}

    @property
    def profile(self) -> Profile:
        """All passes as a profile; each is a run."""
        return _profile(self, {})

    def save(self, directory: Path | None = None) -> Pending:
        """Keep the profile as a pending one of the repository around a folder (this one)."""
        from perfcore_collect_papi.program_profile import save

        return save(lambda machine: _profile(self, machine), directory)


def region(
    name: str,
    events: Sequence[str] = DEFAULT_EVENTS,
    *,
    threads: bool = False,
    domain: str = "user",
    fallback: bool = False,
) -> Region:
    """A region to be entered with `with`, or to decorate a function with. `threads` counts the threads that are
    started inside too."""
    return Region(name, events, threads=threads, domain=domain, fallback=fallback)


def _profile(region: Region, machine: dict[str, Any]) -> Profile:
    from perfcore_collect_papi.program_profile import program_profile

    events, passes = region._what, region.passes
    choice = _chosen(events)
    params = {"region": region.name, "event": list(events.events), "domain": events.domain, "threads": events.threads}
    return program_profile(
        "region",
        region.name,
        choice,
        params,
        _tables(passes, choice),
        created=passes[0].started if passes else time.time_ns(),
        machine=machine,
        inherit=events.threads,
    )


def _tables(passes: Sequence[Pass], choice: Choice) -> dict[str, Table]:
    from perfcore.profile.recording import RUN, RUNS
    from perfcore.profile.table import ColumnSpec, TableBuilder
    from perfcore_collect_papi import derived, topology

    values = [ColumnSpec(event, "i64", choice.unit(event), "value") for event in choice.events]
    location_columns = [ColumnSpec("region", "str"), ColumnSpec("cpu", "i64")]
    resources = TableBuilder("resources", [RUN, *location_columns, *values, ColumnSpec("wall", "i64", "ns", "value")])
    runs, computed = TableBuilder("runs", RUNS), TableBuilder("derived", derived.COLUMNS)
    places = TableBuilder("topology", topology.COLUMNS)
    sets = [group.events for group in choice.groups]
    paths, cpus, started, walls, counted = (
        (list(column) for column in zip(*passes, strict=True)) if passes else [[]] * 5
    )
    numbers = range(len(passes))
    counts = dict(zip(choice.events, map(list, zip(*counted, strict=True)), strict=passes != []))
    known = [cpu if cpu >= 0 else None for cpu in cpus]
    resources.extend({"run": numbers, "region": paths, "cpu": known, "wall": walls, **counts})
    runs.extend(
        {"run": numbers, "started": started, "warmup": [False] * len(passes), "disturbed": [False] * len(passes)}
    )
    for metric, of, ratios in derived.by_run(sets, counts):
        computed.extend({"run": of, "metric": [metric] * len(of), "value": ratios, "estimate": [False] * len(of)})
    for hardware_thread in topology.of_system():
        places.add(**attrs.asdict(hardware_thread))
    return {table.name: table.build() for table in (resources, runs, computed, places)}


def _prepare(state: _Thread, what: Events) -> None:
    """The counters for these events, instead of those that the thread has for others."""
    if state.what == what:
        return
    for counting in state.sets:
        counting.close()
    state.sets, state.what = (), None
    state.sets = tuple(_opened(what))
    alone = state.sets[0] if len(state.sets) == 1 else _All(state.sets)
    state.start, state.stop, state.what = alone.start, alone.stop, what


@attrs.frozen
class _All:
    """Several sets."""

    sets: tuple[Counting, ...]

    def start(self) -> None:
        for counting in self.sets:
            counting.start()

    def stop(self) -> list[int]:
        return [value for counting in self.sets for value in counting.stop()]


def _opened(what: Events) -> Iterator[Counting]:
    choice = _chosen(what)
    for group in choice.groups:
        if group.source == "software":
            from perfcore_collect_papi.software import SoftwareSet

            yield SoftwareSet(group.events, inherit=what.threads, domain=what.domain)
            continue
        from perfcore_collect_papi import binding

        with _forced(choice.wanted.force):
            papi = binding.library()
        honest = group.source == "papi"
        yield binding.EventSet(
            papi, group.events, component=group.component, inherit=what.threads and honest, domain=what.domain
        )


@functools.cache
def _chosen(what: Events) -> Choice:
    """How the events are counted, found out in a process of its own. PluginError with the reason where they
    cannot be."""
    from perfcore_collect_papi import choice, diagnosis, launcher
    from perfcore_collect_papi.collector import PapiSettings
    from perfcore_collect_papi.wire import FailedError

    settings = PapiSettings(event=what.events, domain=what.domain, fallback=what.fallback, per_cpu=False)
    force = os.environ.get("LIBPFM_FORCE_PMU", "")
    request = launcher.Wanted(per_cpu=False, cpus=launcher.online(), domain=what.domain, force=force)
    try:
        found = choice.choose(settings, request, diagnosis.machine(), launcher.probe)
    except FailedError as error:
        raise PluginError(f"counting failed: {error.frame[-1]}") from error
    except PluginError as error:
        raise PluginError(error.message, hint=_as_written(error.hint or "")) from error
    if not found.groups:
        raise PluginError(found.notes[0], hint="a region cannot use the counts of ended processes")
    return attrs.evolve(found, attribution="sampled")


def _as_written(hint: str) -> str:
    """Options of the command line as arguments of a region; it does not multiplex."""
    hint = hint.removesuffix(", or use --multiplex (estimates)")
    return hint.replace("--fallback", "fallback=True").replace("--domain all", "domain='all'")


@contextlib.contextmanager
def _forced(pmu: str) -> Iterator[None]:
    """The variable that libpfm reads when PAPI is loaded, and nothing that the program starts should have."""
    before = os.environ.get("LIBPFM_FORCE_PMU")
    if pmu:
        os.environ["LIBPFM_FORCE_PMU"] = pmu
    try:
        yield
    finally:
        if before is None:
            os.environ.pop("LIBPFM_FORCE_PMU", None)


def _read(sets: Sequence[Counting]) -> list[int]:
    return sets[0].read() if len(sets) == 1 else [value for counting in sets for value in counting.read()]
