"""The difference of two profiles, by function where there are stacks: the engine of `perf diff`."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import attrs
from perfcore_check_kit import pairing
from perfcore_table_kit.functions import by_function

from perfcore.errors import FormatError
from perfcore.hookspecs import DIFF
from perfcore.model import EMPTY, Profile
from perfcore.model.listener import Listener, SilentListener
from perfcore.model.record import replace
from perfcore.plugins.drivers import guard
from perfcore.profile.benchmarks import is_suite
from perfcore.profile.stacks import has_stacks
from perfcore.profile.table import Column, ColumnSpec, Table
from perfcore.repository.repository import Repository
from perfcore.store.lookup import Ref, sources
from perfcore.text import plural, quantity
from perfcore_command_diff import matching, scaling
from perfcore_command_diff.matching import MatchedPair
from perfcore_command_diff.scaling import Scale
from perfcore_command_diff.suite import reduced

SCHEMA = 1  # of the JSON document
METHOD = "amounts"
BASELINE, TARGET = "baseline {}", "target {}"
_NOTES = {
    Scale.RUN: ("amounts are those of one run",),
    Scale.TOTAL: ("amounts of the target are scaled to the total of the baseline",),
}
_MEDIANS = ("amounts are medians of the runs",)


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


@attrs.frozen(kw_only=True)
class DiffSide:
    """The runs that a side of a difference is of. `runs` is None where the profile does not tell their number,
    `version` where it is of no version; `id` is that of a registered profile, and `name` how to name it again."""

    name: str
    id: str | None = None
    version: str | None = None
    dirty: bool = False
    runs: int | None = None

    @classmethod
    def of(cls, profile: Profile, ref: Ref | None) -> DiffSide:
        return cls(
            name=profile.label if ref is None else ref.name,
            id=None if ref is None or ref.entry is None else ref.entry.profile,
            version=(None if ref is None else ref.version) or profile.origin,
            dirty=profile.dirty,
            runs=profile.measured_runs,
        )

    def __str__(self) -> str:
        """`5 runs of 684b6c2901 with uncommitted changes`."""
        runs = "an unknown number of runs" if self.runs is None else plural(self.runs, "run")
        version = f" of {self.version[:10]}" if self.version else ""
        return f"{runs}{version}{' with uncommitted changes' if self.dirty else ''}"


# Without slots, because `functools.cached_property` needs the `__dict__` of the instance.
@attrs.frozen(kw_only=True, slots=False, eq=False)
class DiffResult:
    """The difference as a profile, for views and to be saved, and as a table of its first metric. `scale` is the one
    that the amounts have: `sum` where a profile does not tell its number of runs. `medians` says that they are those of
    the middle run, and not means."""

    profile: Profile = attrs.field(repr=False)
    sides: tuple[DiffSide, DiffSide]
    scale: Scale
    medians: bool = False
    matched: MatchedPair | None = attrs.field(default=None, repr=False)

    @functools.cached_property
    def table(self) -> DiffTable:
        """FormatError where the profile does not hold both values of any metric."""
        return table_of(self.profile)

    def as_json(self) -> dict[str, Any]:
        """As in docs/schemas/diff.json."""
        table = self.table
        return {
            "schema": SCHEMA,
            "sides": [attrs.asdict(side) for side in self.sides],
            "scale": str(self.scale),
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
    scale: Scale = Scale.RUN,
    refs: tuple[Ref | None, Ref | None] = (None, None),
    listener: Listener | None = None,
) -> DiffResult:
    """The difference that a plugin of the kind `diff` makes of two profiles. `options` of the plugin outweigh the
    configured ones; `refs` say where the two profiles are stored, if they are."""
    if unlike := pairing.configuration_difference(baseline, target):
        (listener or SilentListener()).note(f"the two profiles differ in configuration: {unlike}")
    sides = DiffSide.of(baseline, refs[0]), DiffSide.of(target, refs[1])
    matched = matching.match(repository, baseline, target, (sides[0].version, sides[1].version))
    medians = scaling.medians(*matched.profiles) if scale is Scale.RUN else None
    if medians is not None:
        baseline, target = medians
    else:
        baseline, target, scale = _comparable(*matched.profiles, scale, listener or SilentListener())
    plugin, driver = repository.plugins.make(DIFF, method, {**repository.plugin_options("diff", method), **options})
    with guard(plugin, "diff"):
        difference = driver.diff(baseline, target)
        notes = (*difference.notes, *(notes_of(scale) if medians is None else _MEDIANS))
        ids = sources([ref for ref in refs if ref is not None])
        profile = replace(difference, sources=ids, notes=notes)
        return DiffResult(profile=profile, sides=sides, scale=scale, medians=medians is not None, matched=matched)


def notes_of(scale: Scale) -> tuple[str, ...]:
    """What the profile of a difference says of its scale, for those that show it."""
    return _NOTES.get(scale, ())


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


def _comparable(baseline: Profile, target: Profile, scale: Scale, listener: Listener) -> tuple[Profile, Profile, Scale]:
    """Both profiles on one scale, with equal names for equal functions, and the scale that they have."""
    if is_suite(baseline) or is_suite(target):
        scale = Scale.RUN if scale is Scale.SUM else scale  # medians over runs are amounts of one run
    elif scale is Scale.SUM:
        _note_runs(baseline, target, listener)
    elif rates := scaling.per_run(baseline, target):
        baseline, target = rates
    elif scale is Scale.RUN:
        scale = Scale.SUM
    baseline, target = reduced(baseline), reduced(target)
    if scale is Scale.TOTAL:
        baseline, target = scaling.to_one_total(baseline, target)
    return baseline, target, scale


def _note_runs(baseline: Profile, target: Profile, listener: Listener) -> None:
    """Sums differ without any change where one profile has more runs."""
    before, after = baseline.measured_runs, target.measured_runs
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
