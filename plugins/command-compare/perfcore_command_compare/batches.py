"""Batches of interleaved runs of two jobs, with an interim look after each, until their difference is decided.

Each batch is a plan of its own, which no executor splits. Its runs count as pairs by session and block, so the
batches of a comparison are one sample of several profiles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import attrs

from perfcore.errors import CommandFailedError
from perfcore.model import Change, Job, Measured, Profile, Sample
from perfcore.profile import benchmarks
from perfcore_command_compare import sequential, suites
from perfcore_command_compare.request import Budget
from perfcore_command_compare.result import Reason

Measure = Callable[[Mapping[str, Any]], Sequence[Measured]]
Samples = tuple[Sample, Sample]
Decide = Callable[[Samples, float], tuple[Sequence[Change], float]]

# Seconds of a pair below which each batch gets a warm-up run: during the pause before a batch (the verdict of a look)
# caches cool and clock rates fall. A longer pair hardly notices, and its warm-up would cost more than it saves.
SHORT_PAIR = 0.5
_DECIDED = ("degradation", "optimization", "same")


@attrs.frozen(kw_only=True)
class Look:
    """The verdict at one look. `stopped` says why it is the last one; `share` is the part of the false-positive rate
    that was spent so far."""

    samples: Samples
    changes: tuple[Change, ...]
    pairs: int
    seconds: float
    share: float
    index: int
    stopped: Reason | None = None


def interim_looks(
    jobs: tuple[Job, Job],
    measure: Measure,
    decide: Decide,
    budget: Budget,
    clock: Callable[[], float],
) -> Iterator[Look]:
    """A look after each batch, up to the one that decides or the end of the budget.

    `measure(schedule)` measures one batch; `decide(samples, share)` gives the verdicts, that of the deciding metric
    first, and the smallest change of it that matters; `clock` gives seconds.
    """
    start, spent, batches = clock(), 0.0, _Batches(jobs)
    # The first pair also pays for cold file caches and lazy loading, so it counts only where there is no other.
    trial = measure(_schedule(1))  # warms both up, and shows how long a pair takes
    batches.add_trial(trial, counts=2 * (clock() - start) > budget.seconds)
    if exact := _decided_by_one_pair(jobs, trial, decide):
        samples, changes = exact
        yield Look(
            samples=samples, changes=changes, pairs=1, seconds=clock() - start, share=0.0, index=1, stopped="decided"
        )
        return
    schedule = sequential.looks(budget.pairs)
    for index, (pairs, share) in enumerate(zip(schedule, sequential.shares(len(schedule)), strict=True), 1):
        while batches.pairs < pairs:
            batch = _batch(pairs - batches.pairs, batches, clock() - start, budget)
            if not batch:
                break
            batches.add(measure(batch))
        late = batches.pairs < pairs
        if late:
            share = 1 - spent  # the last look spends the rest
        spent += share
        verdicts, smallest = decide(batches.samples, share)
        changes = tuple(verdicts)
        stopped = stop_reason(changes, smallest, late=late, last=late or pairs == schedule[-1])
        yield Look(
            samples=batches.samples,
            changes=changes,
            pairs=batches.pairs,
            seconds=clock() - start,
            share=spent,
            index=index,
            stopped=stopped,
        )
        if stopped:
            return


@attrs.define
class _Batches:
    """The profiles of both jobs so far."""

    jobs: tuple[Job, Job]
    profiles: tuple[tuple[Profile, ...], tuple[Profile, ...]] = ((), ())
    pairs: int = 0
    trials: int = 0

    def add_trial(self, measured: Sequence[Measured], *, counts: bool) -> None:
        """The first pair, which counts only if there is no time for another."""
        if counts:
            self.add(measured)
        self.trials = int(not counts)
        for measurement in measured:
            _profile(measurement)

    def add(self, measured: Sequence[Measured]) -> None:
        first, second = (_profile(measurement) for measurement in measured)
        self.profiles = (*self.profiles[0], first), (*self.profiles[1], second)
        self.pairs += min(first.measured_runs or 0, second.measured_runs or 0) or 1

    @property
    def samples(self) -> Samples:
        first, second = (
            Sample(version=job.version, profiles=profiles, dirty=job.dirty)
            for job, profiles in zip(self.jobs, self.profiles, strict=True)
        )
        return first, second


def _decided_by_one_pair(
    jobs: tuple[Job, Job], measured: Sequence[Measured], decide: Decide
) -> tuple[Samples, tuple[Change, ...]] | None:
    """The samples and verdicts of the first pair, if the metric that decides is declared exact. Such a verdict depends
    on no chance, so this look spends nothing of the false-positive rate. A warm-up changes no exact value either."""
    profiles = [_profile(measurement) for measurement in measured]
    exact = [
        {column.name for column in table.values() if column.spec.exact}
        if (table := profile.table("resources"))
        else set()
        for profile in profiles
    ]
    if not exact[0] & exact[1] or any(map(benchmarks.is_suite, profiles)):
        return None
    pair = _Batches(jobs)
    pair.add(measured)
    # The whole chance, since this look may spend it: exact values have no false alarms.
    changes, _ = decide(pair.samples, 1.0)
    first = changes[0] if changes else None
    if first is None or first.metric not in exact[0] & exact[1] or first.kind not in _DECIDED:
        return None
    return pair.samples, tuple(changes)


def _profile(measured: Measured) -> Profile:
    if measured.profile is None:
        raise measured.error or CommandFailedError(f"{measured.job.label} was not measured")
    return measured.profile


def _batch(missing: int, batches: _Batches, elapsed: float, budget: Budget) -> dict[str, Any]:
    """The schedule of the next batch; empty when the time is over. Disturbed runs are repeated up to a quarter of a
    batch, so that a machine which is never quiet cannot double the cost, and within the allowed number of pairs."""
    # Over everything so far, pauses included: what the budget is spent on.
    seconds_per_pair = elapsed / (batches.pairs + batches.trials)
    # A clock that stood still, as in tests: room for the batch and all its repeats.
    possible = int((budget.seconds - elapsed) / seconds_per_pair) if seconds_per_pair > 0 else 2 * missing
    count = min(missing, possible)
    if count < 1:
        return {}
    repeats = min(max(1, count // 4), possible - count, budget.pairs - batches.pairs - count)
    return _schedule(count, retry_disturbed=repeats, warmup=int(seconds_per_pair < SHORT_PAIR))


def _schedule(repeat: int, retry_disturbed: int = 0, warmup: int = 0) -> dict[str, Any]:
    return {
        "order": "interleaved",
        "budget": None,
        "repeat": repeat,
        "retry_disturbed": retry_disturbed,
        "warmup": warmup,
    }


def stop_reason(changes: Sequence[Change], smallest: float, *, late: bool, last: bool) -> Reason | None:
    """Why measuring ends here; None if it goes on. A suite goes on until each of its benchmarks is decided. The last
    look accepts every verdict of the check."""
    primary = suites.deciding(changes)
    if all(change.kind == "cannot tell" and change.ratio is None and change.needed is None for change in primary):
        return "hopeless"
    if all(sequential.settles(change, smallest) or (last and change.kind in _DECIDED) for change in primary):
        return "decided"
    return "budget" if late else "pairs" if last else None
