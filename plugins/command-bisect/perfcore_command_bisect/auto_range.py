"""Where a bisection begins by itself: at the last change for the worse that a history shows."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import Literal

import attrs
from perfcore_check_kit.history import ScannedSeries

from perfcore.model import Series
from perfcore.repository import Repository


@attrs.frozen
class HistoryEnds:
    """Full ids of a version before a change and of one after it, and the series that shows it. `step` is by how much
    the amounts of the two differ (a ratio), where no check says that it is a change."""

    good: str
    bad: str
    scanned: ScannedSeries
    step: float | None = None

    @property
    def source(self) -> Literal["degradation", "step"]:
        """What of the history they are the ends of."""
        return "degradation" if self.step is None else "step"


def of_history(repository: Repository, found: Sequence[ScannedSeries]) -> HistoryEnds | None:
    """The last degradation that stands; where no check found one, the largest step for the worse between two versions
    that were measured one after the other. What was made good since is no end."""
    confirmed = [
        (one.line.versions[-1].position - _number(one, change.latest), one, change)
        for one in found
        for change in one.changes
        if change.kind == "degradation" and not change.undone and change.earliest and change.latest
    ]
    if confirmed:
        # The latest one: its versions are the likeliest to build, and the change the likeliest to be news.
        _, one, change = min(confirmed, key=lambda item: (item[0], not item[2].primary))
        return HistoryEnds(_before(repository, one, change.earliest), change.latest, one)
    steps = [
        (step, one, before, after)
        for one in found
        for step, before, after in _steps(one.series)
        if not _made_good(repository, one, after)
    ]
    if not steps:
        return None
    step, series, before, after = max(steps, key=lambda item: item[0])
    return HistoryEnds(before, after, series, math.exp(step if series.series.better == "lower" else -step))


def _before(repository: Repository, one: ScannedSeries, version: str) -> str:
    """The version that was measured before this one, or else its parent. The parent of the earliest suspect of a
    check was measured, unless that suspect was."""
    numbers = [point.version.id for point in one.line.versions]
    index = numbers.index(version) if version in numbers else 0
    parents = repository.vcs.get_minor_version_info(version).parents
    return numbers[index - 1] if index else (parents or (version,))[0]


def _number(one: ScannedSeries, version: str) -> int:
    return next(
        (version_point.position for version_point in one.line.versions if version_point.version.id == version), 0
    )


def _made_good(repository: Repository, one: ScannedSeries, version: str) -> bool:
    """Whether the version is one of those that a degradation lasted for."""
    position = _number(one, version)
    return any(
        _number(one, _before(repository, one, change.earliest)) < position < _number(one, change.undone)
        for change in one.changes
        if change.kind == "degradation" and change.undone
    )


def _steps(series: Series) -> list[tuple[float, str, str]]:
    """(size, version before, version after) of every step for the worse on one machine."""
    steps = []
    last: dict[str, tuple[str, float]] = {}
    sign = 1 if series.better == "lower" else -1
    for version, machine, values in zip(series.versions, series.environments, series.values, strict=True):
        # The median, since one spike among few runs would be the largest step of the history.
        amount = statistics.median(values) if values else 0.0
        if amount <= 0:
            continue
        if machine in last:
            # Logarithms: a step from 1 to 2 and one from 100 to 200 are equally large, whatever the metric's unit.
            step = sign * math.log(amount / last[machine][1])
            if step > 0:
                steps.append((step, last[machine][0], version))
        last[machine] = version, amount
    return steps
