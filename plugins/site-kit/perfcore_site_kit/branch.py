"""A branch as pages need it: its versions, its series with their changes, and what stands on the overview."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec
from perfcore_view_kit.short_ids import SHORT, positions

from perfcore.model import Change, MetricHistory, MinorVersion, Point
from perfcore_site_kit import paths
from perfcore_site_kit.paths import PagePath

RANGE = 1000
"""Points of one range: as many as a page shows in full, with their runs."""

Values = tuple[float | None, ...]


class MeasuredEnvironment(msgspec.Struct, frozen=True, array_like=True):
    """An environment that measured versions of a series, and the positions of the oldest and the newest of them."""

    id: str
    first: int
    newest: int


class SeriesRow(msgspec.Struct, frozen=True, kw_only=True):
    """One metric of one benchmark or command over the branch. Positions count the measured versions, from the oldest.

    `points` are the versions of its configuration, `measured` those with a value of it.
    `newest` is the last position with a value, which is `median` of `runs` runs; `spark` is the series reduced to at
    most 120 values, `noise` its relative standard deviation from version to version, and `spread` that of the runs of a
    version; `sessions` counts those of the newest versions. `primary` says that its metric is a primary one, `decides`
    that checks fail by it: by a primary one, or as `check.fail_on` says. `is_short` says that it has too few versions
    to be scanned: those of a short history are each compared with the one before.
    `takes_turns` says that machines do: then `spark` and `noise` are of amounts as on that of the newest."""

    config_id: str
    command: str
    collector: str
    metric: str
    unit: str
    resource: str
    better: Literal["lower", "higher"]
    primary: bool
    decides: bool
    points: int
    measured: int
    first: int
    newest: int
    median: float | None
    runs: int
    spark: Values
    noise: float | None
    spread: float | None
    environments: tuple[MeasuredEnvironment, ...]
    sessions: int
    changes: tuple[Change, ...]
    is_short: bool = False
    takes_turns: bool = False

    @property
    def name(self) -> str:
        """The benchmark, or the command where it is no suite."""
        return self.resource or self.command

    @property
    def deciding_name(self) -> str:
        """The same with the metric, where that is not the primary one."""
        return self.name if self.primary else f"{self.name} {self.metric}"

    @property
    def parts(self) -> tuple[str, ...]:
        """What tells it from others, as parts of an address."""
        names = (self.config_id, self.metric, *([self.resource] if self.resource else []))
        return tuple(map(paths.part, names))

    @property
    def path(self) -> PagePath:
        return PagePath(paths.SERIES, self.parts)

    def history(self, points: Sequence[Point] = (), changes: Sequence[Change] | None = None) -> MetricHistory:
        """It as charts take it, with some of its points."""
        return MetricHistory(
            command=self.command,
            collector=self.collector,
            config_id=self.config_id,
            metric=self.metric,
            resource=self.resource,
            unit=self.unit,
            better=self.better,
            points=tuple(points),
            changes=self.changes if changes is None else tuple(changes),
        )


# With a `__dict__`, which `functools.cached_property` needs.
class Branch(msgspec.Struct, frozen=True, eq=False, kw_only=True, dict=True):
    """The measured versions of a branch, oldest first, its series, the reasons for which changes were accepted, and
    what was decided about each in words.
    `state` says what it was derived from."""

    state: str
    head: str
    name: str
    versions: tuple[MinorVersion, ...]
    series: tuple[SeriesRow, ...]
    accepted: Mapping[str, str]
    decided: Mapping[str, str]
    releases: Mapping[str, tuple[str, ...]]
    notes: tuple[str, ...] = ()

    @functools.cached_property
    def position(self) -> Mapping[str, int]:
        """The position of each version by its full id."""
        return {version.id: at for at, version in enumerate(self.versions)}

    @functools.cached_property
    def position_of_short(self) -> Mapping[str, int]:
        """The position of each version by the beginning of its id, as changes write it."""
        return positions(version.id for version in self.versions)

    @functools.cached_property
    def gated(self) -> frozenset[str]:
        """The metrics that decide though they are no primary ones."""
        return frozenset(row.metric for row in self.series if row.decides and not row.primary)

    @functools.cached_property
    def by_parts(self) -> Mapping[tuple[str, ...], int]:
        """The index of each series by the parts of its address."""
        return {row.parts: at for at, row in reversed(list(enumerate(self.series)))}

    @functools.cached_property
    def by_part(self) -> Mapping[str, MinorVersion]:
        """Each version by the part of its address."""
        return {paths.part(version.id): version for version in self.versions}

    @functools.cached_property
    def changes(self) -> tuple[tuple[int, Change], ...]:
        """(index of the series, change) of every change, the newest first, metrics that decide before others."""
        listed = [(at, change) for at, row in enumerate(self.series) for change in row.changes]
        return tuple(sorted(listed, key=lambda pair: (-self.at(pair[1]), not self.series[pair[0]].decides, pair[0])))

    @functools.cached_property
    def by_change(self) -> Mapping[str, tuple[int, Change]]:
        """The same by the part of the address of each change."""
        return {paths.part(change.id): (at, change) for at, change in reversed(self.changes)}

    def at(self, change: Change) -> int:
        """The position of the version that shows a change first; -1 where the branch no longer has it."""
        return self.position_of_short.get(change.target[:SHORT], -1)

    @property
    def newest(self) -> int:
        """The position of the newest measured version."""
        return len(self.versions) - 1


NOTHING = Branch(state="", head="", name="", versions=(), series=(), accepted={}, decided={}, releases={})


def range_path(row: SeriesRow, number: int) -> PagePath:
    """The page of a range of a long series, from 0 on, the oldest first."""
    return PagePath(paths.RANGE, (str(number + 1), *row.parts))


def version_path(version: MinorVersion) -> PagePath:
    return PagePath(paths.VERSION, (paths.part(version.id),))
