"""The profile of a store: a snapshot for each permanent reading, a row for each CPU of it, and what the cores, caches
and NUMA nodes of the machine counted together."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import attrs
from perfcore_collect_time import clock

from perfcore.errors import PerfError
from perfcore.profile.recording import RUN, RUNS
from perfcore.profile.table import ColumnSpec, TableBuilder
from perfcore_collect_papi import derived, topology
from perfcore_collect_papi.choice import Choice, source_of
from perfcore_collect_papi.launcher import Group, Wanted
from perfcore_collect_papi.program_profile import program_profile
from perfcore_collect_papi.snapshots import Snapshot, snapshots

if TYPE_CHECKING:
    from perfcore.model import Profile
    from perfcore.profile.table import Table
    from perfcore_collect_papi.attribution import Counted, PapiMetrics

_run = attrgetter("run")
ORDER = (RUN, ColumnSpec("snapshot", "i64", role="order"))
SNAPSHOTS = (*ORDER, ColumnSpec("time", "f64", "s", "order"), ColumnSpec("timestamp", "i64", "ns", "order"))
PARTS = (ColumnSpec("level", "str"), ColumnSpec("cpus", "str"), ColumnSpec("size", "i64", "B"))


def metrics_profile(metrics: PapiMetrics, name: str, machine: dict[str, Any]) -> Profile:
    """PerfError where nothing was read for good."""
    taken = snapshots(metrics.readings)
    if not taken:
        raise PerfError(
            "no reading of the store is permanent, so that its profile would be empty",
            hint="metrics.read(events, permanent=True), or accum or stop",
        )
    sets = [metrics.event_set(number) for number in dict.fromkeys(snapshot.event_set for snapshot in taken)]
    choice = _choice(sets)
    last = {snapshot.event_set: snapshot.timestamp for snapshot in taken}
    later = any(reading.values and reading.timestamp > last.get(reading.event_set, 0) for reading in metrics.readings)
    notes = [*metrics.metrics.warnings]
    if later:
        notes.append("readings after the last permanent one of their set are not in the profile")
    return program_profile(
        "metrics",
        name,
        choice,
        {"metrics": name, "event": list(choice.events), "domain": choice.wanted.domain},
        {**_tables(taken, choice, metrics.topology), **_clocks(taken, metrics.clocks)},
        created=metrics.readings[0].timestamp or time.time_ns(),
        machine=machine,
        inherit=any(counted.inherit for counted in sets),
        notes=tuple(notes),
    )


def _choice(sets: Sequence[Counted]) -> Choice:
    """How these sets count, in the words of a session."""
    groups = tuple(Group(source=counted.source, events=counted.events) for counted in sets)
    force = next((counted.forced for counted in sets if counted.forced), "")
    domains = {counted.domain for counted in sets}
    return Choice(
        wanted=Wanted(
            per_cpu=False,
            cpus=(),
            domain=domains.pop() if len(domains) == 1 else "mixed",
            multiplex=any(counted.multiplex for counted in sets),
            force=force,
        ),
        groups=groups,
        source=source_of(groups, force),
        attribution="kernel" if all(counted.cpu is not None for counted in sets) else "sampled",
        papi=next((counted.papi_version for counted in sets if counted.papi_version), None),
    )


def _tables(taken: Sequence[Snapshot], choice: Choice, cpus: Sequence[topology.Cpu]) -> dict[str, Table]:
    events = tuple(dict.fromkeys(choice.events))
    values = [ColumnSpec(event, "i64", choice.unit(event), "value") for event in events]
    resources = TableBuilder("resources", [*ORDER, ColumnSpec("cpu", "i64"), *values])
    moments, runs = TableBuilder("snapshots", SNAPSHOTS), TableBuilder("runs", RUNS)
    parts, places = TableBuilder("parts", [*ORDER, *PARTS, *values]), TableBuilder("topology", topology.COLUMNS)
    levels = [(level, part) for level in topology.LEVELS for part in topology.parts(cpus, level)]
    for number, snapshot in enumerate(taken):
        order = {"run": snapshot.run, "snapshot": number}
        moments.add(**order, time=snapshot.elapsed / 1e9, timestamp=snapshot.timestamp)
        for cpu, counts in sorted(snapshot.counts.items()):
            resources.add(**order, cpu=cpu if cpu >= 0 else None, **counts)
        for level, part in levels:
            if counts := total(snapshot.counts, part.cpus):
                members = topology.format_list(part.cpus)
                parts.add(**order, level=level, cpus=members, size=part.size, **counts)
    by_run = _by_run(taken)
    for run, of_run in by_run.items():
        started = min(snapshot.timestamp - snapshot.elapsed for snapshot in of_run)
        runs.add(run=run, started=started, warmup=False, disturbed=False)
    for hardware_thread in cpus:
        places.add(**attrs.asdict(hardware_thread))
    computed = _derived(by_run, choice)
    return {table.name: table.build() for table in (resources, runs, moments, parts, computed, places)}


def _clocks(taken: Sequence[Snapshot], clocks: Mapping[int, clock.Clock]) -> dict[str, Table]:
    """The clock of each run at the last of its permanent readings, where the machine tells it."""
    last = {snapshot.run: clocks[snapshot.timestamp] for snapshot in taken if snapshot.timestamp in clocks}
    table = TableBuilder(clock.TABLE, clock.COLUMNS)
    for run, state in sorted(last.items()):
        table.add(run=run, **state._asdict())
    return {clock.TABLE: table.build()} if last else {}


def _by_run(taken: Sequence[Snapshot]) -> dict[int, list[Snapshot]]:
    """The snapshots of each run, in the order of the runs."""
    return {run: [*group] for run, group in groupby(sorted(taken, key=_run), key=_run)}


def _derived(by_run: Mapping[int, Sequence[Snapshot]], choice: Choice) -> TableBuilder:
    table, sets = TableBuilder("derived", derived.COLUMNS), [group.events for group in choice.groups]
    for run, of_run in by_run.items():
        by_cpu: dict[int, dict[str, int]] = {}
        for snapshot in of_run:
            for cpu, counts in snapshot.counts.items():
                by_cpu[cpu] = total({0: by_cpu.get(cpu, {}), 1: counts}, (0, 1))
        rows: list[tuple[int | None, str, float]]
        rows = [(cpu, *pair) for cpu in sorted(by_cpu) if cpu >= 0 for pair in derived.ratios(sets, by_cpu[cpu])]
        rows += [(None, *pair) for pair in derived.ratios(sets, total(by_cpu, tuple(by_cpu)))]
        for cpu_or_none, metric, value in rows:
            table.add(run=run, cpu=cpu_or_none, metric=metric, value=value, estimate=choice.wanted.multiplex)
    return table


def total(counts: Mapping[int, Mapping[str, int]], cpus: Sequence[int]) -> dict[str, int]:
    """What some CPUs counted together; nothing where none of them counted."""
    sums: dict[str, int] = {}
    for cpu in cpus:
        for event, value in counts.get(cpu, {}).items():
            sums[event] = sums.get(event, 0) + value
    return sums
