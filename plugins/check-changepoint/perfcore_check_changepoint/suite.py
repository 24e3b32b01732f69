"""Many series that were measured on the same machines, version by version.

A machine that is slow for an hour, or replaced, moves everything that is measured on it; code seldom does. So the
series are taken apart into what they share and what is their own,

    log amount = own level + share * machine + noise,

where `machine` is one number per version, and `share` says how much a series feels it (a slow disk leaves a computation
alone). Only the machine's part is taken out: what a series moves by beyond it is its own change. Amounts that hardly
vary at all (instructions, sizes) do not depend on how fast a machine is, and have no part in it.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Sequence

import msgspec
import numpy as np
from msgspec.structs import replace

from perfcore_check_changepoint import detection
from perfcore_check_changepoint.machine import Common, Moved, common
from perfcore_check_changepoint.partition import Floats
from perfcore_check_changepoint.points import ChangePoint, Machine, Suite
from perfcore_check_changepoint.runs import Indexes, Point, Runs
from perfcore_check_changepoint.series import as_floats, median, medians, quantile

_LEAK = 0.35  # share of a step of the machine by which a series may move more than that
_DRIFT_LEAK = 0.6  # the same of a drift, of which few series tell the share worse
_BESIDE = 3  # versions that these may be apart
SMALL = 6  # series from which on the mean of all shows the steps of the machine by itself
# Half of a suite may run on a machine that was replaced. Some of that half may not show it, by noise.
HALF = 0.45  # share of the series that moves together, from which on it may be the machine
_EXACT = 1e-4  # variation of amounts that do not depend on the machine's speed
_MOSTLY = 0.8  # share of versions that vary by no more
_FALSE = 0.05  # false discovery rate (Benjamini and Hochberg, 1995)
_LARGEST = 700.0  # logarithm of a ratio: exp(709) is the largest float


def never(step: ChangePoint) -> bool:
    """No step is known to be the code's."""
    return False


def detect_many(
    series: Sequence[Sequence[Point]],
    *,
    penalty: float,
    confidence: float,
    is_code: Callable[[ChangePoint], bool] = never,
    machines: Sequence[Indexes | None] = (),
) -> Suite:
    """The change points of series over the same versions: `series[i][j]` was measured for version j, and is NaN or an
    empty sequence where nothing was. What they share is the machine's, and what is left is the code's. `is_code` says
    of a step that they share whether the machine is known to be the same on both sides: then every series keeps it.
    `machines` are those of the runs of each series, where several measured it."""
    if len({len(values) for values in series}) > 1:
        raise ValueError("series over the same versions have the same length")
    scaled = [_Scaled.of(values) for values in series]
    if not scaled:
        return Suite(changes=(), machine=Machine())
    centers, voting = np.array([member.centers for member in scaled]), np.array([member.votes for member in scaled])
    machine = _without_steps(common(centers, voting, penalty, confidence), is_code)
    detected = functools.partial(_detected, scaled, machines or [None] * len(scaled), penalty, confidence)
    residual_changes = detected(machine.parts)
    parts = zip(residual_changes, machine.shares.tolist(), machine.sure.tolist(), voting.tolist(), strict=True)
    own_changes = _credible(
        [
            list(_own(changes, share, sure, machine.steps, machine.drifts)) if votes else changes
            for changes, share, sure, votes in parts
        ]
    )
    if 1 < voting.sum() < SMALL:
        own_changes = [
            [change for change in changes if change.kind != "level" or _alike(change, seen) is not None]
            for changes, seen in zip(own_changes, detected(np.zeros(centers.shape)), strict=True)
        ]
    own_changes, shared = _without_shared(own_changes, np.flatnonzero(voting).tolist(), is_code)
    if shared:
        steps = sorted((*machine.steps, *shared), key=lambda moved: moved.change.index)
        machine = replace(machine, steps=tuple(steps))
    amounts = (tuple(map(member.amounts, changes)) for member, changes in zip(scaled, own_changes, strict=True))
    return Suite(changes=tuple(amounts), machine=_described(machine))


def _detected(
    scaled: Sequence[_Scaled], machines: Sequence[Indexes | None], penalty: float, confidence: float, parts: Floats
) -> list[list[ChangePoint]]:
    """The changes of every series without its part in the machine."""
    return [
        detection.detect_in(member.without(part, of_runs), penalty=penalty, confidence=confidence)
        for member, of_runs, part in zip(scaled, machines, parts, strict=True)
    ]


