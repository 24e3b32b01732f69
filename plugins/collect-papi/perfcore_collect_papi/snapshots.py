"""The journal of a store as snapshots: what each set counted from one permanent reading to the next, by CPU.

What is read is credited to the CPU of that reading, whether it is permanent or not; so the snapshots of a run add up
to what the counters said at its last permanent reading, and the store's own entries, which are totals, need not be
taken apart. A START begins a run. What RESET threw away is in no snapshot.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable

import attrs

from perfcore_collect_papi.metrics import Reading


@attrs.frozen(kw_only=True)
class Snapshot:
    """What a set counted up to a permanent reading, since the one before; `elapsed` is nanoseconds since its START."""

    run: int
    event_set: Hashable
    timestamp: int
    elapsed: int
    counts: dict[int, dict[str, int]]


@attrs.define
class _Set:
    """Where a set stands. `zeroed` has the raw values of the reading before, from which the next one goes on."""

    run: int = -1
    zeroed: dict[str, int] = attrs.field(factory=dict)
    pending: dict[int, dict[str, int]] = attrs.field(factory=dict)

    def take(self, reading: Reading) -> None:
        counts = self.pending.setdefault(reading.cpu, {})
        for event, raw in reading.values:
            counts[event] = counts.get(event, 0) + raw - self.zeroed.get(event, 0)
        self.zeroed = {} if reading.op == "accum" else dict(reading.values)


def snapshots(journal: Iterable[Reading]) -> tuple[Snapshot, ...]:
    """One for each permanent reading, in their order."""
    sets: dict[Hashable, _Set] = {}
    taken: list[Snapshot] = []
    for reading in journal:
        state = sets.setdefault(reading.event_set, _Set())
        if reading.op in ("start", "reset"):
            state.run += reading.op == "start"
            state.zeroed, state.pending = {}, {}
            continue
        state.take(reading)
        if reading.permanent:
            fields = {"timestamp": reading.timestamp, "elapsed": reading.elapsed, "counts": state.pending}
            taken.append(Snapshot(run=state.run, event_set=reading.event_set, **fields))  # type: ignore[arg-type]
            state.pending = {}
    return tuple(taken)
