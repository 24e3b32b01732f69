"""The changes of a whole series, at once or as it grows.

A series is scanned in a window. When the window is full, the changes in its first three quarters are settled, and
the window moves on to where the last settled change is over, or to a stretch before the rest. So the time a series
takes is in proportion to its length, a new point costs one window whatever came before, and both ways give the same
answer. Digests of the points that decided tell whether they are still what they were: what was settled by others is
looked at again.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from perfcore_check_changepoint import drift, sessions, sizes
from perfcore_check_changepoint.points import ChangePoint
from perfcore_check_changepoint.runs import Indexes, Point, Runs
from perfcore_check_changepoint.series import read

# A window is settled up to HINDSIGHT points before its end: a point is partitioned less than twice on average.
WINDOW = 512  # points
HINDSIGHT = 128  # points that follow a change before it is settled
CONTEXT = 96  # points before these that the next window still sees
SHORTEST = 4  # points: two levels of two points each are the fewest that have noise
# A change by chance depends on a few points, and comes and goes with them: without the last points, half of the alarms
# that vanish later are not there (benchmarks/growing.py).
_SURE = 2.0  # penalties that a change explains at least if it is sure whatever came last
_WAIT = 3  # a weaker one has to be there without the last third of the points after its first, while there are few
_LONGEST_WAIT = 8  # points
_NEAR = 3  # points that it may have moved by meanwhile


@attrs.frozen
class Step:
    """The window moved on to the point `start`; `digest` is that of the points it was the first to show."""

    start: int
    digest: str


@attrs.frozen
class Settled:
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
    runs = runs if machines is None else attrs.evolve(runs, machines=machines)
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
    last = _lasting(runs, start, _region(runs, start, len(runs), penalty, confidence), penalty, confidence)
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


def _region(runs: Runs, start: int, end: int, penalty: float, confidence: float) -> list[ChangePoint]:
    context_start = max(0, start - WINDOW)
    aligned = (
        sessions.align(runs.part(context_start, end), start - context_start) if runs.sessions is not None else None
    )
    points = read(aligned.runs if aligned is not None else runs.part(start, end))
    if points is None or len(points) < SHORTEST:
        return []
    changes = sizes.changes(points, drift.fit(points, penalty), penalty, confidence)
    if aligned is not None:
        changes = aligned.doubt.believed(changes, penalty, confidence)
    if runs.doubt is not None:
        changes = runs.doubt.part(start, end).believed(changes, penalty, confidence)
    return [change.renumbered(lambda index: index + start) for change in changes] if start else changes


def _lasting(
    runs: Runs, start: int, changes: list[ChangePoint], penalty: float, confidence: float
) -> list[ChangePoint]:
    """The changes without those that only the last points suggest: the weak ones that the same window, ending some
    points earlier, does not show. One that up to three points show has nothing to be compared with."""
    earlier: dict[int, list[int]] = {}  # the changes of the level, by how many points they were seen before
    lasting = []
    for change in changes:
        wait = min((len(runs) - change.index - 1) // _WAIT, _LONGEST_WAIT)
        if change.kind == "level" and wait and change.gain < _SURE * penalty:
            if wait not in earlier:
                shorter = _region(runs, start, len(runs) - wait, penalty, confidence)
                earlier[wait] = [before.index for before in shorter if before.kind == "level"]
            if all(abs(index - change.index) > _NEAR for index in earlier[wait]):
                continue
        lasting.append(change)
    return lasting