def _without_steps(machine: Common, is_code: Callable[[ChangePoint], bool]) -> Common:
    """The shared part without the steps and drifts that are the code's, so that they stay in the series."""
    factor, parts = machine.factor.copy(), machine.parts.copy()
    code = [moved.change for moved in (*machine.steps, *machine.drifts) if is_code(moved.change)]
    for change in code:
        first, last = change.index - 1, change.index if change.until is None else change.until
        growth = np.clip((np.arange(len(factor)) - first) / (last - first), 0.0, 1.0) * change.size
        growth -= np.median(growth)  # the typical amount stays what it is
        factor -= growth
        parts -= machine.shares[:, None] * growth
    steps, drifts = (
        tuple(moved for moved in kind if moved.change not in code) for kind in (machine.steps, machine.drifts)
    )
    return replace(machine, factor=factor, parts=parts, steps=steps, drifts=drifts) if code else machine


class _Scaled(msgspec.Struct, frozen=True, eq=False):
    """A series as logarithms where all amounts are positive, else as shares of a typical one: its runs one after the
    other, how many each version has, and their medians, NaN where there is none."""

    runs: Floats
    counts: Indexes
    centers: Floats
    logarithmic: bool
    typical: float

    @classmethod
    def of(cls, values: Sequence[Point]) -> _Scaled:
        flat = Runs.of(values)
        amounts = as_floats(flat.amounts)
        logarithmic = bool(len(amounts)) and float(amounts.min()) > 0
        typical = 1.0 if logarithmic else _typical(amounts)
        runs = np.log(amounts) if logarithmic else amounts / typical
        return cls(runs, flat.counts, _centers(runs, flat.counts), logarithmic, typical)

    @property
    def votes(self) -> bool:
        """Whether the machine's speed is in it. It is in no amounts that hardly vary in the runs of a version or, where
        it has one, from version to version, as counters and sizes; nor are amounts of zero and less times of anything.
        """
        if not self.logarithmic:
            return False
        first = self.counts.cumsum() - self.counts
        several = first[self.counts > 1]
        spans = np.abs(np.diff(self.centers[self.counts > 0]))
        if len(several):
            starts = first[self.counts > 0]  # of a version without runs there is nothing to reduce
            ranges = np.maximum.reduceat(self.runs, starts) - np.minimum.reduceat(self.runs, starts)
            spans = ranges[self.counts[self.counts > 0] > 1]
        return bool(len(spans)) and quantile(spans, _MOSTLY) > _EXACT

    def without(self, machine: Floats, machines: Indexes | None) -> Runs:
        """The series as it would be on a machine that is always the same; `machines` are those of its runs."""
        runs = Runs.of_floats(self.runs - np.repeat(machine, self.counts), self.counts)
        return replace(runs, machines=machines)

    def amounts(self, change: ChangePoint) -> ChangePoint:
        """The change in amounts again."""
        if not self.logarithmic:
            return _times(change, self.typical)
        if change.kind == "noise":
            middle = median(self.runs)
            return _times(change, _exp(middle))
        before = _exp(change.before)
        return replace(
            change,
            before=before,
            after=_exp(change.after),
            low=before * (_exp(change.low) - 1),
            high=before * (_exp(change.high) - 1),
        )


def _centers(runs: Floats, counts: Indexes) -> Floats:
    """The medians of the versions, NaN of those that were not measured."""
    centers, measured = np.full(len(counts), math.nan), np.flatnonzero(counts)
    lengths = counts[measured]
    centers[measured] = medians(runs, lengths.cumsum() - lengths, np.repeat(measured, lengths))
    return centers


def _typical(amounts: Floats) -> float:
    sizes = np.abs(amounts)
    return median(sizes[sizes > 0]) if sizes.any() else 1.0


def _times(change: ChangePoint, factor: float) -> ChangePoint:
    return replace(
        change,
        before=change.before * factor,
        after=change.after * factor,
        low=change.low * factor,
        high=change.high * factor,
    )


def _exp(logarithm: float) -> float:
    return math.exp(min(logarithm, _LARGEST))


def _own(
    changes: Sequence[ChangePoint], share: float, sure: bool, steps: Sequence[Moved], drifts: Sequence[Moved]
) -> Iterator[ChangePoint]:
    """The changes of a series without its part in the steps and drifts of the machine."""
    for change in changes:
        if change.until is not None and any(_is_part(change, moved.change) for moved in drifts):
            continue
        remainder: ChangePoint | None = change
        for step in (moved.change for moved in steps if change.kind == "level"):
            if remainder is not None and _is_remainder(remainder, step):
                remainder = None
            elif remainder is not None and not sure and remainder.may_be_with(step):
                remainder = _beyond(remainder, share * step.size, step.size)
        if remainder is not None:
            yield remainder


