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


class Reducer:
    """Takes the readings of a run one by one. `snapshots` has one for each reading that was asked for; their sum is
    what the whole run counted."""

    def __init__(self, groups: Sequence[Group], cpus: Collection[int] | None) -> None:
        self.snapshots: list[Snapshot] = []
        self._groups = groups
        self._metrics = Metrics(cpus, journal=False)
        self._before: dict[tuple[int, str], int] = {}

    @property
    def warnings(self) -> Sequence[str]:
        return self._metrics.warnings

    def take(self, sample: Sample) -> None:
        for group, stream, cpu, values in sample.values:
            name = (group, stream)
            if name not in self._metrics.event_sets:
                self._metrics.start(event_set=name)
            operation = self._metrics.stop if sample.last else self._metrics.read
            named = dict(zip(self._groups[group].events, values, strict=True))
            operation(self._place(name, cpu), named, timestamp=sample.timestamp, event_set=name)
        if sample.kept:
            self._keep(sample)

    def _keep(self, sample: Sample) -> None:
        totals = {
            (cpu, event): value for event in self._metrics.events for cpu, value in self._metrics.by_cpu(event).items()
        }
        counts: dict[int, dict[str, int]] = {}
        for (cpu, event), value in totals.items():
            counts.setdefault(cpu, {})[event] = value - self._before.get((cpu, event), 0)
        self.snapshots.append(Snapshot(timestamp=sample.timestamp, elapsed=sample.elapsed, counts=counts))
        self._before = totals

    def _place(self, name: tuple[int, int], cpu: int) -> int:
        """A thread that is no more was last on the CPU where it was seen last."""
        return cpu if cpu != UNKNOWN else self._metrics.latest_cpu_of(name)
