"""Measures two jobs in turn until their difference is known: batch after batch, with a look in between.

Each batch is a plan of its own, which no executor splits. Its runs count as pairs by session and block, so the
batches of a comparison are one sample of several profiles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

import attrs

from perfcore.analysis import sequential
from perfcore.analysis.pairing import measured_runs
from perfcore.errors import CommandFailedError
from perfcore.model import Change, Job, Measured, Profile, Sample

Measure = Callable[[Mapping[str, Any]], Sequence[Measured]]
Samples = tuple[Sample, Sample]
Decide = Callable[[Samples, float], tuple[Sequence[Change], float]]
Reason = Literal["decided", "hopeless", "pairs", "budget"]

SHORT = 0.5  # seconds of a pair below which every batch is warmed up, for it begins after a pause
_DECIDED = ("degradation", "optimization", "same")


@attrs.frozen(kw_only=True)
class Effort:
    """How many pairs and how many seconds a comparison may take at most."""

    pairs: int
    seconds: float


@attrs.frozen(kw_only=True)
class Look:
    """What is known at one look. `stopped` says why it is the last one; `share` is what was spent of the chance of a
    false alarm so far."""

    samples: Samples
    changes: tuple[Change, ...]
    pairs: int
    seconds: float
    share: float
    number: int
    stopped: Reason | None = None


def compare(
    jobs: tuple[Job, Job],
    measure: Measure,
    decide: Decide,
    effort: Effort,
    clock: Callable[[], float],
) -> Iterator[Look]:
    """A look after each batch, up to the one that decides or the end of the effort.

    `measure(schedule)` takes the runs of one batch, `decide(samples, share)` gives the verdicts, that on the metric
    which decides first, and the smallest change of it that matters. `clock` gives seconds.
    """
    start, spent, taken = clock(), 0.0, _Taken(jobs)
    tried = measure(_schedule(1))  # warms both up, and shows how long a pair takes
    taken.try_out(tried, counts=2 * (clock() - start) > effort.seconds)
    if exact := _decided_by_one_pair(jobs, tried, decide):
        samples, changes = exact
        yield Look(
            samples=samples, changes=changes, pairs=1, seconds=clock() - start, share=0.0, number=1, stopped="decided"
        )
        return
    planned = sequential.looks(effort.pairs)
    for number, (pairs, share) in enumerate(zip(planned, sequential.shares(len(planned)), strict=True), 1):
        while taken.pairs < pairs:
            batch = _batch(pairs - taken.pairs, taken, clock() - start, effort)
            if not batch:
                break
            taken.add(measure(batch))
        late = taken.pairs < pairs
        if late:
            share = 1 - spent  # nothing will come after it
        spent += share
        found, smallest = decide(taken.samples, share)
        changes = tuple(found)
        why = reason(changes, smallest, late=late, last=late or pairs == planned[-1])
        yield Look(
            samples=taken.samples,
            changes=changes,
            pairs=taken.pairs,
            seconds=clock() - start,
            share=spent,
            number=number,
            stopped=why,
        )
        if why:
            return


@attrs.define
class _Taken:
    """The profiles of both jobs so far."""

    jobs: tuple[Job, Job]
    profiles: tuple[tuple[Profile, ...], tuple[Profile, ...]] = ((), ())
    pairs: int = 0
    left_out: int = 0

    def try_out(self, measured: Sequence[Measured], *, counts: bool) -> None:
        """The first pair, which counts only where there is no time for another."""
        if counts:
            self.add(measured)
        self.left_out = int(not counts)
        for one in measured:
            _profile(one)

    def add(self, measured: Sequence[Measured]) -> None:
        first, second = (_profile(one) for one in measured)
        self.profiles = (*self.profiles[0], first), (*self.profiles[1], second)
        self.pairs += min(measured_runs(first) or 0, measured_runs(second) or 0) or 1

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
    profiles = [_profile(each) for each in measured]
    exact = [
        {column.name for column in table.values() if column.spec.exact}
        if (table := profile.table("resources"))
        else set()
        for profile in profiles
    ]
    if not exact[0] & exact[1]:
        return None
    pair = _Taken(jobs)
    pair.add(measured)
    changes, _ = decide(pair.samples, 1.0)
    first = changes[0] if changes else None
    if first is None or first.metric not in exact[0] & exact[1] or first.kind not in _DECIDED:
        return None
    return pair.samples, tuple(changes)


def _profile(measured: Measured) -> Profile:
    if measured.profile is None:
        raise measured.error or CommandFailedError(f"{measured.job.label} was not measured")
    return measured.profile


def _batch(wanted: int, taken: _Taken, elapsed: float, effort: Effort) -> dict[str, Any]:
    """The schedule of the next batch; empty where the time is over. Disturbed runs are taken again as long as there are
    no more pairs than allowed."""
    each, left = elapsed / (taken.pairs + taken.left_out), effort.seconds - elapsed
    possible = int(left / each) if each > 0 else 2 * wanted
    count = min(wanted, possible)
    if count < 1:
        return {}
    again = min(max(1, count // 4), possible - count, effort.pairs - taken.pairs - count)
    return _schedule(count, retry_disturbed=again, warmup=int(each < SHORT))


def _schedule(repeat: int, retry_disturbed: int = 0, warmup: int = 0) -> dict[str, Any]:
    return {
        "order": "interleaved",
        "budget": None,
        "repeat": repeat,
        "retry_disturbed": retry_disturbed,
        "warmup": warmup,
    }


def reason(changes: Sequence[Change], smallest: float, *, late: bool, last: bool) -> Reason | None:
    """Why nothing more is to be measured, if so. The last look takes every verdict that the check gives."""
    first = changes[0] if changes else None
    if first is None or (first.kind == "cannot tell" and first.ratio is None and first.needed is None):
        return "hopeless"
    if sequential.settles(first, smallest) or (last and first.kind in _DECIDED):
        return "decided"
    return "budget" if late else "pairs" if last else None
