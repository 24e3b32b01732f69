"""Metrics over the versions of a branch, with the changes that a check found in them."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Literal

import attrs

if TYPE_CHECKING:
    from perfcore.model.changes import Change
    from perfcore.model.versions import MinorVersion


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
