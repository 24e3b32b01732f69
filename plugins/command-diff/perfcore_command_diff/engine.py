"""The difference of two profiles, by function where there are stacks: the engine of `perf diff`."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import attrs

from perfcore.analysis import pairing
from perfcore.errors import FormatError
from perfcore.hookspecs import DIFF
from perfcore.model import EMPTY, Profile
from perfcore.model.listener import Listener, SilentListener
from perfcore.plugins.drivers import guard
from perfcore.profile.benchmarks import is_suite
from perfcore.profile.functions import by_function
from perfcore.profile.stacks import has_stacks
from perfcore.profile.table import Column, ColumnSpec, Table
from perfcore.repository.repository import Repository
from perfcore.text import plural, quantity
from perfcore_command_diff.suite import reduced

SCHEMA = 1  # of the JSON document
METHOD = "amounts"
BASELINE, TARGET = "baseline {}", "target {}"


@attrs.frozen(kw_only=True)
class DiffRow:
    """The two values of a function, or of the dimensions of a row. `own` is the change in the function's own code, None
    where there are no stacks."""

    name: str
    file: str = ""
    baseline: float
    target: float
    own: float | None = None

    @property
    def change(self) -> float:
        return self.target - self.baseline

    def as_json(self) -> dict[str, Any]:
        return {
            "place": self.name,
            "file": self.file,
            "baseline": self.baseline,
            "target": self.target,
            "own": self.own,
            "change": self.change,
        }


@attrs.frozen(kw_only=True)
class DiffTable:
    """The rows of one metric that differ, the greatest change first, and the totals of both profiles."""

    metric: str
    unit: str
    baseline: float
    target: float
    rows: tuple[DiffRow, ...]


# Without slots, because `functools.cached_property` needs the `__dict__` of the instance.
@attrs.frozen(kw_only=True, slots=False, eq=False)
class DiffResult:
    """The difference as a profile, for views and to be saved, and as a table of its first metric."""

    profile: Profile = attrs.field(repr=False)

    @functools.cached_property
    def table(self) -> DiffTable:
        """FormatError where the profile does not hold both values of any metric."""
        return table_of(self.profile)

    def as_json(self) -> dict[str, Any]:
        """As in docs/schemas/diff.json."""
        table = self.table
        return {
            "schema": SCHEMA,
            "metric": table.metric,
            "unit": table.unit,
            "baseline": table.baseline,
            "target": table.target,
            "places": [row.as_json() for row in table.rows],
        }

    def _repr_html_(self) -> str:
        """The greatest changes as a table for notebooks."""
        from perfcore.html_table import html_table

        table = self.table
        rows = (_html_cells(row, table.unit) for row in table.rows)
        return html_table((table.metric, "baseline", "target", "change"), rows, len(table.rows))


def diff(
    repository: Repository,
    baseline: Profile,
    target: Profile,
    *,
    method: str = METHOD,
    options: Mapping[str, Any] = EMPTY,
    sources: tuple[str, ...] = (),
    listener: Listener | None = None,
) -> DiffResult:
    """The difference that a plugin of the kind `diff` makes of two profiles. `options` of the plugin outweigh the
    configured ones; `sources` are the ids of the two profiles, as far as they are registered."""
    _note_differences(baseline, target, listener or SilentListener())
    baseline, target = reduced(baseline), reduced(target)
    plugin, driver = repository.plugins.make(DIFF, method, {**repository.plugin_options("diff", method), **options})
    with guard(plugin, "diff"):
        difference = driver.diff(baseline, target)
        return DiffResult(profile=attrs.evolve(difference, sources=sources))


def table_of(profile: Profile) -> DiffTable:
    """The table of the first metric of which a profile holds both values."""
    resources = profile.table("resources")
    metric = _metric(resources)
    if resources is None or metric is None:
        raise FormatError(
            "the difference does not hold both values of any metric", hint="show it: perf diff --view table"
        )
    rows = _functions(profile, metric) if has_stacks(profile.tables) else _rows(resources, metric)
    # By the function's own change first: the change with all that it calls is largest in `main`, which nobody changed.
    changed = sorted((r for r in rows if r.change or r.own), key=lambda r: (-abs(r.own or 0), -abs(r.change), r.name))
    before, after = (_total(resources, side.format(metric.name)) for side in (BASELINE, TARGET))
    return DiffTable(metric=metric.name, unit=metric.unit, baseline=before, target=after, rows=tuple(changed))


def _note_differences(baseline: Profile, target: Profile, listener: Listener) -> None:
    """Values are sums over all runs, except of a suite, so they differ without any change where one profile has more
    runs."""
    if unlike := pairing.configuration_difference(baseline, target):
        listener.note(f"the two profiles differ in configuration: {unlike}")
    if is_suite(baseline) or is_suite(target):
        return
    before, after = pairing.measured_runs(baseline), pairing.measured_runs(target)
    if before is not None and after is not None and before != after:
        listener.note(f"the values are sums over {plural(before, 'run')} and over {plural(after, 'run')}")


def _html_cells(row: DiffRow, unit: str) -> tuple[str, ...]:
    return row.name, *(quantity(value, unit) for value in (row.baseline, row.target, row.change))


def _metric(resources: Table | None) -> ColumnSpec | None:
    for column in resources.values() if resources is not None else ():
        if resources is not None and {BASELINE.format(column.name), TARGET.format(column.name)} <= set(resources.names):
            return column.spec
    return None


def _total(resources: Table, name: str) -> float:
    return sum(value for value in resources[name] if isinstance(value, int | float))


def _functions(profile: Profile, metric: ColumnSpec) -> list[DiffRow]:
    before, after = (by_function(profile.tables, side.format(metric.name)) for side in (BASELINE, TARGET))
    return [
        DiffRow(name=b.name, file=b.file, baseline=b.total, target=a.total, own=a.own - b.own)
        for b, a in zip(before, after, strict=True)
    ]


def _rows(resources: Table, metric: ColumnSpec) -> list[DiffRow]:
    sides = {side.format(column.name) for column in resources.values() for side in (BASELINE, TARGET)}
    dimensions = [c for c in resources.columns if c.role in ("dimension", "benchmark") and c.name not in sides]
    names = zip(*map(_labels, dimensions), strict=True) if dimensions else [()] * resources.rows
    before, after = (resources[side.format(metric.name)] for side in (BASELINE, TARGET))
    return [
        DiffRow(name=", ".join(filter(None, name)) or "all", baseline=_number(b), target=_number(a))
        for name, b, a in zip(names, before, after, strict=True)
    ]


def _labels(column: Column) -> list[str]:
    """A text needs no name, a number does: `cpu 3`. A missing one is `unknown`, because blank would mean all."""
    if column.dtype == "str":
        return [str(value or "") for value in column]
    return [f"{column.name} {'unknown' if value is None else value}" for value in column]


def _number(value: object) -> float:
    return value if isinstance(value, int | float) else 0
