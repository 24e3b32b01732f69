"""The changes of a whole series, at once or as it grows.

A series is scanned in a window. When the window is full, the changes in its first three quarters are settled, and
the window moves on to where the last settled change is over, or to a stretch before the rest. So the time a series
takes is in proportion to its length, a new point costs one window whatever came before, and both ways give the same
answer. Digests of the points that decided tell whether they are still what they were: what was settled by others is
looked at again.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from perfcore_check_changepoint import bends, drift, exact, run_spread, sessions, sizes
from perfcore_check_changepoint.model import BOUND
from perfcore_check_changepoint.points import ChangePoint
from perfcore_check_changepoint.runs import Indexes, Point, Runs
from perfcore_check_changepoint.series import read

# A window is settled up to HINDSIGHT points before its end: a point is partitioned less than twice on average.
WINDOW = 512  # points
HINDSIGHT = 128  # points that follow a change before it is settled
CONTEXT = 96  # points before these that the next window still sees
SHORTEST = 4  # points: two levels of two points each are the fewest that have noise
# Every version is another look at the changes, by each of which chance can show one (repeated significance tests:
# P. Armitage, C. McPherson and B. Rowe, 1969, JRSS A 132(2)). A change of the code explains more with every point that
# it has, one by chance does not: so a recent one has to explain more, the more points it has (benchmarks/growing.py).
_RECENT = 96  # points that have a change, up to which it is recent
_POINT = 0.035  # penalties more that it has to explain for each of them
_SURE = 1.4  # penalties that suffice


class Step(msgspec.Struct, frozen=True):
    """The window moved on to the point `start`; `digest` is that of the points it was the first to show."""

    start: int
    digest: str


class Settled(msgspec.Struct, frozen=True):
    """The settled part of a series: the steps of the window, and the changes that it has left behind."""

    steps: tuple[Step, ...] = ()
    changes: tuple[ChangePoint, ...] = ()

    @property
    def start(self) -> int:
        """The point from which on the series is looked at again."""
        return self.steps[-1].start if self.steps else 0

    @property
    def decided(self) -> int:
        """How many points decided it."""
        return (self.steps[-2].start if len(self.steps) > 1 else 0) + WINDOW if self.steps else 0


def detect(
    values: Sequence[Point], *, penalty: float, confidence: float, machines: Indexes | None = None
) -> list[ChangePoint]:
    """The change points of a series, oldest first. `machines` are those of its runs, if there are several."""
    runs = Runs.of(values)
    runs = runs if machines is None else replace(runs, machines=machines)
    return detect_in(runs, penalty=penalty, confidence=confidence)


def detect_in(runs: Runs, *, penalty: float, confidence: float) -> list[ChangePoint]:
    """The same of runs."""
    return resume(runs, Settled(), penalty, confidence)[0]


def resume(runs: Runs, settled: Settled, penalty: float, confidence: float) -> tuple[list[ChangePoint], Settled]:
    """The change points of a series of which a part was settled, and the new settled part. A part that was settled by
    points with other values is scanned again."""
    settled = _still(settled, runs)
    steps, changes = list(settled.steps), list(settled.changes)
    start, decided = settled.start, settled.decided
    while len(runs) - start > WINDOW:
        end = start + WINDOW
        moved, settled_changes = _settle(runs, start, penalty, confidence)
        steps.append(Step(moved, runs.digest(decided, end)))
        changes += settled_changes
        start, decided = moved, end
    last = _sure(_region(runs, start, len(runs), penalty, confidence, open_end=True), len(runs), penalty)
    return sizes.undone(sizes.joined([*changes, *last])), Settled(tuple(steps), tuple(changes))


def _still(settled: Settled, runs: Runs) -> Settled:
    """The steps that are still settled: those before the first one whose points have other values now."""
    start = decided = count = 0
    for step in settled.steps:
        end = start + WINDOW
        if end >= len(runs) or runs.digest(decided, end) != step.digest:
            break
        start, decided, count = step.start, end, count + 1
    if count == len(settled.steps):
        return settled
    return Settled(settled.steps[:count], tuple(change for change in settled.changes if change.index <= start))


def _settle(runs: Runs, start: int, penalty: float, confidence: float) -> tuple[int, list[ChangePoint]]:
    """Where the window moves on to, and the changes that it leaves behind."""
    sure = start + WINDOW - HINDSIGHT
    changes = _region(runs, start, start + WINDOW, penalty, confidence)
    settled_changes = [change for change in changes if change.index <= sure]
    return max([sure - CONTEXT, *(change.latest for change in settled_changes)]), settled_changes


def _region(
    runs: Runs, start: int, end: int, penalty: float, confidence: float, *, open_end: bool = False
) -> list[ChangePoint]:
    window_runs = runs.part(start, end)
    steps = exact.steps(window_runs, BOUND * penalty) if len(window_runs) >= SHORTEST else []
    if steps is not None:
        return [change.renumbered(lambda index: index + start) for change in steps]
    context_start = max(0, start - WINDOW)
    aligned = (
        sessions.align(runs.part(context_start, end), start - context_start) if runs.sessions is not None else None
    )
    comparable = aligned.runs if aligned is not None else window_runs
    points = read(comparable)
    if points is None or len(points) < SHORTEST:
        return []
    of_runs = run_spread.run_spread_changes(points, penalty)
    points = run_spread.with_own_noise(points, of_runs)
    needed = functools.partial(_needed, count=end - start if open_end else math.inf, penalty=penalty)
    changes = sizes.changes(points, drift.fit(points, penalty), of_runs, penalty, confidence, needed)
    changes = bends.with_growth(changes, points, comparable, penalty, confidence)
    if aligned is not None and changes:
        changes = aligned.doubt.believed(changes, penalty, confidence)
    if runs.doubt is not None:
        changes = runs.doubt.part(start, end).believed(changes, penalty, confidence)
    return [change.renumbered(lambda index: index + start) for change in changes] if start else changes


def _sure(changes: list[ChangePoint], count: int, penalty: float) -> list[ChangePoint]:
    """The changes of a history of so many points without those that are recent and too weak for that."""
    return [
        change for change in changes if change.kind != "level" or change.gain >= _needed(change.index, count, penalty)
    ]


def _needed(index: int, count: float, penalty: float) -> float:
    """The nats that a change at an index has to explain while so many points are known."""
    points = count - index
    return min(_SURE, 1 + _POINT * points) * penalty if points <= _RECENT else 0.0
