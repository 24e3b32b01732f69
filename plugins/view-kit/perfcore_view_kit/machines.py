"""Machines that measure a branch in turns, as those of a pool do: which they are, and their amounts on one scale."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from perfcore.text import plural
from perfcore_view_kit.runs import median_of_ordered
from perfcore_view_kit.short_ids import SHORT, positions

if TYPE_CHECKING:
    from perfcore.model import Change, MetricHistory

_OF_CODE = ("degradation", "optimization", "drift", "improving drift")


def in_turns(environments: Sequence[str]) -> list[str]:
    """The environments, in the order of their first versions, where one comes back after another. Empty where there is
    one only, or each has its part of the branch."""
    distinct = list(dict.fromkeys(environments))
    if len(distinct) < 2:
        return []
    turns = 1 + sum(map(operator.ne, environments, environments[1:]))
    return distinct if turns > len(distinct) else []


def of_series(series: MetricHistory) -> list[str]:
    """Those that take turns in a series."""
    return in_turns([point.environment for point in series.points if point.values])


def versions_of_series(series: MetricHistory) -> str:
    """`5 versions`: one that several machines measured has a point for each, and is one version."""
    return plural(len({point.version.id for point in series.points}), "version")


def factors_of_series(series: MetricHistory) -> dict[str, float]:
    """`factors` for a series."""
    points = series.points
    environments, ids = [point.environment for point in points], [point.version.id for point in points]
    return factors([point.median for point in points], environments, ids, series.changes)


def medians_by(series: MetricHistory, multiplied: Mapping[str, float]) -> list[float | None]:
    """The medians of a series by its factors, or as they are where there are none."""
    medians = [point.median for point in series.points]
    return on_one(medians, [point.environment for point in series.points], multiplied) if multiplied else medians


def factors(
    medians: Sequence[float | None], environments: Sequence[str], ids: Sequence[str], changes: Iterable[Change]
) -> dict[str, float]:
    """What the amounts of each machine are multiplied by to be those of the machine of the newest, where machines take
    turns; that machine is the last. For pictures of the shape and for noise: no verdict rests on it.

    It is the ratio of the medians of all amounts of both machines, each divided by what the reported changes had made
    of it by then. Empty where no machine comes back, or an amount is not above 0."""
    measured = [(at, median) for at, median in enumerate(medians) if median is not None]
    if not in_turns([environments[at] for at, _ in measured]) or not all(0 < value < math.inf for _, value in measured):
        return {}
    growth = _growth(environments, ids, changes)
    by_machine: dict[str, list[float]] = {}
    for at, value in measured:
        by_machine.setdefault(environments[at], []).append(math.log(value) - growth[at])
    bases = {machine: median_of_ordered(sorted(amounts)) or 0.0 for machine, amounts in by_machine.items()}
    newest = environments[measured[-1][0]]
    bases[newest] = bases.pop(newest)
    return {machine: math.exp(bases[newest] - base) for machine, base in bases.items()}


def on_one(
    medians: Sequence[float | None], environments: Sequence[str], multiplied: Mapping[str, float]
) -> list[float | None]:
    """The medians as one machine would have measured them, by its `factors`."""
    return [
        None if median is None else median * multiplied[environment]
        for median, environment in zip(medians, environments, strict=True)
    ]


def scale_text(count: int) -> str:
    """Whose amounts are shown, where so many machines take turns."""
    return f"Amounts of {plural(count, 'machine')} are as on that of the newest."


def _growth(environments: Sequence[str], ids: Sequence[str], changes: Iterable[Change]) -> list[float]:
    """The logarithm of what the changes up to each point multiplied its amount by. A drift grows evenly; what moved
    with a machine moved there alone."""
    index = positions(ids)
    growth = [0.0] * len(ids)
    for change in changes:
        is_of_machine = change.kind == "machine" and change.moved is not None
        start = index.get(change.target[:SHORT])
        if start is None or not (is_of_machine or change.kind in _OF_CODE) or not 0 < (change.ratio or 0.0) < math.inf:
            continue
        end = index.get(change.until[:SHORT], start) if change.pace is not None else start
        size = math.log(change.ratio or 1.0)
        for at in range(start, len(ids)):
            if not is_of_machine or environments[at] in change.environments:
                growth[at] += size * min(1.0, (at - start + 1) / (end - start + 1))
    return growth
