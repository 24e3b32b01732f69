"""The part that series share which were measured on the same machines, version by version.

The machine is a weighted mean over the series in which those that lie far off count for little (Huber, 1964, Annals of
Mathematical Statistics 35(1)), so that changes of code in a minority of them stay out of it. Shares come from
differences of neighbouring versions, which a change of the code touches once only. Levels come from a partition of the
series without the machine; they in turn sharpen the machine's part, and so all of it is done a few times.

A step of that mean is the machine's where the median of the steps of all series, of those that stayed as well, is at
least half of it. Else some of them changed, and not the machine: then it is taken out of the mean again.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from msgspec.structs import replace

from perfcore_check_changepoint import detection, model
from perfcore_check_changepoint.partition import Floats
from perfcore_check_changepoint.points import ChangePoint
from perfcore_check_changepoint.runs import Indexes, Runs
from perfcore_check_changepoint.series import NORMAL, median, middles_of_ordered, read

if TYPE_CHECKING:
    from numpy.typing import NDArray

FEWEST = 2  # series that are needed to separate the machine from the code
_NEEDED = 2  # of them in one version
_MANY = 6  # series from which on half of them, and not all, have to be measured in a version
_ROUNDS = 4  # of levels and the machine's part in turn, a fixed number so that the time is bounded
_HUBER = 1.345  # spreads from which on a series counts less: 95 % efficient for normal noise
# 4 standard deviations of normal noise: 6 of 100,000 versions. 2 standard deviations: 5 %.
STRAY = 4.0  # spreads from which on the machine was disturbed
_MOVES = 6  # of the machine from which on a series' share in it is known
_ALIKE = 0.3  # standard deviation of the shares of series, as far as is known beforehand
_NEAR = 20  # versions on either side of a step that tell how large it is in a series
# Half of a step divides the series that moved with the machine from those that stayed.
_LARGEST = 10.0  # logarithms that the factor goes through, above which nothing is told of amounts
_ABOVE = 3.0  # spreads of the moves of a series, below which none of the machine tells its share
_ENDS = 6  # parts of a drift of which the first and the last tell how much a series grew
_MOVED = 0.5  # share of a step of the machine from which on a series moved with it
_SURE = 2.0  # standard deviations by which most series have to have moved


class Moved(msgspec.Struct, frozen=True, eq=False):
    """A step of the machine, as a change of its logarithm, and the series that moved with it, of so many that were
    measured on both sides."""

    change: ChangePoint
    series: tuple[int, ...] = ()
    measured: int = 0


class Common(msgspec.Struct, frozen=True, eq=False):
    """The shared part: the logarithm of the machine's factor at every version, NaN where it may be that before or that
    after a step; its part in every series (rows), estimated from the others; how much of it each has, and whether that
    is known from many of its moves; its steps and its drifts, and the versions in which it is far from its level."""

    factor: Floats
    parts: Floats
    shares: Floats
    sure: NDArray[np.bool_]
    steps: tuple[Moved, ...] = ()
    drifts: tuple[Moved, ...] = ()
    disturbed: tuple[int, ...] = ()


def common(centers: Floats, voting: NDArray[np.bool_], penalty: float, confidence: float) -> Common:
    """Of series (rows) over versions (columns), by those that vote; the others have no share in it. Nothing where few
    do, or in a version that few of them were measured in."""
    count, versions = centers.shape
    rows = centers[voting]
    enough = np.isfinite(rows).sum(axis=0) >= min(_MANY, max(_NEEDED, math.ceil(len(rows) / 2)))
    measured = np.flatnonzero(enough)
    if len(rows) < FEWEST or len(measured) < detection.SHORTEST:
        return Common(np.zeros(versions), np.zeros(centers.shape), np.zeros(count), np.zeros(count, dtype=bool))
    voters = rows[:, measured]
    factor, others, spreads = _estimated(voters, penalty)
    changes = _changes(factor, penalty, confidence)
    steps = [_located(factor, change) for change in changes if change.kind == "level"]
    judged = [
        _judged(voters, others, spreads, change, start, end) for change, start, end in _between(steps, len(measured))
    ]
    judged_drifts = [_judged_drift(voters, spreads, change) for change in changes if change.until is not None]
    drifts = [moved for moved in judged_drifts if moved is not None]
    machine_steps = [moved for moved in judged if moved is not None]
    for change, moved in zip(steps, judged, strict=True):
        if moved is None:
            factor[change.index :] -= change.size
            others[:, change.index :] -= change.size
    shares, moves = np.zeros(count), np.zeros(count)
    # Of a machine that only drifts every move is about as large as noise, and all together tell a share badly.
    shares[voting], moves[voting] = _shares(voters, others, _ABOVE if drifts else 0.0)
    numbers = np.flatnonzero(voting)
    levels = _regimes(factor, [moved.change for moved in machine_steps])
    filled = _filled(factor, levels, measured, versions)
    factors = np.broadcast_to(filled, centers.shape).copy()
    factors[np.ix_(voting, measured)] = others
    return Common(
        factor=filled,
        parts=shares[:, None] * factors,
        shares=shares,
        sure=moves >= _MOVES,
        steps=tuple(_placed(moved, measured, numbers) for moved in machine_steps),
        drifts=tuple(_placed(moved, measured, numbers) for moved in drifts),
        disturbed=tuple(measured[_disturbed(factor, levels)].tolist()),
    )


def _estimated(rows: Floats, penalty: float) -> tuple[Floats, Floats, Floats]:
    """The machine's factor in the measured versions, for each series its estimate from all others, and the noise of
    every series."""
    factor = _weighted_medians(rows - _middles(rows)[:, None], np.ones(len(rows)))
    others = np.broadcast_to(factor, rows.shape)
    spreads = np.ones(len(rows))
    for _ in range(_ROUNDS):
        shares = _shares(rows, others)[0]
        residuals = rows - shares[:, None] * others
        levels = levels_of(residuals, penalty)
        spreads = noise_of(residuals - levels)
        factor, others = shared_factor(rows - levels, shares, spreads)
    return factor, others, spreads


def _shares(rows: Floats, others: Floats, above: float = 0.0) -> tuple[Floats, Floats]:
    """The share of every series, and the number of moves of the machine that it rests on. It is 1 where none of them is
    `above` so many spreads of the moves of the series."""
    shares, moves = np.ones(len(rows)), np.zeros(len(rows))
    whole = np.isfinite(rows).all(axis=1)
    if whole.any():
        shares[whole], moves[whole] = _slopes(np.diff(rows[whole]), np.diff(others[whole]), above)
    for number in np.flatnonzero(~whole).tolist():
        measured = np.isfinite(rows[number])
        steps, common = np.diff(rows[number, measured]), np.diff(others[number, measured])
        shares[number], moves[number] = (one.item() for one in _slopes(steps[None], common[None], above))
    return shares, moves


def middle(row: Floats) -> float:
    """The median of the finite values."""
    finite = row[np.isfinite(row)]
    return median(finite) if len(finite) else 0.0


def _middles(rows: Floats) -> Floats:
    """Those of rows."""
    if rows.shape[1] and np.isfinite(rows).all():  # as nearly always
        return middles_of_ordered(np.sort(rows, axis=1))
    return np.array([middle(row) for row in rows])


def _slopes(differences: Floats, common: Floats, above: float) -> tuple[Floats, Floats]:
    """The slope of the differences of every series (row) over those of the machine, by least squares in which outliers
    count less, and the number of moves of the machine that it rests on. Series are much alike, so the prior is a share
    of 1 until several moves contradict it; else a change of code in a version in which the machine changed as well
    would make its own share. No series moves against the machine."""
    squares = common**2
    largest = squares.max(axis=1, initial=0.0)
    moving = common.any(axis=1)
    shares, moves = np.ones(len(common)), np.zeros(len(common))
    shares[moving], moves[moving] = _of_moving(differences[moving], common[moving], largest[moving], above)
    return shares, moves


def _of_moving(differences: Floats, common: Floats, largest: Floats, above: float) -> tuple[Floats, Floats]:
    moves = _dots(common, common) / largest
    shares = np.ones(len(common))
    for _ in range(3):
        residuals = np.abs(differences - shares[:, None] * common)
        spreads = NORMAL * _middles(residuals)
        weights = np.minimum(1.0, 3 * spreads[:, None] / np.maximum(residuals, 1e-300))
        prior = np.array([(spread / _ALIKE) ** 2 for spread in spreads.tolist()]) + largest / moves
        shares = (_dots(weights * differences, common) + prior) / (_dots(weights * common, common) + prior)
    shares[largest < (above * spreads) ** 2] = 1.0
    return np.minimum(np.maximum(shares, 0.0), 3.0), moves


def _dots(first: Floats, second: Floats) -> Floats:
    return np.array([one @ other for one, other in zip(first, second, strict=True)])


def levels_of(rows: Floats, penalty: float) -> Floats:
    """The level of every series at every version, found quickly."""
    starts = model.quick_of_rows(rows, penalty)
    return np.array(
        [
            _stepped(row, starts[number]) if number in starts else _levels(row, penalty)
            for number, row in enumerate(rows)
        ]
    )


def _levels(row: Floats, penalty: float) -> Floats:
    """Those of one."""
    points = read(Runs.of_floats(row, np.ones(len(row), dtype=np.int64)))
    if points is None or len(points) < detection.SHORTEST:
        return np.full(len(row), middle(row))
    starts = points.indexes[model.quick(points, penalty)]
    return _stepped(row, starts.tolist())


def _stepped(row: Floats, starts: Sequence[int]) -> Floats:
    """The median of every stretch, at all of its versions."""
    bounds = [0, *starts, len(row)]
    levels = [middle(row[start:end]) for start, end in pairwise(bounds)]
    return np.repeat(levels, np.diff(bounds))


def noise_of(left: Floats) -> Floats:
    """The noise of every series; none is taken for much more exact than most, or it would be the machine."""
    spreads = _middles(np.abs(left)) * NORMAL
    return np.maximum(spreads, max(0.5 * median(spreads), 1e-12))


def shared_factor(left: Floats, shares: Floats, spreads: Floats) -> tuple[Floats, Floats]:
    """The machine's factor from the residuals of the levels; and for every series its estimate from the others, which
    is free of the series' own noise."""
    shares = np.maximum(shares, 1e-3)
    factor = _weighted_medians(left / shares[:, None], shares / spreads)
    is_finite = np.isfinite(left)
    values = np.where(is_finite, left, 0.0)
    for _ in range(3):
        off = np.abs(values - shares[:, None] * factor) / spreads[:, None]
        weight = is_finite * np.minimum(1.0, _HUBER / np.maximum(off, 1e-300)) * (off < 6)
        parts = weight * (shares / spreads**2)[:, None]
        powers = parts * shares[:, None]
        sums, total = (parts * values).sum(axis=0), powers.sum(axis=0)
        factor = np.where(total > 0, sums / np.maximum(total, 1e-300), factor)
    other_powers = total - powers
    others = np.where(other_powers > 0, (sums - parts * values) / np.maximum(other_powers, 1e-300), factor)
    return factor, others


