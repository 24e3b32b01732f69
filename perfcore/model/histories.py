"""Metrics over the versions of a branch, with the changes that a check found in them."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Any, Literal

import attrs

from perfcore.text import percent, plural, quantity

if TYPE_CHECKING:
    from perfcore.model.changes import Change
    from perfcore.model.versions import MinorVersion

SCHEMA = 1
_SHORT = 10  # digits of a version's id in a `Change`
_WORDS = {"degradation": "regression", "optimization": "improvement"}


@attrs.frozen(kw_only=True)
class Point:
    """The runs of one version in one environment, with the ids of their profiles."""

    version: MinorVersion
    environment: str
    profiles: tuple[str, ...]
    values: tuple[float, ...]

    @property
    def median(self) -> float | None:
        return statistics.median(self.values) if self.values else None


@attrs.frozen(kw_only=True)
class MetricHistory:
    """One metric of one configuration, or of one function of it (`resource`), oldest version first."""

    command: str
    collector: str
    config_id: str
    metric: str
    resource: str = ""
    unit: str = ""
    better: Literal["lower", "higher"] = "lower"
    points: tuple[Point, ...] = ()
    changes: tuple[Change, ...] = ()

    def last(self, count: int | None) -> MetricHistory:
        """The last `count` points, all for None, and the changes that they show."""
        if count is None or count >= len(self.points):
            return self
        points = self.points[len(self.points) - count :]
        versions = {point.version.id[:_SHORT] for point in points}
        changes = tuple(change for change in self.changes if change.target in versions)
        return attrs.evolve(self, points=points, changes=changes)

    def as_json(self) -> dict[str, Any]:
        return {
            "command": self.command,
            "collector": self.collector,
            "config_id": self.config_id,
            "metric": self.metric,
            "resource": self.resource,
            "unit": self.unit,
            "better": self.better,
            "points": [_point_json(point) for point in self.points],
            "changes": [{**attrs.asdict(c), "environments": list(c.environments)} for c in self.changes],
        }


@attrs.frozen(kw_only=True)
class HistoryResult:
    """The series that were asked for, in the order in which their configurations were first measured."""

    series: tuple[MetricHistory, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """As in docs/schemas/history.json."""
        return {"schema": SCHEMA, "series": [series.as_json() for series in self.series]}

    def _repr_html_(self) -> str:
        """A table for notebooks: a row for each series, with its range and its changes."""
        from perfcore.html_table import html_table

        head = ("command", "metric", "versions", "lowest", "highest", "newest", "changes")
        return html_table(head, map(_cells, self.series), len(self.series))


def _point_json(point: Point) -> dict[str, Any]:
    return {
        "version": point.version.id,
        "date": point.version.date,
        "subject": point.version.subject,
        "environment": point.environment,
        "profiles": list(point.profiles),
        "values": list(point.values),
    }


def _cells(series: MetricHistory) -> tuple[str, ...]:
    medians = [median for point in series.points if (median := point.median) is not None]
    levels = (min(medians), max(medians), medians[-1]) if medians else (None, None, None)
    return (
        series.command,
        f"{series.metric} of {series.resource}" if series.resource else series.metric,
        plural(len(series.points), "version"),
        *(quantity(level, series.unit) for level in levels),
        ", ".join(_change(change) for change in series.changes),
    )


def _change(change: Change) -> str:
    size = f" {percent(change.ratio)}" if change.ratio is not None else ""
    return f"{_WORDS.get(change.kind, change.kind)}{size} at {change.target}"
