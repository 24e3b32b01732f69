"""The stacks of several profiles as one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from perfcore.errors import FormatError
from perfcore.profile.stack_dedup import is_usual, joined, others
from perfcore.profile.stacks import NAMES, referring, renumbered
from perfcore.profile.table import Table, Value, column, concat


def join(profiles: Sequence[Mapping[str, Table]]) -> tuple[dict[str, Table], list[dict[str, Table]]]:
    """(the stacks of several profiles as one, the other tables of each in their numbering). Lines are those of
    the last profile that knows them. FormatError where the tables of stacks differ in their columns."""
    union: dict[str, Table] = {}
    moved = []
    lines: dict[int, Value] = {}
    for tables in profiles:
        if not any(name in tables for name in NAMES) and not any(map(_refers, tables.values())):
            moved.append(dict(tables))  # of a command that ended before the first sample
            continue
        if not is_usual(tables):
            raise FormatError("the profiles have stacks that cannot be joined: their tables have other columns")
        tables_in_order = renumbered(tables)
        new_rows, positions = joined(union, tables_in_order)
        union = {name: concat([union[name], new_rows[name]]) if union else new_rows[name] for name in NAMES}
        moved.append(others(tables_in_order, positions))
        if (line := tables_in_order["functions"].get("line")) is not None:
            lines |= {at: value for at, value in zip(positions["function"], line, strict=True) if value is not None}
    functions = union["functions"]
    line = column("line", [lines.get(at) for at in range(functions.rows)], dtype="i64")
    return {**union, "functions": functions.with_columns(line)}, moved


def _refers(source: Table) -> bool:
    """Whether a row is about a stack, frame or function."""
    return any(value is not None for name in referring(source) for value in source[name])