def _weighted_medians(values: Floats, weights: Floats) -> Floats:
    """The median of the finite values of every column."""
    is_finite = np.isfinite(values)
    filled = np.where(is_finite, values, np.inf)
    order = filled.argsort(axis=0)
    sums = np.take_along_axis(is_finite * weights[:, None], order, axis=0).cumsum(axis=0)
    middle_row = (sums >= sums[-1] / 2).argmax(axis=0)
    medians = np.take_along_axis(filled, np.take_along_axis(order, middle_row[None], axis=0), axis=0)[0]
    return np.where(np.isfinite(medians), medians, 0.0)


def _changes(factor: Floats, penalty: float, confidence: float) -> list[ChangePoint]:
    """The changes of a logarithm. What grows by the same amount in each version is a curve in it, and a drift in the
    amounts."""
    changes = detection.detect(factor.tolist(), penalty=penalty, confidence=confidence)
    if not changes or max(factor) - min(factor) > _LARGEST:
        return changes
    of_amounts = detection.detect(np.exp(factor).tolist(), penalty=penalty, confidence=confidence)
    growing = any(change.until is not None for change in of_amounts)
    return [change.in_logarithms() for change in of_amounts] if growing else changes


def _located(factor: Floats, change: ChangePoint) -> ChangePoint:
    """The change at the first version of its span that is nearer to the level after it. A version that is an outlier of
    both levels has no weight in the detection, though it is far from one of them only."""
    middle = (change.before + change.after) / 2
    span = factor[change.earliest : change.latest + 1]
    offsets = np.flatnonzero(span > middle if change.size > 0 else span < middle)
    return replace(change, index=change.earliest + int(offsets[0])) if len(offsets) else change


