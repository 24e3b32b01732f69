"""The changes of a whole series, at once or as it grows.

A series is looked at through a window. When it has filled, what was found in its first three quarters is settled, and
the window moves on to where the last settled change is over, or to a stretch before the rest. So the time a series
takes is in proportion to its length, a new point costs one window whatever came before, and both ways give the same
answer.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from perfcore_check_changepoint import model, sizes
from perfcore_check_changepoint.points import ChangePoint
from perfcore_check_changepoint.series import Point, read

WINDOW = 512  # points
HINDSIGHT = 128  # points that follow a change before it is settled
CONTEXT = 96  # points before these that the next window still sees
SHORTEST = 4  # points in which anything can be found


@attrs.frozen
class Settled:
    """What of a series is decided: its changes, and the point from which on it is looked at again."""

    start: int = 0
    changes: tuple[ChangePoint, ...] = ()


def detect(values: Sequence[Point], *, penalty: float, confidence: float) -> list[ChangePoint]:
    """The change points of a series, oldest first."""
    return resume(values, Settled(), penalty, confidence)[0]


def resume(
    values: Sequence[Point], settled: Settled, penalty: float, confidence: float
) -> tuple[list[ChangePoint], Settled]:
    """The change points of a series of which some are settled, and what is settled then."""
    while len(values) - settled.start > WINDOW:
        settled = _settle(values, settled, penalty, confidence)
    last = _region(values, settled.start, len(values), penalty, confidence)
    return sizes.undone([*settled.changes, *last]), settled


def _settle(values: Sequence[Point], settled: Settled, penalty: float, confidence: float) -> Settled:
    sure = settled.start + WINDOW - HINDSIGHT
    found = _region(values, settled.start, settled.start + WINDOW, penalty, confidence)
    kept = [change for change in found if change.index <= sure]
    start = max([sure - CONTEXT, *(change.latest for change in kept)])
    return Settled(start, (*settled.changes, *kept))


def _region(values: Sequence[Point], start: int, end: int, penalty: float, confidence: float) -> list[ChangePoint]:
    points = read(values[start:end])
    if points is None or len(points) < SHORTEST:
        return []
    found = sizes.changes(points, model.fit(points, penalty), penalty, confidence)
    return [_moved(change, start) for change in found]


def _moved(change: ChangePoint, by: int) -> ChangePoint:
    return attrs.evolve(change, index=change.index + by, earliest=change.earliest + by, latest=change.latest + by)
