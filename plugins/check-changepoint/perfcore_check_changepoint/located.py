"""Measured versions and changes with their positions in a series of several environments."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from collections.abc import Sequence

import msgspec
import numpy as np

from perfcore.model import Series
from perfcore_check_changepoint.points import ChangePoint
from perfcore_check_changepoint.runs import Indexes, Runs


class Places(msgspec.Struct, frozen=True, eq=False):
    """The versions that were measured in one environment, by their indexes in the series. `base` is the version that
    was measured before the first of them in any environment, None where there is none."""

    environment: str
    positions: Indexes
    base: int | None


class MeasuredVersions(Places, frozen=True, eq=False):
    """The same with their runs."""

    runs: Runs


class LocatedChange(msgspec.Struct, frozen=True, eq=False):
    """A change among the versions of one history: `positions` are the indexes of these versions in the series. A
    history has the name of its first environment, and `environment` is that in which the change was measured."""

    environment: str
    positions: Indexes
    change: ChangePoint
    history: str

    @classmethod
    def of_union(cls, change: ChangePoint, union: Indexes, measured: Places) -> LocatedChange:
        """A change whose versions are counted in a union of those of several series, in the versions of its own."""

        def own(index: int) -> int:
            return int(np.searchsorted(measured.positions, union[index]))

        return cls(measured.environment, measured.positions, change.renumbered(own), measured.environment)

    @property
    def position(self) -> int:
        return int(self.positions[self.change.index])

    @property
    def base(self) -> int:
        return int(self.positions[self.change.index - 1])

    @property
    def span(self) -> tuple[int, int]:
        """The versions that may have brought the change: the first and the last."""
        return int(self.positions[self.change.earliest - 1]) + 1, int(self.positions[self.change.latest])

    def earliest(self, series: Series) -> str:
        """The first version that may have brought the change, measured or not: the one after the last that was
        measured before."""
        last_good = int(self.positions[self.change.earliest - 1])
        if series.next_versions:
            return series.next_versions[last_good]
        # A version that was measured in two environments is in the series twice.
        later_versions = itertools.islice(series.versions, last_good + 1, None)
        return next(version for version in later_versions if version != series.versions[last_good])

    @property
    def length(self) -> int | None:
        """The number of versions that a drift takes."""
        return None if self.change.until is None else self.change.until - self.change.index + 1

    @property
    def direction(self) -> str:
        return f"{self.change.kind} {'up' if self.change.size > 0 else 'down'}"


class MachineStep(msgspec.Struct, frozen=True, eq=False):
    """A step of the machine of one environment, and how many series moved with it, of so many that were measured on
    both sides. It `came_with_session` where a session measured the versions on both sides, and linked sessions told
    that it was not the code all the same."""

    located: LocatedChange
    series: int
    measured: int
    came_with_session: bool


def ratios(change: ChangePoint) -> tuple[float | None, float | None, float | None]:
    """The value after a change over that before, with its interval; None for values of zero or less."""
    if change.before <= 0 or change.after <= 0:
        return None, None, None
    numbers = [change.after / change.before, *(1 + size / change.before for size in (change.low, change.high))]
    if not all(map(math.isfinite, numbers)):
        return None, None, None
    ratio, low, high = numbers
    return ratio, min(max(low, 0.0), ratio), max(high, ratio)


def identity(series: Series, environment: str, kind: str, version: str) -> str:
    """The same for the same change, whatever is measured later."""
    subject = [series.config_id, series.metric, series.resource, environment, kind, version]
    return hashlib.sha256(json.dumps(subject).encode()).hexdigest()[:20]


def once(located: list[LocatedChange]) -> list[LocatedChange]:
    """Every change once: of one that several machines show at the same version, that with the strongest evidence."""
    same, selected = _same(located), set[int]()
    for index in sorted(range(len(located)), key=lambda index: (-located[index].change.gain, located[index].position)):
        if selected.isdisjoint(same.get(index, ())):
            selected.add(index)
    return sorted((located[index] for index in selected), key=lambda change: change.position)


def neighbours(located: Sequence[LocatedChange]) -> list[tuple[int, int | None]]:
    """Of changes in their order, the indexes in the series at which the levels before and after each begin and end: at
    another change of its history, or with the series (0, None)."""
    begins: dict[str, int] = {}
    bounds: list[tuple[int, int | None]] = []
    latest: dict[str, int] = {}  # the number of the last change of each history
    for number, change in enumerate(located):
        if change.history in latest:
            bounds[latest[change.history]] = (bounds[latest[change.history]][0], change.position)
        bounds.append((begins.get(change.history, 0), None))
        if change.change.kind != "noise":
            begins[change.history], latest[change.history] = change.position, number
    return bounds


def _same(located: Sequence[LocatedChange]) -> dict[int, list[int]]:
    """The changes, by number, that other machines show in the same direction at places that may be the same."""
    same: dict[int, list[int]] = {}
    open_changes: dict[str, list[int]] = {}
    spans = [change.span for change in located]
    for index in sorted(range(len(located)), key=spans.__getitem__):
        change = located[index]
        near = [
            candidate for candidate in open_changes.get(change.direction, ()) if spans[candidate][1] >= spans[index][0]
        ]
        for candidate in near:
            if located[candidate].history != change.history:
                same.setdefault(index, []).append(candidate)
                same.setdefault(candidate, []).append(index)
        open_changes[change.direction] = [*near, index]
    return same
