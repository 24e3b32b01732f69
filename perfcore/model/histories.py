"""Metrics over the versions of a branch, with the changes that a check found in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Protocol

from perfcore.model.record import Record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perfcore.model.changes import Change
    from perfcore.model.versions import MinorVersion
    from perfcore.repository.repository import Repository


class Point(Record, frozen=True, kw_only=True):
    """The runs of one version in one environment, with the ids of their profiles."""

    version: MinorVersion
    environment: str
    profiles: tuple[str, ...]
    values: tuple[float, ...]

    @property
    def median(self) -> float | None:
        from statistics import median  # which takes as long to import as the rest of what most pages need

        return median(self.values) if self.values else None


class MetricHistory(Record, frozen=True, kw_only=True):
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


class JudgedHistory(Protocol):
    """The input of `judge` of a check: `changes` are the verdicts of the configured checks on the judged version, and
    `repository` gives everything that is not here."""

    @property
    def repository(self) -> Repository: ...

    @property
    def changes(self) -> tuple[Change, ...]: ...

    def commands(self, version: str) -> Sequence[Any]:
        """Every command that a version was measured with, one for each environment and benchmark of a suite: each a
        `MeasuredCommand` of perfcore_check_kit.version_history."""
        ...

    def labels(self) -> set[str]:
        """Every command that any version was measured with."""
        ...