def _between(found: Sequence[ChangePoint], versions: int) -> Iterator[tuple[ChangePoint, int, int]]:
    """Every change with where the stretch before it begins and the one after it ends."""
    bounds = [0, *(change.index for change in found), versions]
    return zip(found, bounds, bounds[2:], strict=False)


def _judged(rows: Floats, others: Floats, spreads: Floats, change: ChangePoint, start: int, end: int) -> Moved | None:
    """The step with the series that moved; None where most of them did not."""
    index = change.index
    before, after = slice(max(start, index - _NEAR), index), slice(index, min(end, index + _NEAR))
    residuals = rows - others
    # A series that leaves the others in the version before the step, or in the first that has it, has one of its own.
    early = residuals[:, index - 1] - np.array([middle(row[before]) for row in residuals])
    late = np.array([middle(row[after]) for row in residuals]) - residuals[:, index]
    sign, size = math.copysign(1.0, change.size), abs(change.size)
    moved_alone = np.fmax(sign * early, sign * late) > _MOVED * size + _ABOVE * spreads
    return _with_movers(change, rows[:, before], rows[:, after], spreads, moved_alone)


def _judged_drift(rows: Floats, spreads: Floats, change: ChangePoint) -> Moved | None:
    """The same of a drift, between the beginning and the end of its growth."""
    assert change.until is not None
    length = max(1, min(_NEAR, (change.until - change.index + 1) // _ENDS))
    before = rows[:, max(0, change.index - length) : change.index]
    nowhere = np.zeros(len(rows), dtype=bool)
    return _with_movers(change, before, rows[:, change.until - length + 1 : change.until + 1], spreads, nowhere)


def _with_movers(
    change: ChangePoint, before: Floats, after: Floats, spreads: Floats, moved_alone: NDArray[np.bool_]
) -> Moved | None:
    """The change with the series that moved with it, none of those that moved in another version."""
    counts = np.array([np.isfinite(before).sum(axis=1), np.isfinite(after).sum(axis=1)])
    measured_rows = np.flatnonzero(counts.all(axis=0))
    if len(measured_rows) < _NEEDED:
        return None
    sign, size = math.copysign(1.0, change.size), abs(change.size)
    steps = np.array([sign * (middle(after[row]) - middle(before[row])) for row in measured_rows])
    errors = 1.25 * spreads[measured_rows] * np.sqrt((1 / counts[:, measured_rows]).sum(axis=0))
    typical = float(_weighted_medians(steps[:, None], 1 / np.maximum(errors, size / 4))[0])
    doubt = 1.25 * median(errors) / math.sqrt(len(measured_rows))
    moved = measured_rows[(steps >= _MOVED * size) & ~moved_alone[measured_rows]]
    if typical < max(_MOVED * size, _SURE * doubt) or 2 * len(moved) <= len(measured_rows):
        return None
    return Moved(change, tuple(moved.tolist()), len(measured_rows))


def _placed(moved: Moved, known: Indexes, numbers: Indexes) -> Moved:
    """The step or drift among all versions, and the series among all of them."""
    placed = moved.change.renumbered(known.tolist().__getitem__)
    return replace(moved, change=placed, series=tuple(numbers[list(moved.series)].tolist()))


def _regimes(factor: Floats, changes: Sequence[ChangePoint]) -> Floats:
    return _stepped(factor, [change.index for change in changes])


def _filled(factor: Floats, levels: Floats, known: Indexes, versions: int) -> Floats:
    """The machine's factor at every version; between estimates, the level that it has before and after."""
    before = known.searchsorted(np.arange(versions), side="right") - 1
    after = known.searchsorted(np.arange(versions))
    ends = levels[before.clip(min=0)], levels[after.clip(max=len(known) - 1)]
    filled = np.where(ends[0] == ends[1], ends[0], math.nan)
    filled[known] = factor
    return filled


def _disturbed(factor: Floats, levels: Floats) -> Indexes:
    """The versions in which the machine's factor is far from its level."""
    off = np.abs(factor - levels)
    return np.flatnonzero(off > max(STRAY * NORMAL * median(off), 1e-9))
