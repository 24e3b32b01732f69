"""Rows of several profiles that are about the same, side by side: what sums and differences are made of.

Rows are about the same where all their columns of the roles `dimension` and `benchmark` are equal; a stack is its path
of functions and lines, whatever its number. Columns of the role `order` (run, time) are left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import attrs

from perfcore.errors import FormatError
from perfcore.model import Profile
from perfcore.model.record import replace
from perfcore.profile.stacks import NAMES, has_stacks
from perfcore.profile.table import Column, ColumnBuilder, ColumnSpec, Table
from perfcore.text import printable
from perfcore_table_kit.stack_union import join

RESOURCES = "resources"

Number: TypeAlias = int | float
Key: TypeAlias = tuple[Hashable, ...]


@attrs.frozen
class Groups:
    """What several profiles say of the same things. `keys` are the values of the columns `dimensions`;
    `amounts[metric.name][key][i]` is the sum of a metric in profile i, None where it says nothing. `stacks`
    are the tables of stacks that the keys refer to."""

    dimensions: tuple[ColumnSpec, ...]
    metrics: tuple[ColumnSpec, ...]
    keys: tuple[Key, ...]
    amounts: Mapping[str, Mapping[Key, Sequence[Number | None]]]
    stacks: Mapping[str, Table]

    def tables(self, values: Sequence[tuple[ColumnSpec, Callable[[str, Key], Number | None]]]) -> dict[str, Table]:
        """`resources` with a row for each key, and the stacks. A value column is its spec and what gives its
        values; a spec's name may be that of a metric, or another."""
        columns = [_column(spec, [key[at] for key in self.keys]) for at, spec in enumerate(self.dimensions)]
        columns += [_column(spec, [value(spec.name, key) for key in self.keys]) for spec, value in values]
        return {RESOURCES: Table(RESOURCES, tuple(columns), len(self.keys)), **self.stacks}


def group(profiles: Sequence[Profile]) -> Groups:
    """FormatError where profiles are of different types or have different columns."""
    resources, stacks = _resources(profiles)
    first = resources[0]
    for table in resources[1:]:
        if _shape(table) != _shape(first):
            raise FormatError(f"the profiles have different columns: {_only(first, table)}; {_only(table, first)}")
    dimensions = tuple(c.spec for c in first.columns if c.role in ("dimension", "benchmark"))
    metrics = tuple(c.spec for c in first.columns if c.role == "value" and c.dtype in ("i64", "u64", "f64"))
    if not metrics:
        raise FormatError("the profiles have no column of values")
    order: dict[Key, None] = {}
    amounts: dict[str, dict[Key, list[Number | None]]] = {metric.name: {} for metric in metrics}
    for at, table in enumerate(resources):
        keys = list(zip(*(table[spec.name] for spec in dimensions), strict=True)) if dimensions else [()] * table.rows
        order.update(dict.fromkeys(keys))
        for metric in metrics:
            _sum_up(keys, table[metric.name], amounts[metric.name], at, len(resources))
    return Groups(dimensions, metrics, tuple(order), amounts, stacks)


def together(values: Iterator[Number | None] | Sequence[Number | None]) -> Number | None:
    """The sum of what is there, None where nothing is."""
    present = [value for value in values if value is not None]
    return sum(present) if present else None


def difference(baseline: Number | None, target: Number | None) -> Number | None:
    """Target less baseline, what is missing on one side counted as 0; equal infinities and NaNs differ by 0."""
    if baseline is None and target is None:
        return None
    before, after = baseline or 0, target or 0
    if before == after or (math.isnan(before) and math.isnan(after)):
        return 0 if isinstance(before, int) and isinstance(after, int) else 0.0
    return after - before


def _resources(profiles: Sequence[Profile]) -> tuple[list[Table], dict[str, Table]]:
    """(the resources of each, in one numbering of stacks; these stacks)."""
    first = profiles[0]
    for profile in profiles:
        if profile.header.type != first.header.type:
            raise FormatError(f"the profiles are of different types: {first.header.type}, {profile.header.type}")
        if profile.table(RESOURCES) is None:
            raise FormatError("a profile has no resources")
    if not any(has_stacks(profile.tables) for profile in profiles):
        return [profile.tables[RESOURCES] for profile in profiles], {}
    required = (RESOURCES, *NAMES)
    stacks, others = join([{name: p.tables[name] for name in required if name in p.tables} for p in profiles])
    return [tables[RESOURCES] for tables in others], stacks


def _sum_up(keys: Sequence[Key], values: Column, sums: dict[Key, list[Number | None]], at: int, profiles: int) -> None:
    value: Any
    for key, value in zip(keys, values, strict=True):
        if value is None:
            continue
        row = sums.get(key)
        if row is None:
            row = sums[key] = [None] * profiles
        column_sum = row[at]
        # Missing stays missing until there is a value: 0 would be a measurement.
        row[at] = value if column_sum is None else column_sum + value


def _column(spec: ColumnSpec, values: Sequence[Any]) -> Column:
    """A column of these values. Sums of whole numbers may need a wider type than what they are sums of."""
    try:
        builder = ColumnBuilder(spec.name, spec)
        builder.extend(values)
    except (FormatError, OverflowError):
        builder = ColumnBuilder(spec.name)
        builder.extend(values)
    built = builder.build(len(values))
    return replace(built, spec=replace(spec, dtype=built.dtype))


def _shape(table: Table) -> set[tuple[str, str, str]]:
    """The columns that count; whole numbers may be signed in one profile and not in another."""
    columns = (column for column in table.columns if column.role != "order")
    return {(c.name, "int" if c.dtype in ("i64", "u64") else c.dtype, c.unit) for c in columns}


def _only(table: Table, other: Table) -> str:
    """The columns that one of two tables has alone."""
    unmatched = sorted(_shape(table) - _shape(other))
    return printable(", ".join(f"{name} ({unit or dtype})" for name, dtype, unit in unmatched)) or "nothing more"
