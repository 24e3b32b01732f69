"""Amounts over a parameter: for each group of rows the runs at each value of it."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

import attrs
from perfcore_view_kit.chart import ChartData, Level, Line
from perfcore_view_kit.form import quantity, shown
from perfcore_view_kit.palette import MOST_LINES
from perfcore_view_kit.profile_runs import chosen_metric, side_name, sums_by_run, usable
from perfcore_view_kit.runs import band_text, median_interval

from perfcore.errors import NotFoundError
from perfcore.profile import benchmarks
from perfcore.text import brief, plural
from perfcore_view_scatter.models import Fit, best_fits

if TYPE_CHECKING:
    from perfcore.model import Profile, ViewData
    from perfcore.profile.table import Column, Table

_RUN = "run"
_NO_PARAMETERS = (_RUN, "stack")  # the number of a stack says nothing, and is another one in each profile
_UNIT = 16  # characters
Runs: TypeAlias = dict[float, tuple[float, ...]]
"""The values of the runs at each value of the parameter."""


@attrs.frozen
class Group:
    """A benchmark or function of one profile: its runs over the parameter, and its fit if there is one."""

    name: str
    runs: Runs
    fit: Fit | None = None

    @property
    def size(self) -> float:
        return max(statistics.median(values) for values in self.runs.values())


@attrs.frozen
class Scatter:
    """All groups, the largest amounts first."""

    metric: str
    unit: str
    parameter: str
    parameter_unit: str
    groups: tuple[Group, ...]


def scatter(subject: ViewData, metric: str | None, over: str | None, by: str | None) -> Scatter:
    """The groups of all profiles. `over` names the parameter, `by` the column that tells groups apart. NotFoundError
    where the profiles have no numbers to draw over one another."""
    if not subject.profiles:
        raise NotFoundError("there is no profile to show")
    parameter = over or next(filter(None, map(_parameter, subject.profiles)), None)
    if parameter is None:
        raise NotFoundError(
            "no column of the profiles is a parameter with several numbers", hint="--over names the column"
        )
    metrics = (column.name for profile in subject.profiles for column in _values(profile))
    drawn_metric = chosen_metric(metric, metrics)
    several = len(subject.profiles) > 1
    groups = [
        attrs.evolve(group, name=f"{side_name(subject, number)}: {group.name}" if several else group.name)
        for number, profile in enumerate(subject.profiles)
        for group in _groups(profile, drawn_metric, parameter, by)
    ]
    if not groups:
        raise NotFoundError(f"no profile has numbers of {brief(drawn_metric)} over {brief(parameter)}")
    units = {column.name: column.unit for profile in subject.profiles for column in _columns(profile)}
    return Scatter(
        metric=shown(drawn_metric),
        unit=shown(units.get(drawn_metric, ""), _UNIT),
        parameter=shown(parameter),
        parameter_unit=shown(units.get(parameter, ""), _UNIT),
        groups=tuple(sorted(groups, key=lambda group: (-group.size, group.name))),
    )


def charts(made: Scatter, most: int, *, has_summary: bool = False) -> list[ChartData]:
    """One chart for up to six groups; for more of them one each, at most so many. On a page that has the `summary`, a
    chart of all groups does not repeat it."""
    if len(made.groups) <= MOST_LINES:
        return [_chart(made, made.groups, "" if has_summary else summary(made))]
    return [_chart(made, [group], summary(attrs.evolve(made, groups=(group,)))) for group in made.groups[:most]]


def summary(made: Scatter) -> str:
    """The range of the largest group in a sentence."""
    first = made.groups[0]
    low, high = min(first.runs), max(first.runs)
    ends = [quantity(statistics.median(first.runs[x]), made.unit) for x in (low, high)]
    if low == high:
        return f"{made.metric} of {first.name} is {ends[0]} at {made.parameter} {quantity(low, made.parameter_unit)}."
    steps = " to ".join(quantity(x, made.parameter_unit) for x in (low, high))
    fit = f", {first.fit.words}" if first.fit else ""
    return f"{made.metric} of {first.name} goes from {' to '.join(ends)} over {made.parameter} {steps}{fit}."


def _chart(made: Scatter, groups: Sequence[Group], finding: str) -> ChartData:
    positions = sorted({x for group in groups for x in group.runs})
    counts = [len(values) for group in groups for values in group.runs.values()]
    name = groups[0].name if len(groups) == 1 else plural(len(groups), "group")
    fits = "; ".join(f"{group.name}: {group.fit.words}" for group in groups if group.fit)
    return ChartData(
        title=f"{made.metric} of {name} over {made.parameter}",
        finding=finding,
        unit=made.unit,
        lines=[_line(group, positions) for group in groups],
        labels=[quantity(x, made.parameter_unit, 6) for x in positions],
        positions=positions,
        position_unit=made.parameter_unit,
        points=True,
        axis="values",
        band=" ".join(filter(None, (band_text(counts).replace("The band is", "A bar is"), fits))),
    )


def _line(group: Group, positions: Sequence[float]) -> Line:
    runs = [group.runs.get(x, ()) for x in positions]
    intervals = [median_interval(values) for values in runs]
    return Line(
        name=group.name,
        values=[statistics.median(values) if values else None for values in runs],
        low=[None if each is None else each[0] for each in intervals],
        high=[None if each is None else each[1] for each in intervals],
        counts=[len(values) for values in runs],
        levels=list(_fitted(group.fit, positions)) if group.fit else (),
    )


def _fitted(fit: Fit, positions: Sequence[float]) -> Iterator[Level]:
    """The fit from one value of the parameter to the next."""
    for at, (one, other) in enumerate(itertools.pairwise(positions)):
        first, last = fit(one), fit(other)
        if first is not None and last is not None:
            yield Level(at, at + 1, first, last)


def _columns(profile: Profile) -> tuple[Column, ...]:
    resources = profile.table("resources")
    return resources.columns if resources is not None else ()


def _values(profile: Profile) -> tuple[Column, ...]:
    return tuple(column for column in _columns(profile) if column.role == "value")


def _parameter(profile: Profile) -> str | None:
    """The first column that is no value and holds several numbers: a parameter of a suite, or a size."""
    for column in _columns(profile):
        is_dimension = column.role in ("benchmark", "dimension") and column.name not in _NO_PARAMETERS
        if is_dimension and len(_distinct(column)) > 1:
            return column.name
    return None


def _distinct(column: Column) -> set[float]:
    return {number for value in column if (number := _number(value)) is not None}


def _number(value: object) -> float | None:
    """A number, also one that is written as text, as parameters of suites may be."""
    if isinstance(value, bool) or value is None:
        return None
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) and abs(number) < 1e150 else None


def _groups(profile: Profile, metric: str, parameter: str, by: str | None) -> Iterator[Group]:
    resources = profile.table("resources")
    values = resources.get(metric) if resources is not None else None
    xs = resources.get(parameter) if resources is not None else None
    if resources is None or values is None or xs is None:
        return
    groups: dict[str, Runs] = {}
    words = zip(_names(resources, parameter, by), map(_number, xs), strict=True)
    for (name, x), by_run in sums_by_run(resources, values, words).items():
        if x is not None and (kept := usable(tuple(by_run.values()))):
            groups.setdefault(name, {})[x] = kept
    fits = best_fits(profile)
    for name, runs in groups.items():
        yield Group(shown(name) or shown(profile.label), runs, fits.get(name))


def _names(resources: Table, parameter: str, by: str | None) -> list[str]:
    """The group of each row: its benchmark with its other parameters, or the value of a column."""
    keys = [column for column in benchmarks.columns(resources) if column.name != parameter]
    if by is not None:
        column = resources.get(by)
        keys = [column] if column is not None else []
    elif not keys:
        texts = (c for c in resources.columns if c.role == "dimension" and c.name not in (parameter, _RUN))
        keys = [column for column in texts if any(isinstance(value, str) for value in column)][:1]
    if not keys:
        return [""] * resources.rows
    return [" ".join(str(word) for word in row if word is not None) for row in zip(*keys, strict=True)]
