"""The bars: for each benchmark, or each value of a column, the amount in every profile."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import attrs
from perfcore_view_kit.form import shown
from perfcore_view_kit.palette import MOST_LINES
from perfcore_view_kit.profile_runs import chosen_metric, runs_by_metric, side_name, sums_by_run, usable
from perfcore_view_kit.runs import median_interval

from perfcore.errors import NotFoundError
from perfcore.profile import benchmarks
from perfcore.profile.stacks import NOWHERE, Stacks, references
from perfcore.text import brief, printable

if TYPE_CHECKING:
    from perfcore.model import Profile, ViewData
    from perfcore.profile.table import Table

_UNIT = 16  # characters
_RUN = "run"
_FUNCTION, _FILE, _STACK = "function", "file", "stack"


@attrs.frozen
class Amount:
    """The median of the runs, with its interval where there are two or more."""

    median: float
    runs: int
    low: float | None = None
    high: float | None = None


@attrs.frozen
class Bars:
    """`names` are those of the bars, the largest amount first; `amounts[i][j]` is that of bar i in profile j, None
    where the profile lacks it. `left_out` is how many bars are not among them."""

    title: str
    metric: str
    unit: str
    sides: tuple[str, ...]
    names: tuple[str, ...]
    amounts: tuple[tuple[Amount | None, ...], ...]
    left_out: int = 0


def bars(subject: ViewData, metric: str | None, by: str | None, most: int) -> Bars:
    """The bars of at most six profiles. `by` names a column; without it they are of the benchmarks of suites, or of the
    first column that tells rows apart. NotFoundError where the profiles have no such values."""
    profiles = subject.profiles[:MOST_LINES]
    if not profiles:
        raise NotFoundError("there is no profile to show")
    column = by or _column(profiles)
    tables = [_by_benchmark(profile) if column is None else _by_column(profile, column) for profile in profiles]
    if column in (_FUNCTION, _FILE):
        _fill(profiles, tables)
    if not any(tables):
        if by is None:
            raise NotFoundError("the profiles have no runs with values")
        columns = ", ".join(printable(name) for name in dict.fromkeys(itertools.chain(*map(_columns, profiles))))
        raise NotFoundError(f"no profile has rows by {brief(by)}", hint=f"they have: {columns}" if columns else None)
    drawn_metric = chosen_metric(metric, (key[1] for amounts_of in tables for key in amounts_of))
    unit = next(
        (unit for amounts_of in tables for (_, name), (unit, _) in amounts_of.items() if name == drawn_metric), ""
    )
    names = dict.fromkeys(name for amounts_of in tables for name, key in amounts_of if key == drawn_metric)
    amounts = {name: tuple(_amount(amounts_of.get((name, drawn_metric))) for amounts_of in tables) for name in names}
    ordered = sorted(
        (name for name in names if any(amounts[name])),
        key=lambda name: (-max(amount.median for amount in amounts[name] if amount), name),
    )
    if not ordered:
        raise NotFoundError(f"no value of {brief(drawn_metric)} can be drawn")
    return Bars(
        title=shown(f"{drawn_metric} by {column or 'benchmark'}"),
        metric=shown(drawn_metric),
        unit=shown(unit, _UNIT),
        sides=tuple(side_name(subject, number) for number in range(len(profiles))),
        names=tuple(shown(name) or "(none)" for name in ordered[:most]),
        amounts=tuple(amounts[name] for name in ordered[:most]),
        left_out=max(0, len(ordered) - most),
    )


_Values = dict[tuple[str, str], tuple[str, Sequence[float]]]


def _by_benchmark(profile: Profile) -> _Values:
    return {
        (benchmark or profile.label, metric): (runs.unit, runs.values)
        for (benchmark, metric), runs in runs_by_metric(profile).items()
    }


def _column(profiles: Sequence[Profile]) -> str | None:
    """The first column of the rows by which they differ, that is neither a run nor a time; None for suites."""
    for profile in profiles:
        resources = profile.table("resources")
        if resources is None or benchmarks.is_suite(profile):
            continue
        for column in resources.columns:
            if column.role == "dimension" and column.name != _RUN and len(set(column)) > 1:
                # The number of a stack says nothing to people, and is another one in each profile.
                return _FUNCTION if column.name == _STACK and "stacks" in profile.tables else column.name
    return None


def _columns(profile: Profile) -> Iterator[str]:
    """The columns by which bars can be drawn."""
    resources = profile.table("resources")
    for column in resources.columns if resources is not None else ():
        if column.name == _STACK and "stacks" in profile.tables:
            yield from (_FUNCTION, _FILE)
        elif column.role != "value":
            yield column.name


def _by_column(profile: Profile, name: str) -> _Values:
    """For each value of the column the sums of every metric, one for each run."""
    resources = profile.table("resources")
    words = _words(profile, resources, name) if resources is not None else None
    if resources is None or words is None:
        return {}
    made: _Values = {}
    for metric in resources.values():
        for word, sums in sums_by_run(resources, metric, ("" if word is None else str(word) for word in words)).items():
            made[word, metric.name] = metric.unit, tuple(sums.values())
    return made


def _words(profile: Profile, resources: Table, name: str) -> Sequence[object] | None:
    """The value of the column in each row; None without such a column. The function of a row with a stack is the one
    whose own code it is, and the file is that of the function."""
    if (column := resources.get(name)) is not None:
        return list(column)
    if name not in (_FUNCTION, _FILE) or "stacks" not in profile.tables or resources.get(_STACK) is None:
        return None
    stacks = Stacks.of(profile.tables)
    rows = references(resources, _STACK, profile.tables)
    ends = {at: stacks.path(at)[-1] for at in set(rows) - {NOWHERE}}
    texts = stacks.names if name == _FUNCTION else stacks.files
    return [texts[ends[at]] if ends.get(at, NOWHERE) != NOWHERE else None for at in rows]


def _fill(profiles: Sequence[Profile], tables: Sequence[_Values]) -> None:
    """A function that a profile, or one of its runs, has no stack of took nothing there."""
    units = {key: unit for amounts_of in tables for key, (unit, _) in amounts_of.items()}
    for profile, amounts_of in zip(profiles, tables, strict=True):
        resources = profile.table("resources")
        if resources is None or resources.get(_STACK) is None:
            continue
        runs = len(set(resources.get(_RUN) or (0,)))
        measured = {metric for _, metric in amounts_of}
        for key, unit in units.items():
            if key[1] in measured:
                values = tuple(amounts_of[key][1]) if key in amounts_of else ()
                amounts_of[key] = unit, values + (0.0,) * (runs - len(values))


def _amount(each: tuple[str, Sequence[float]] | None) -> Amount | None:
    values = usable(each[1]) if each is not None else ()
    if not values:
        return None
    low, high = median_interval(values) or (None, None)
    return Amount(statistics.median(values), len(values), low, high)
