"""The runs that are compared: panels of one metric, each with a group of runs for each profile or version."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import attrs
from perfcore_view_kit.form import percent, quantity, shown
from perfcore_view_kit.history_chart import title
from perfcore_view_kit.palette import MOST_LINES
from perfcore_view_kit.profile_runs import chosen_metric, runs_by_metric, side_name, usable

from perfcore.errors import NotFoundError

if TYPE_CHECKING:
    from perfcore.model import MetricHistory, Profile, ViewData

_NAME, _UNIT = 60, 16  # characters


@attrs.frozen
class Group:
    """The runs of one profile or version, ascending."""

    name: str
    values: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    def quantile(self, share: float) -> float:
        """Linear between the neighbours (Hyndman and Fan, type 7)."""
        at = share * (len(self.values) - 1)
        low = math.floor(at)
        high = min(low + 1, len(self.values) - 1)
        return self.values[low] + (at - low) * (self.values[high] - self.values[low])


@attrs.frozen
class Panel:
    """One metric, with the groups that have runs of it; at most six, which is what colours and dashes tell apart."""

    title: str
    unit: str
    groups: tuple[Group, ...]

    @property
    def finding(self) -> str:
        """The medians, first to last, in one sentence."""
        first, last = self.groups[0], self.groups[-1]
        runs = " and ".join(f"{len(group.values):,}" for group in (first, last))
        if len(self.groups) == 1:
            return f"Median {quantity(first.median, self.unit)} of {len(first.values):,} runs."
        before, after = first.median, last.median
        change = f" ({percent(after / before)})" if before > 0 and after > 0 else ""
        ends = f"{quantity(before, self.unit)} to {quantity(after, self.unit)}{change}"
        return f"The median went from {ends}, of {runs} runs; whether that is more than noise, perf check says."


def panels(subject: ViewData, metric: str | None, benchmark: str | None, versions: int) -> list[Panel]:
    """The panels of the profiles, or else of the newest `versions` of each series. NotFoundError where none has a
    value of the metric."""
    if subject.profiles:
        return _of_profiles(subject, metric, benchmark)
    made = [panel for series in subject.series for panel in _of_series(series, versions)]
    if not made:
        raise NotFoundError("nothing was measured", hint="perf history lists the versions")
    return made


def _of_series(series: MetricHistory, versions: int) -> Iterator[Panel]:
    measured = [point for point in series.points if usable(point.values)][-min(versions, MOST_LINES) :]
    groups = tuple(Group(shown(point.version.short, _NAME), usable(point.values)) for point in measured)
    if groups:
        yield Panel(title(series), shown(series.unit, _UNIT), groups)


def _of_profiles(subject: ViewData, metric: str | None, benchmark: str | None) -> list[Panel]:
    profiles = subject.profiles[:MOST_LINES]
    values = [runs_by_metric(profile) for profile in profiles]
    names = list(dict.fromkeys(name for runs_of in values for name, _ in runs_of))
    chosen = chosen_metric(metric, (name for runs_of in values for _, name in runs_of))
    made = []
    for name in names:
        if benchmark is not None and name != benchmark:
            continue
        groups = tuple(
            Group(side_name(subject, number), usable(runs_of[name, chosen].values))
            for number, runs_of in enumerate(values)
            if (name, chosen) in runs_of and usable(runs_of[name, chosen].values)
        )
        unit = next((runs_of[name, chosen].unit for runs_of in values if (name, chosen) in runs_of), "")
        if groups:
            made.append(Panel(_panel_title(profiles, name, chosen), shown(unit, _UNIT), groups))
    if not made:
        raise NotFoundError(
            "no benchmark has such a name" if benchmark else "the profiles have no runs with values",
            hint=f"there are {', '.join(shown(name, _NAME) for name in names if name)}" if any(names) else None,
        )
    return made


def _panel_title(profiles: Sequence[Profile], benchmark: str, metric: str) -> str:
    labels = list(dict.fromkeys(profile.label for profile in profiles))
    return shown(f"{metric} of {benchmark or ' and '.join(labels)}")
