"""The result of `perf history`: its JSON document, and its table for notebooks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import attrs
from perfcore_view_kit import machines

from perfcore.analysis.change_json import as_json, by_beginning
from perfcore.text import percent, quantity

if TYPE_CHECKING:
    from perfcore.model import Change, MetricHistory, Point

SCHEMA = 1  # of the JSON document
_WORDS = {"degradation": "regression", "optimization": "improvement"}


@attrs.frozen(kw_only=True)
class HistoryResult:
    """The series that were asked for, in the order in which their configurations were first measured. By the id of a
    change, `decided` says in words what somebody decided about it, and `accepted` why it fails no check."""

    series: tuple[MetricHistory, ...] = ()
    decided: Mapping[str, str] = attrs.field(factory=dict)
    accepted: Mapping[str, str] = attrs.field(factory=dict)

    def as_json(self) -> dict[str, Any]:
        """As in docs/schemas/history.json."""
        return {"schema": SCHEMA, "series": [self._series_json(series) for series in self.series]}

    def _series_json(self, series: MetricHistory) -> dict[str, Any]:
        versions = by_beginning(point.version.id for point in series.points)
        return {
            "command": series.command,
            "collector": series.collector,
            "config_id": series.config_id,
            "metric": series.metric,
            "resource": series.resource,
            "unit": series.unit,
            "better": series.better,
            "points": [_point_json(point) for point in series.points],
            "changes": [
                {
                    **as_json(change, versions),
                    "environments": list(change.environments),
                    "decided": self.decided.get(change.id, ""),
                    "accepted": change.id in self.accepted,
                }
                for change in series.changes
            ],
        }

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
        machines.versions_of_series(series),
        *(quantity(level, series.unit) for level in levels),
        ", ".join(_change(change) for change in series.changes),
    )


def _change(change: Change) -> str:
    size = f" {percent(change.ratio)}" if change.ratio is not None else ""
    return f"{_WORDS.get(change.kind, change.kind)}{size} at {change.target}"
