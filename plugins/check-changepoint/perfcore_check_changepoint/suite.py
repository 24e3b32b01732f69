"""Many series that were measured on the same machines, version by version.

A machine that is slow for an hour, or replaced, moves everything that is measured on it; code seldom does. So the
series are taken apart into what they share and what is their own,

    log amount = own level + share * machine + noise,

where `machine` is one number per version, and `share` says how much a series feels it (a slow disk leaves a computation
alone). The machine is a weighted mean over the series in which those that lie far off count for little (Huber, 1964,
Annals of Mathematical Statistics 35(1)), so that changes of code in a minority of them stay out of it. Shares come from
differences of neighbouring versions, which a change of the code touches once only. Levels come from a partition of
the series without the machine; they in turn sharpen the machine's part, and so all of it is done a few times.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise

import attrs
import numpy as np

from perfcore_check_changepoint import detection, model
from perfcore_check_changepoint.partition import Floats
from perfcore_check_changepoint.points import ChangePoint, Machine, Suite
from perfcore_check_changepoint.runs import Indexes, Point, Runs
from perfcore_check_changepoint.series import NORMAL, as_float, median, medians, read

FEWEST = 6  # series that are needed to tell the machine from the code
TOGETHER = 0.3  # share of the series that change in one version if the machine does
_LEAK = 0.35  # share of a change of the machine that may be left in a series
_BESIDE = 2  # versions that these changes may be apart
_ROUNDS = 4
_HUBER = 1.345  # spreads from which on a series counts less: 95 % efficient for normal noise
_STRAY = 4.0  # spreads from which on the machine was disturbed
_FALSE = 0.05  # share of all that is found that may be false
_LARGEST = 700.0  # logarithm of a float


def detect_many(series: Sequence[Sequence[Point]], *, penalty: float, confidence: float) -> Suite:
    """The change points of series over the same versions: `series[i][j]` was measured for version j, and is NaN or an
    empty sequence where nothing was. What they share is the machine's, and what is left is the code's."""
    if len({len(values) for values in series}) > 1:
        raise ValueError("series over the same versions have the same length")
    scaled = [_Scaled.of(values) for values in series]
    machine, shares = _machine(scaled, penalty)
    left = [one.without(machine, share) for one, share in zip(scaled, shares, strict=True)]
    found = [detection.detect(values, penalty=penalty, confidence=confidence) for values in left]
    replaced = [
        change
        for change in detection.detect(machine.tolist(), penalty=penalty, confidence=confidence)
        if change.kind == "level"
    ]
    own = _credible(_own(found, replaced))
    amounts = (tuple(map(one.amounts, changes)) for one, changes in zip(scaled, own, strict=True))
    return Suite(changes=tuple(amounts), machine=_described(machine, replaced))


@attrs.frozen(eq=False)
class _Scaled:
    """A series as logarithms where all amounts are positive, else as shares of a typical one: its runs one after the
    other, how many each version has, and their medians, NaN where there is none."""

    runs: Floats
    counts: Indexes
    centers: Floats
    logarithmic: bool
    typical: float

    @classmethod
    def of(cls, values: Sequence[Point]) -> _Scaled:
        given = Runs.of(values)
        amounts = _floats(given.amounts)
        logarithmic = bool(len(amounts)) and float(amounts.min()) > 0
        typical = 1.0 if logarithmic else _typical(amounts)
        runs = np.log(amounts) if logarithmic else amounts / typical
        return cls(runs, given.counts, _centers(runs, given.counts), logarithmic, typical)

    def without(self, machine: Floats, share: float) -> list[Point]:
        """The series as it would be on a machine that is always the same."""
        runs = self.runs - share * np.repeat(machine, self.counts)
        if self.counts.max(initial=0) > 1:
            return [tuple(some.tolist()) for some in _split(runs, self.counts)]
        plain = np.full(len(self.counts), math.nan)
        plain[self.counts > 0] = runs
        return list(plain.tolist())

    def amounts(self, change: ChangePoint) -> ChangePoint:
        """The change in amounts again."""
        if not self.logarithmic:
            return _times(change, self.typical)
        if change.kind == "noise":
            middle = median(self.runs)
            return _times(change, _exp(middle))
        before = _exp(change.before)
        return attrs.evolve(
            change,
            before=before,
            after=_exp(change.after),
            low=before * (_exp(change.low) - 1),
            high=before * (_exp(change.high) - 1),
        )


def _floats(amounts: Sequence[float]) -> Floats:
    return amounts if isinstance(amounts, np.ndarray) else np.array([as_float(amount) for amount in amounts])


def _centers(runs: Floats, counts: Indexes) -> Floats:
    """The medians of the versions, NaN of those that were not measured."""
    centers, there = np.full(len(counts), math.nan), np.flatnonzero(counts)
    lengths = counts[there]
    centers[there] = medians(runs, lengths.cumsum() - lengths, np.repeat(there, lengths))
    return centers


def _typical(amounts: Floats) -> float:
    sizes = np.abs(amounts)
    return median(sizes[sizes > 0]) if sizes.any() else 1.0


def _split(runs: Floats, counts: Indexes) -> list[Floats]:
    return np.split(runs, np.cumsum(counts)[:-1]) if len(counts) else []


def _times(change: ChangePoint, factor: float) -> ChangePoint:
    return attrs.evolve(
        change,
        before=change.before * factor,
        after=change.after * factor,
        low=change.low * factor,
        high=change.high * factor,
    )


def _exp(logarithm: float) -> float:
    return math.exp(min(logarithm, _LARGEST))


def _machine(scaled: Sequence[_Scaled], penalty: float) -> tuple[Floats, list[float]]:
    """What all series share, and how much of it each one has; nothing where they are few."""
    versions = len(scaled[0].counts) if scaled else 0
    if len(scaled) < FEWEST or versions < detection.SHORTEST:
        return np.zeros(versions), [0.0] * len(scaled)
    centers = np.array([one.centers for one in scaled])
    own = np.array([_middle(row) for row in centers])[:, None]
    machine = _weighted_medians(centers - own, np.ones(len(scaled)))
    shares = np.ones(len(scaled))
    for last in [False] * (_ROUNDS - 1) + [True]:
        shares = np.array([_share(row, machine) for row in centers])
        if not last:
            left = centers - shares[:, None] * machine
            levels = np.array([_levels(row, penalty) for row in left])
            machine = _shared(centers - levels, shares, _spreads(left - levels))
    return machine, shares.tolist()


def _middle(row: Floats) -> float:
    there = row[np.isfinite(row)]
    return median(there) if len(there) else 0.0


def _share(row: Floats, machine: Floats) -> float:
    """The slope of a series' differences over those of the machine, by least squares, once more without what
    lies far off. No series moves against the machine."""
    known = np.flatnonzero(np.isfinite(row))
    own, common = np.diff(row[known]), np.diff(machine[known])
    power = float(common @ common)
    if not power:
        return 0.0
    share = float(own @ common) / power
    for _ in range(2):
        left = np.abs(own - share * common)
        weight = np.minimum(1.0, 3 * NORMAL * median(left) / np.maximum(left, 1e-300))
        power = float((weight * common) @ common)
        share = float((weight * own) @ common) / power if power else 0.0
    return min(max(share, 0.0), 3.0)


def _levels(row: Floats, penalty: float) -> Floats:
    """The level of a series at every version, found quickly."""
    points = read(Runs.of(row.tolist()))
    if points is None or len(points) < detection.SHORTEST:
        return np.full(len(row), _middle(row))
    starts = points.where[model.quick(points, penalty)]
    bounds = [0, *starts.tolist(), len(row)]
    levels = [_middle(row[start:end]) for start, end in pairwise(bounds)]
    return np.repeat(levels, np.diff(bounds))


def _spreads(left: Floats) -> Floats:
    """The noise of every series; none is taken for much more exact than most, or it would be the machine."""
    spreads = np.array([_middle(np.abs(row)) for row in left]) * NORMAL
    return np.maximum(spreads, max(0.5 * median(spreads), 1e-12))


def _shared(left: Floats, shares: Floats, spreads: Floats) -> Floats:
    """The machine, from what the levels leave open."""
    shares = np.maximum(shares, 1e-3)
    machine = _weighted_medians(left / shares[:, None], shares / spreads)
    there = np.isfinite(left)
    known = np.where(there, left, 0.0)
    for _ in range(3):
        off = np.abs(known - shares[:, None] * machine) / spreads[:, None]
        weight = there * np.minimum(1.0, _HUBER / np.maximum(off, 1e-300)) * (off < 6)
        parts = weight * (shares / spreads**2)[:, None]
        total = (parts * shares[:, None]).sum(axis=0)
        machine = np.where(total > 0, (parts * known).sum(axis=0) / np.maximum(total, 1e-300), machine)
    machine[there.sum(axis=0) < FEWEST] = 0.0
    return machine


def _weighted_medians(values: Floats, weights: Floats) -> Floats:
    """The median of every column, of what is there."""
    there = np.isfinite(values)
    known = np.where(there, values, np.inf)
    order = known.argsort(axis=0)
    sums = np.take_along_axis(there * weights[:, None], order, axis=0).cumsum(axis=0)
    place = (sums >= sums[-1] / 2).argmax(axis=0)
    medians = np.take_along_axis(known, np.take_along_axis(order, place[None], axis=0), axis=0)[0]
    return np.where(np.isfinite(medians), medians, 0.0)


def _own(found: Sequence[Sequence[ChangePoint]], replaced: Sequence[ChangePoint]) -> list[list[ChangePoint]]:
    """What is left when changes are taken out that many series have at once, or that are a remainder of a change of
    the machine at the same place."""
    together = _together(found)
    return [
        [change for change in changes if change.index not in together and not _is_remainder(change, replaced)]
        for changes in found
    ]


def _together(found: Sequence[Sequence[ChangePoint]]) -> set[int]:
    if len(found) < FEWEST:
        return set()
    counted: dict[int, int] = {}
    for changes in found:
        for index in {change.index + by for change in changes for by in (-1, 0, 1)}:
            counted[index] = counted.get(index, 0) + 1
    return {index for index, count in counted.items() if count >= max(TOGETHER * len(found), 3)}


def _is_remainder(change: ChangePoint, replaced: Sequence[ChangePoint]) -> bool:
    """Whether a change may be at the place of a much larger one of the machine."""
    return change.kind == "level" and any(
        change.earliest - _BESIDE <= other.index <= change.latest + _BESIDE
        and abs(change.size) < _LEAK * abs(other.size)
        for other in replaced
    )


def _credible(found: list[list[ChangePoint]]) -> list[list[ChangePoint]]:
    """The changes that are kept when so many series were looked at, so that a small share of them is false (Benjamini
    and Hochberg, 1995, JRSS B 57(1))."""
    p_values = sorted(change.p_value for changes in found for change in changes)
    tests = max(len(found), len(p_values))
    limits = [p for number, p in enumerate(p_values, 1) if p <= _FALSE * number / tests]
    limit = max(limits, default=-1.0)
    return [[change for change in changes if change.p_value <= limit] for changes in found]


def _described(machine: Floats, replaced: Sequence[ChangePoint]) -> Machine:
    factors = tuple(map(_exp, machine.tolist()))
    changes = (
        attrs.evolve(c, before=_exp(c.before), after=_exp(c.after), low=_exp(c.low) - 1, high=_exp(c.high) - 1)
        for c in replaced
    )
    return Machine(changes=tuple(changes), disturbed=tuple(_disturbed(machine, replaced)), factor=factors)


def _disturbed(machine: Floats, replaced: Sequence[ChangePoint]) -> Iterator[int]:
    """The versions whose machine is far from what it is in the versions around."""
    bounds = [0, *(change.index for change in replaced), len(machine)]
    levels = [_middle(machine[start:end]) for start, end in pairwise(bounds)]
    off = np.abs(machine - np.repeat(levels, np.diff(bounds)))
    if len(off):
        yield from np.flatnonzero(off > max(_STRAY * NORMAL * median(off), 1e-9)).tolist()
