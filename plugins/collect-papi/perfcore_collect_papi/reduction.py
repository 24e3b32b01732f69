"""From the raw readings of a run to rows: by CPU, from one kept reading to the next."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import attrs

from perfcore_collect_papi.metrics import UNKNOWN, Metrics

if TYPE_CHECKING:
    from perfcore_collect_papi.launcher import Group, Sample


@attrs.frozen(kw_only=True)
class Snapshot:
    """What was counted between two kept readings, by CPU and event; CPU -1 is not known, or is all together."""

    timestamp: int
    elapsed: int
    counts: dict[int, dict[str, int]]


def snapshots(
    groups: Sequence[Group], samples: Sequence[Sample], cpus: Collection[int] | None
) -> tuple[list[Snapshot], Metrics]:
    """A snapshot for every reading that was asked for; their sum is what the whole run counted."""
    metrics = Metrics(cpus)
    before: dict[tuple[int, str], int] = {}
    made = []
    for sample in samples:
        _take(metrics, groups, sample, last=sample is samples[-1])
        if not sample.kept:
            continue
        now = _totals(metrics)
        counts: dict[int, dict[str, int]] = {}
        for (cpu, event), value in now.items():
            counts.setdefault(cpu, {})[event] = value - before.get((cpu, event), 0)
        made.append(Snapshot(timestamp=sample.timestamp, elapsed=sample.elapsed, counts=counts))
        before = now
    return made, metrics


def _take(metrics: Metrics, groups: Sequence[Group], sample: Sample, *, last: bool) -> None:
    for number, stream, cpu, values in sample.values:
        name = (number, stream)
        if name not in metrics.event_sets:
            metrics.start(event_set=name)
        operation = metrics.stop if last else metrics.read
        named = dict(zip(groups[number].events, values, strict=True))
        operation(_place(metrics, name, cpu), named, timestamp=sample.timestamp, event_set=name)


def _place(metrics: Metrics, name: tuple[int, int], cpu: int) -> int:
    """A thread that is no more was last on the CPU where it was seen last."""
    return cpu if cpu != UNKNOWN else metrics.latest_cpu_of(name)


def _totals(metrics: Metrics) -> dict[tuple[int, str], int]:
    """(CPU, event): value, of every set's latest reading."""
    found: dict[tuple[int, str], int] = {}
    for event in metrics.events:
        for cpu, value in metrics.by_cpu(event).items():
            found[cpu, event] = value
    return found