def _is_part(drift: ChangePoint, shared: ChangePoint) -> bool:
    """Whether the drift of a series may be what its share in that of the machine was told wrong by."""
    assert drift.until is not None
    assert shared.until is not None
    is_within = drift.index <= shared.until and shared.index <= drift.until
    return is_within and abs(drift.size) < _DRIFT_LEAK * abs(shared.size)


def _is_remainder(change: ChangePoint, step: ChangePoint) -> bool:
    """Whether a change may be at the place of a much larger one of the machine."""
    near = change.earliest - _BESIDE <= step.index <= change.latest + _BESIDE
    return near and abs(change.size) < _LEAK * abs(step.size)


def _beyond(change: ChangePoint, taken: float, step: float) -> ChangePoint | None:
    """The change of a series beyond a step of the machine, of which its share is uncertain, and `taken` is
    out of it already. Nothing is its own where it moved as the machine did, by no more than that and some; one that
    moved the other way did all of that itself."""
    moved, doubt = change.size + taken, (change.high - change.low) / 2
    along = moved if step > 0 else -moved
    if -doubt <= along <= (1 + _LEAK) * abs(step):
        return None
    return _sized(change, moved if along < 0 else moved - step)


def _sized(change: ChangePoint, size: float) -> ChangePoint:
    difference = size - change.size
    return replace(change, after=change.before + size, low=change.low + difference, high=change.high + difference)


def _credible(found: list[list[ChangePoint]]) -> list[list[ChangePoint]]:
    """The changes that are kept when so many series were looked at, so that a small share of them is false (Benjamini
    and Hochberg, 1995, JRSS B 57(1))."""
    p_values = sorted(change.p_value for changes in found for change in changes)
    tests = max(len(found), len(p_values))
    limits = [p for rank, p in enumerate(p_values, 1) if p <= _FALSE * rank / tests]
    limit = max(limits, default=-1.0)
    return [[change for change in changes if change.p_value <= limit] for changes in found]


def _without_shared(
    found: Sequence[Sequence[ChangePoint]],
    voting: Sequence[int],
    is_code: Callable[[ChangePoint], bool],
) -> tuple[list[list[ChangePoint]], list[Moved]]:
    """The changes without those that half of the series show at once and in one direction, or most of a small suite,
    and these as steps of the machine. The mean of few series is too noisy to show every step of the machine, and a
    machine that measures half of a suite moves no mean: what is missed is left in the series."""
    left, steps = [list(changes) for changes in found], list[Moved]()
    needed = math.floor(len(voting) / 2) + 1 if len(voting) < SMALL else math.ceil(HALF * len(voting))
    changes = (change for series in voting for change in found[series] if change.kind == "level")
    for change in sorted(changes, key=lambda change: change.p_value):
        alike = {series: same for series in voting if (same := _at_once(change, left[series])) is not None}
        if change not in alike.values() or len(alike) < max(needed, 2) or is_code(change):
            continue
        for series, same in alike.items():
            left[series].remove(same)
        size = median(np.array([same.size for same in alike.values()]))
        half = (change.high - change.low) / 2
        step = replace(change, before=0.0, after=size, low=size - half, high=size + half)
        steps.append(Moved(step, tuple(alike), len(voting)))
    return left, steps


def _alike(change: ChangePoint, changes: Sequence[ChangePoint]) -> ChangePoint | None:
    """The change of another series that may be the same step, if there is one."""
    return next(
        (
            other
            for other in changes
            if other.kind == change.kind == "level"
            and abs(other.index - change.index) <= _BESIDE
            and (other.size > 0) == (change.size > 0)
        ),
        None,
    )


def _at_once(change: ChangePoint, changes: Sequence[ChangePoint]) -> ChangePoint | None:
    """The change of another series that may have come with the same version, if there is one: what comes with the next
    one is another."""
    return _alike(change, [same for same in changes if same.may_be_with(change)])


def _described(found: Common) -> Machine:
    changes = sorted((*found.steps, *found.drifts), key=lambda moved: moved.change.index)
    return Machine(
        changes=tuple(_factors(moved.change) for moved in changes),
        disturbed=found.disturbed,
        factor=tuple(map(_exp, found.factor.tolist())),
        moved=tuple(moved.series for moved in changes),
        measured=tuple(moved.measured for moved in changes),
    )


def _factors(change: ChangePoint) -> ChangePoint:
    """A step of the machine as one of the factor on amounts."""
    before = _exp(change.before)
    return replace(
        change,
        before=before,
        after=_exp(change.after),
        low=before * (_exp(change.low) - 1),
        high=before * (_exp(change.high) - 1),
    )
