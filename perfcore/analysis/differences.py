"""A difference of two profiles as a table for people and as JSON for machines: by function where there are stacks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs

from perfcore.errors import FormatError
from perfcore.model import Profile
from perfcore.profile.functions import by_function
from perfcore.profile.stacks import has_stacks
from perfcore.profile.table import Column, ColumnSpec, Table
from perfcore.text import align, clip, percent, plural, printable, quantity

SCHEMA = 1
BASELINE, TARGET = "baseline {}", "target {}"
_WIDEST = 60


@attrs.frozen(kw_only=True)
class Difference:
    """What changed in one place: a function, or what the dimensions of a row say. `own` is the change in the
    function's own code, None where there are no stacks."""

    place: str
    file: str = ""
    baseline: float
    target: float
    own: float | None = None

    @property
    def change(self) -> float:
        return self.target - self.baseline


@attrs.frozen(kw_only=True)
class Differences:
    """All of one metric, the greatest first, and its whole amounts on both sides."""

    metric: str
    unit: str
    baseline: float
    target: float
    places: tuple[Difference, ...]


def differences(profile: Profile) -> Differences:
    """What a profile made by a diff says of its first metric that has both sides beside it."""
    resources = profile.table("resources")
    metric = _metric(resources)
    if resources is None or metric is None:
        raise FormatError(
            "the difference does not hold both amounts of any metric", hint="show it: perf diff --view table"
        )
    places = _functions(profile, metric) if has_stacks(profile.tables) else _rows(resources, metric)
    kept = sorted((p for p in places if p.change or p.own), key=lambda p: (-abs(p.own or 0), -abs(p.change), p.place))
    before, after = (_whole(resources, side.format(metric.name)) for side in (BASELINE, TARGET))
    return Differences(metric=metric.name, unit=metric.unit, baseline=before, target=after, places=tuple(kept))


def as_json(found: Differences) -> dict[str, Any]:
    places = [{**attrs.asdict(place), "change": place.change} for place in found.places]
    return {"schema": SCHEMA, **attrs.asdict(found, recurse=False), "places": places}


def lines(found: Differences, names: Sequence[str], head: int) -> list[str]:
    """The first `head` places, all for 0, under a line of what was compared."""
    unit = found.unit
    ratio = f" ({percent(found.target / found.baseline)})" if found.baseline > 0 else ""
    whole = f"{quantity(found.baseline, unit)} -> {quantity(found.target, unit)}{ratio}"
    text = [f"baseline: {names[0]}", f"target:   {names[1]}", f"{printable(found.metric)}: {whole}", ""]
    shown = found.places[:head] if head else found.places
    if not shown:
        return [*text, "no difference"]
    has_own = any(place.own is not None for place in shown)
    header = ("own change", "change", "baseline", "target", "function", "file")
    rows: list[tuple[str, ...]] = [header if has_own else ("change", "baseline", "target", "where")]
    rows += [_cells(place, unit, has_own) for place in shown]
    text += align(rows, right=range(4 if has_own else 3))
    if len(shown) < len(found.places):
        text.append(f"… and {plural(len(found.places) - len(shown), 'more place')} (--head 0 prints all)")
    return text


def _cells(place: Difference, unit: str, has_own: bool) -> tuple[str, ...]:
    cells = (
        _signed(place.change, unit),
        quantity(place.baseline, unit),
        quantity(place.target, unit),
        clip(printable(place.place), _WIDEST),
    )
    return (_signed(place.own or 0, unit), *cells, clip(printable(place.file), _WIDEST)) if has_own else cells


def _signed(value: float, unit: str) -> str:
    return ("+" if value > 0 else "") + quantity(value, unit)


def _metric(resources: Table | None) -> ColumnSpec | None:
    for column in resources.values() if resources is not None else ():
        if resources is not None and {BASELINE.format(column.name), TARGET.format(column.name)} <= set(resources.names):
            return column.spec
    return None


def _whole(resources: Table, name: str) -> float:
    return sum(value for value in resources[name] if isinstance(value, int | float))


def _functions(profile: Profile, metric: ColumnSpec) -> list[Difference]:
    before, after = (by_function(profile.tables, side.format(metric.name)) for side in (BASELINE, TARGET))
    return [
        Difference(place=b.name, file=b.file, baseline=b.total, target=a.total, own=a.own - b.own)
        for b, a in zip(before, after, strict=True)
    ]


def _rows(resources: Table, metric: ColumnSpec) -> list[Difference]:
    sides = {side.format(column.name) for column in resources.values() for side in (BASELINE, TARGET)}
    dimensions = [c for c in resources.columns if c.role == "dimension" and c.name not in sides]
    places = zip(*map(_told, dimensions), strict=True) if dimensions else [()] * resources.rows
    before, after = (resources[side.format(metric.name)] for side in (BASELINE, TARGET))
    return [
        Difference(place=", ".join(filter(None, place)) or "all", baseline=_n(b), target=_n(a))
        for place, b, a in zip(places, before, after, strict=True)
    ]


def _told(column: Column) -> list[str]:
    """A text tells what it is, a number needs its name: `cpu 3`. One that is missing is not all of them."""
    if column.dtype == "str":
        return [str(value or "") for value in column]
    return [f"{column.name} {'unknown' if value is None else value}" for value in column]


def _n(value: object) -> float:
    return value if isinstance(value, int | float) else 0
