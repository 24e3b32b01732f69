"""The cheapest way to cut a series into stretches of one level each.

Levels are taken from a finite grid, so that the cost of a point at a level may be any number: bounded, skewed, with
two valleys. With Q_t(k) the least cost of the first t points if the last of them is at level k,

    Q_t(k) = min(Q_{t-1}(k) + stay_t(k), min_j Q_{t-1}(j) + penalty + move_t(k)),

where `stay` is the cost of a point at the level of its predecessor and `move` that of the first one at a new level.
This is optimal partitioning (Jackson et al., 2005, IEEE Signal Processing Letters 12(2)) by functional recursion
(Rigaill, 2015, Journal de la SFdS 156(4)) with the bounded losses of Fearnhead and Rigaill (2019, JASA 114(525)).
It takes time in proportion to points times levels, whatever the number of changes.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, TypeAlias

import msgspec
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

Floats: TypeAlias = "NDArray[np.float64]"
Indexes: TypeAlias = "NDArray[np.int64]"

_NEAR = 8  # points by which a beginning moves at most
_ALL = 64  # points among which a stretch may begin at any
_WIDTHS = ((3, 2.2), (6, 1.2))  # points on either side of a place, and standard deviations by which they differ


class Partition(msgspec.Struct, frozen=True, eq=False):
    """`starts` are the first points of the stretches but the first one, `levels` indexes into the grid, one per
    stretch, and `cost` is the sum over all points and penalties."""

    starts: list[int]
    levels: list[int]
    cost: float


def partition(stay: Floats, move: Floats | None, penalty: float) -> Partition:
    """The cheapest partition of points (rows) over levels (columns); `move` is `stay` where it is None."""
    least = np.empty(stay.shape)
    forward = _forward if move is None else _forward_moving
    moved, lowest = forward(least, stay, move, penalty)
    return _backward(least, np.array(moved), stay, move, lowest)


def partition_at(stay: Floats, move: Floats | None, penalty: float, cuts: Indexes) -> Partition:
    """The same where stretches begin only at `cuts` (the first of which is 0) or near them: what lies between two of
    them counts as one point, and each beginning is moved to where it costs least."""
    if len(cuts) == len(stay):
        return partition(stay, move, penalty)
    joined = np.add.reduceat(stay, cuts)
    fresh = None if move is None else joined + (move.take(cuts, axis=0) - stay.take(cuts, axis=0))
    coarse = partition(joined, fresh, penalty)
    if not coarse.starts:
        return coarse
    starts = cuts.take(coarse.starts).tolist()
    saved = _moved(starts, coarse.levels, stay, move)
    return Partition(starts, coarse.levels, coarse.cost - saved)


def starts_of_rows(costs: Floats, levels: Sequence[int], penalty: float, cuts: NDArray[np.bool_]) -> list[list[int]]:
    """Where the stretches of several series begin, as `partition_at` has it for each: `costs` are those of series,
    points and levels, of which each series has so many. A step of NumPy for all of them takes hardly longer than one
    for one."""
    count, points = cuts.shape
    lengths = np.count_nonzero(cuts, axis=1)
    joined = np.add.reduceat(costs.reshape(count * points, -1), cuts.ravel().nonzero()[0])
    ends = lengths.cumsum()
    stay = np.zeros((count, int(lengths.max()), costs.shape[2]))  # what comes after the end of a series is not asked
    stay[np.repeat(np.arange(count), lengths), np.arange(ends[-1]) - np.repeat(ends - lengths, lengths)] = joined
    for number, own in enumerate(levels):
        stay[number, :, own:] = np.inf  # no level of this series
    least, moved = np.empty(stay.shape), np.empty(stay.shape[:2])
    last = stay[:, 0]
    least[:, 0], lowest = last, last.min(axis=1, keepdims=True)
    for point in range(1, stay.shape[1]):
        bound, row = moved[:, point - 1, None], least[:, point]
        np.add(lowest, penalty, out=bound)
        np.minimum(last, bound, out=row)
        row += stay[:, point]
        last, lowest = row, np.minimum.reduce(row, axis=1, keepdims=True)
    every = []
    for number, (own, length) in enumerate(zip(levels, lengths.tolist(), strict=True)):
        found = _backward(least[number, :length, :own], moved[number], stay[number], None, 0.0)
        starts = found.starts
        if starts and length < points:
            starts = cuts[number].nonzero()[0].take(starts).tolist()
            _moved(starts, found.levels, costs[number], None)
        every.append(starts)
    return every


def _moved(starts: list[int], levels: list[int], stay: Floats, move: Floats | None) -> float:
    """Move every beginning of a stretch to its cheapest point, in place, and give what that saves."""
    saved = 0.0
    for number, start in enumerate(starts):
        first = (starts[number - 1] if number else 0) + 1
        last = starts[number + 1] if number + 1 < len(starts) else len(stay)
        first, last = max(first, start - _NEAR), min(last, start + _NEAR + 1)
        before, after = levels[number], levels[number + 1]
        # So few points that lists take less time than arrays.
        differences = (stay[first : last - 1, before] - stay[first : last - 1, after]).tolist()
        costs = list(itertools.accumulate(differences, initial=0.0))
        if move is not None:
            fresh = (move[first:last, after] - stay[first:last, after]).tolist()
            costs = [cost + more for cost, more in zip(costs, fresh, strict=True)]
        best = costs.index(min(costs))
        saved += costs[start - first] - costs[best]
        starts[number] = first + best
    return saved


def _forward(least: Floats, stay: Floats, move: Floats | None, penalty: float) -> tuple[list[float], float]:
    """Fill `least` row by row, and give what moving costs after every row but the last, and the minimum of that. All
    the time goes here, so a point costs two calculations and a minimum, and the minimum is kept in an array, which
    NumPy takes faster than a number."""
    minimum, add, bound = np.minimum, np.add, np.empty(())
    last = least[0]
    last[:] = stay[0]
    lowest = last.item(last.argmin())
    moved = []
    for row, cost in zip(list(least)[1:], list(stay)[1:], strict=True):
        bound[()] = lowest = lowest + penalty
        moved.append(lowest)
        minimum(last, bound, out=row)
        add(row, cost, row)
        last = row
        lowest = row.item(row.argmin())
    return moved, lowest


def _forward_moving(least: Floats, stay: Floats, move: Floats | None, penalty: float) -> tuple[list[float], float]:
    """The same where the first point of a stretch costs something else."""
    assert move is not None
    minimum, add, bound, afresh = np.minimum, np.add, np.empty(()), np.empty(len(least[0]))
    last = least[0]
    last[:] = move[0]
    lowest = last.item(last.argmin())
    moved = []
    for row, cost, fresh in zip(list(least)[1:], list(stay)[1:], list(move)[1:], strict=True):
        bound[()] = lowest = lowest + penalty
        moved.append(lowest)
        add(last, cost, row)
        add(fresh, bound, afresh)
        minimum(row, afresh, out=row)
        last = row
        lowest = row.item(row.argmin())
    return moved, lowest


def _backward(least: Floats, moved: Floats, stay: Floats, move: Floats | None, cost: float) -> Partition:
    """Follow the minima back: a stretch began where moving was cheaper than staying."""
    last = len(least) - 1
    level = int(least[last].argmin())
    starts: list[int] = []
    levels = [level]
    while last > 0:
        stayed = least[:last, level]
        if move is None:
            began = stayed > moved[:last]
        else:
            ahead = slice(1, last + 1)
            began = stayed + stay[ahead, level] > moved[:last] + move[ahead, level]
        latest = int(began[::-1].argmax())
        if not began[last - 1 - latest]:
            break
        last -= 1 + latest
        level = int(least[last].argmin())
        starts.append(last + 1)
        levels.append(level)
    return Partition(starts[::-1], levels[::-1], cost)


def places(values: Floats, noise: Floats | None = None) -> Indexes:
    """The points, beside the first, at which a stretch may begin: those where the sums of neighbours on both sides
    differ most, in what the noise of each point, of 1 where none is given, makes of it. All of them where they are
    few."""
    return are_places(values, noise).nonzero()[0]


def are_places(values: Floats, noise: Floats | None) -> NDArray[np.bool_]:
    """Of each point, in rows where there are several series, whether it is one of these."""
    count = values.shape[-1]
    if count <= _ALL:
        return np.ones(values.shape, dtype=bool)
    sums = _sums(values)
    squares = None if noise is None else _sums(noise * noise)
    chosen = np.zeros(values.shape, dtype=bool)
    chosen[..., 0] = True
    for width, least in _WIDTHS:
        middle = sums[..., width : count - width + 1]
        apart = np.abs(sums[..., 2 * width :] + sums[..., : count - 2 * width + 1] - 2 * middle)
        inner = apart[..., 1:-1]
        if squares is None:
            above = inner > least * math.sqrt(2 * width)
        else:
            above = inner > least * np.sqrt(squares[2 * width :] - squares[: count - 2 * width + 1])[1:-1]
        chosen[..., width + 1 : count - width] |= above & (inner >= apart[..., :-2]) & (inner > apart[..., 2:])
    near = _WIDTHS[0][0] + 1
    chosen[..., :near] = chosen[..., -near:] = True
    return chosen


def _sums(values: Floats) -> Floats:
    """The sums of the values before each place, and of all."""
    sums = np.zeros((*values.shape[:-1], values.shape[-1] + 1))
    np.add.accumulate(values, axis=-1, out=sums[..., 1:])
    return sums


def stretch_means(values: Floats, starts: list[int]) -> Floats:
    """The mean of the stretch that each point (the last axis) is in."""
    bounds = np.array([0, *starts])
    lengths = np.array([*starts, values.shape[-1]]) - bounds
    means: Floats = (np.add.reduceat(values, bounds, axis=-1) / lengths).repeat(lengths, axis=-1)
    return means
