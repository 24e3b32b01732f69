"""Which rows and columns of a profile are shown, and in which order."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import attrs
from perfcore_table_kit.expression import matching, parse

from perfcore.errors import UsageError, nearest
from perfcore.model.record import replace
from perfcore.profile import bitmap
from perfcore.profile.stacks import has_stacks
from perfcore.profile.table import Table, concat
from perfcore.text import printable
from perfcore_view_table.functions import with_functions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from perfcore.model import Profile
    from perfcore.profile.table import Column
    from perfcore_view_table.view import TableSettings


@attrs.frozen
class Selection:
    """What is shown of one profile: the rows of these numbers, of a table that has the wanted columns only.

    `matched` is how many rows there were before those beyond the head or tail were left out; `bounded` says
    that nobody had asked for the bound.
    """

    name: str
    table: Table
    rows: Sequence[int]
    matched: int
    bounded: bool


def select(profile: Profile, name: str, settings: TableSettings, most: int | None) -> Selection:
    """The selection that the settings ask for; at most the first `most` rows where they do not say."""
    first = most if settings.head is None else settings.head
    if settings.tail is None and first is not None and _has_parts(profile):
        table, matched = _first_rows(profile, settings, first)
        rows = _matching_rows(settings, table)
    else:
        table = with_functions(_with_units(profile.tables[settings.table], profile), profile)
        rows = _matching_rows(settings, table)
        matched = len(rows)
    bounded = settings.head is None and settings.tail is None and most is not None
    head = most if bounded else settings.head
    visible_rows = rows[:head] if settings.tail is None else rows[max(0, len(rows) - settings.tail) :]
    columns = list(_columns(table, settings.columns)) if settings.columns else list(table.columns)
    return Selection(name, Table(table.name, tuple(columns), table.rows), visible_rows, matched, bounded)


def _has_parts(profile: Profile) -> bool:
    """Whether tables are read part by part. Stacks are needed as a whole."""
    return hasattr(profile.tables, "parts") and not has_stacks(profile.tables)


def _first_rows(profile: Profile, settings: TableSettings, count: int) -> tuple[Table, int]:
    """(the rows among which the first `count` are, in their order; how many match), of a table that is read part by
    part: of each only the first are kept."""
    tables: Any = profile.tables
    kept: list[Table] = []
    matched = 0
    for part in tables.parts(settings.table):
        table = _with_units(part, profile)
        rows = _matching_rows(settings, table)
        matched += len(rows)
        if len(rows) or not kept:  # a table of no row is another thing than one of which none matches
            kept.append(table.take(sorted(rows[:count])) if len(rows) else table.slice(0, 1))
        if settings.filter is None and not settings.sort and matched >= count:
            return concat(kept), tables.rows(settings.table)
    return concat(kept), matched


def _matching_rows(settings: TableSettings, table: Table) -> Sequence[int]:
    """The rows that the filter lets through, in the order that is asked for."""
    rows: Sequence[int] = range(table.rows)
    if settings.filter is not None:
        rows = matching(parse(settings.filter), table)
    # The least important first: sorting is stable, so the last one decides.
    for column, descending in reversed(list(_sort_keys(table, settings.sort))):
        rows = _ordered(column, rows, descending)
    return rows


def _with_units(table: Table, profile: Profile) -> Table:
    """The table with the units that the profile's header says where a column does not."""
    units = profile.header.units
    return table.with_columns(
        *(
            replace(column, spec=replace(column.spec, unit=units[column.name]))
            for column in table.columns
            if column.name in units and not column.unit
        )
    )


def _columns(table: Table, wanted: Iterable[str]) -> Iterator[Column]:
    """Each once, in the order in which they are first named."""
    for name in dict.fromkeys(_separate(table, wanted)):
        yield _column(table, name)


def _sort_keys(table: Table, wanted: Iterable[str]) -> Iterator[tuple[Column, bool]]:
    """(column, whether descending); a column whose own name begins with a hyphen is found by it."""
    for name in _separate(table, wanted):
        descending = name.startswith("-") and table.get(name) is None
        yield _column(table, name[1:] if descending else name), descending


def _separate(table: Table, wanted: Iterable[str]) -> Iterator[str]:
    """The names, those separated by commas too, unless the whole is a column's name."""
    for text in wanted:
        if table.get(text) is not None:
            yield text
        else:
            yield from filter(None, map(str.strip, text.split(",")))


def _column(table: Table, name: str) -> Column:
    column = table.get(name)
    if column is None:
        printable_name, column_names = printable(name), [printable(existing) for existing in table.names]
        listing = f"it has {', '.join(column_names) or 'none'}"
        hint = "; ".join(filter(None, (nearest(printable_name, column_names), listing)))
        raise UsageError(f"table {printable(table.name)!r} has no column {printable_name!r}", hint=hint)
    return column


def _ordered(column: Column, rows: Sequence[int], descending: bool) -> list[int]:
    """The rows by this column, equal ones as they were; NaN come after numbers, missing values at the end."""
    present, missing = _apart(rows, _is_there(column))
    numbers, nans = _apart(present, _is_number(column))
    return [*sorted(numbers, key=_sort_value(column), reverse=descending), *nans, *missing]


def _apart(rows: Sequence[int], first: Callable[[int], object] | None) -> tuple[Sequence[int], Sequence[int]]:
    """The rows for which `first` is true and the others; all are first where it is None."""
    if first is None:
        return rows, ()
    return [row for row in rows if first(row)], [row for row in rows if not first(row)]


def _is_there(column: Column) -> Callable[[int], object] | None:
    return None if column.valid is None else bitmap.flags(column.valid, len(column)).__getitem__


def _is_number(column: Column) -> Callable[[int], object] | None:
    if column.dtype != "f64":
        return None
    data = column.data
    return lambda row: not math.isnan(data[row])


def _sort_value(column: Column) -> Callable[[int], Any]:
    """What a row is sorted by: text by the rank of its entry in the sorted dictionary."""
    if column.dtype != "str":
        return column.data.tolist().__getitem__
    rank = {text: position for position, text in enumerate(sorted(set(column.dictionary)))}
    # Texts are sorted once in the dictionary; rows then compare numbers.
    ranks = [rank[text] for text in column.dictionary]
    codes = column.data
    return lambda row: ranks[codes[row]]
