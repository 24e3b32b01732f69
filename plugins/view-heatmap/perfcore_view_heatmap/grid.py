"""The cells of the map: for each series and version the median as a ratio to that of the baseline."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING

import attrs
from perfcore_view_kit import machines
from perfcore_view_kit.form import percent, shown
from perfcore_view_kit.history_chart import common_title, titles, unit_text

from perfcore.errors import NotFoundError
from perfcore.text import plural

if TYPE_CHECKING:
    from perfcore.model import MetricHistory, MinorVersion

FIRST, MEDIAN = "first", "median"
BASELINES = (FIRST, MEDIAN)
# A change of 2 % at the end of the colours would look like one of 50 %; beyond 4 times all are alike.
_LEAST, _MOST = 1.1, 4.0
_NOTE = 72  # characters
_LEAST_RATIO = 1e-12  # of 0, so that it has a logarithm


@attrs.frozen
class Row:
    """One series: its median at each version, None where it was not measured, and the baseline of its ratios. Where
    machines take turns, there are so many, and the medians are as on that of the newest."""

    name: str
    unit: str
    values: tuple[float | None, ...]
    baseline: float
    machines: int = 0

    def ratio(self, at: int) -> float | None:
        value = self.values[at]
        return None if value is None else max(value / self.baseline, _LEAST_RATIO)

    @property
    def farthest(self) -> float:
        """How far the newest values are from the baseline, as a logarithm."""
        newest = next(ratio for at in reversed(range(len(self.values))) if (ratio := self.ratio(at)) is not None)
        return abs(math.log(newest))


@attrs.frozen
class Grid:
    """Rows over versions, the row that moved farthest first. `largest` is the ratio at the end of the colours,
    `common` the metric and command of all rows, where these are of one suite."""

    rows: tuple[Row, ...]
    labels: tuple[str, ...]
    notes: tuple[str, ...]
    largest: float
    baseline: str
    left_out: int
    common: str = ""

    @property
    def scale(self) -> str:
        """Whose amounts these are, where machines take turns."""
        most = max(row.machines for row in self.rows)
        return machines.scale_text(most) if most else ""

    @property
    def reference(self) -> str:
        """What the changes are from."""
        has_zero = any(value == 0 for row in self.rows for value in row.values)
        return f"{self.baseline} value above 0" if has_zero else f"{self.baseline} value"

    @property
    def finding(self) -> str:
        first = self.rows[0]
        newest = next(ratio for at in reversed(range(len(self.labels))) if (ratio := first.ratio(at)) is not None)
        left = (
            f" {plural(self.left_out, 'series', 'series')} with negative values or none above 0 left out."
            if self.left_out
            else ""
        )
        return (
            f"{first.name} moved farthest, {percent(newest)} from its {self.reference}, of "
            f"{plural(len(self.rows), 'series', 'series')} over {plural(len(self.labels), 'version')}.{left}"
        )


def grid(histories: Sequence[MetricHistory], baseline: str) -> Grid:
    """NotFoundError where no series has a value to compare with."""
    versions = _versions(histories)
    index = {version.id: at for at, version in enumerate(versions)}
    rows = [
        row
        for series, name in zip(histories, titles(histories), strict=True)
        if (row := _row(series, name, index, baseline)) is not None
    ]
    if not rows:
        raise NotFoundError("no series has positive values", hint="perf history lists the versions")
    ratios = [ratio for row in rows for at in range(len(versions)) if (ratio := row.ratio(at)) is not None]
    largest = max(math.exp(abs(math.log(ratio))) for ratio in ratios)
    return Grid(
        rows=tuple(sorted(rows, key=lambda row: (-row.farthest, row.name))),
        labels=tuple(shown(version.short) for version in versions),
        notes=tuple(shown(version.subject, _NOTE) for version in versions),
        largest=min(_MOST, max(_LEAST, largest)),
        baseline=baseline,
        left_out=len(histories) - len(rows),
        common=common_title(histories),
    )


def _versions(histories: Sequence[MetricHistory]) -> list[MinorVersion]:
    """The versions of all series: in the order of the longest one, the others by their dates among them."""
    ordered: dict[str, MinorVersion] = {}
    for series in sorted(histories, key=lambda series: -len(series.points)):
        for point in series.points:
            ordered.setdefault(point.version.id, point.version)
    longest = max(histories, key=lambda series: len(series.points), default=None)
    if longest is None or len(ordered) == len({point.version.id for point in longest.points}):
        return list(ordered.values())
    return sorted(ordered.values(), key=lambda version: version.date)


def _row(series: MetricHistory, name: str, index: dict[str, int], baseline: str) -> Row | None:
    """None for a series with negative values, or without one above 0: it has no ratios."""
    by_version: dict[int, list[float]] = {}
    factors = machines.factors_of_series(series)
    for point in series.points:
        factor = factors.get(point.environment, 1.0)
        amounts = [value * factor for value in point.values if math.isfinite(value)]
        by_version.setdefault(index[point.version.id], []).extend(amounts)
    values = [statistics.median(by_version[at]) if by_version.get(at) else None for at in range(len(index))]
    measured = [value for value in values if value]
    if not measured or not all(1e-150 < value < 1e150 for value in measured):
        return None
    base = measured[0] if baseline == FIRST else statistics.median(measured)
    return Row(name, unit_text(series), tuple(values), base, len(factors))
