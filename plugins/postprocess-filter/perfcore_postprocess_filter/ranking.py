"""The largest rows of a metric: so many, those that make a share, or those above one.

Rows whose amount is missing or NaN are in no top and in no share. Of equal amounts the earlier row comes first.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import defaultdict
from fractions import Fraction
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from perfcore_table_kit.expression import main_value

from perfcore.errors import UsageError, nearest
from perfcore.text import printable
from perfcore_postprocess_filter.selection import there

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from perfcore.profile.table import Column, Table
    from perfcore_postprocess_filter.driver import FilterSettings


def asked(settings: FilterSettings) -> list[str]:
    """The options that ask for the largest rows."""
    return [name for name in _RANKS if getattr(settings, name) is not None]


def largest(table: Table, rows: Sequence[int], settings: FilterSettings) -> Sequence[int]:
    """Those of the rows that the options ask for, of each group; all where they ask for none."""
    for name in asked(settings):
        column = _by(table, settings.by)
        metric, groups = _Metric(table, column), _groups(table, _comparable(column, rows), settings.per)
        return [row for group in groups for row in _RANKS[name](metric, group, getattr(settings, name))]
    return rows


class _Metric:
    """The amounts by which rows are ranked. The groups of rows that its methods take are never empty."""

    def __init__(self, table: Table, column: Column) -> None:
        self.what = f"column {_shown(column)} of table {_shown(table)}"
        self.amounts: list[Any] = column.data.tolist()

    def top(self, rows: Sequence[int], count: int) -> Sequence[int]:
        return sorted(rows, key=self.amounts.__getitem__, reverse=True)[:count]

    def share(self, rows: Sequence[int], percent: float) -> Sequence[int]:
        """The fewest rows that make at least the share; of floats as exactly as they can be summed."""
        order = self.top(rows, len(rows))
        # From the largest to the smallest, so the sums only grow and can be searched by halves.
        running = list(accumulate(map(self.amounts.__getitem__, order)))
        threshold = self._portion(self.amounts[order[-1]], running[-1], percent)
        return order[: bisect_left(running, threshold) + 1] if threshold > 0 else ()

    def over(self, rows: Sequence[int], percent: float) -> Sequence[int]:
        values = [self.amounts[row] for row in rows]
        bound = self._portion(min(values), _total(values), percent)
        if isinstance(bound, Fraction):
            bound = math.floor(bound)  # means the same for whole amounts, which compare with it far quicker
        return [row for row, value in zip(rows, values, strict=True) if value > bound]

    def _portion(self, smallest: float, total: float, percent: float) -> Any:
        """So many percent of the total, exactly for whole numbers."""
        reason = "has negative amounts" if smallest < 0 else "" if math.isfinite(total) else "has no finite sum"
        if reason:
            hint = "use --top, or choose with --expression"
            raise UsageError(f"filter: {self.what} {reason}, so there are no shares of it", hint=hint)
        # By its text: the float 0.1 is a little more than what the user wrote, which could take one row too many.
        fraction = Fraction(str(percent)) / 100
        return total * (fraction if isinstance(total, int) else float(fraction))


_RANKS: Mapping[str, Callable[[_Metric, Sequence[int], Any], Sequence[int]]] = {
    "top": _Metric.top,
    "share": _Metric.share,
    "over": _Metric.over,
}


def _total(values: Sequence[Any]) -> float:
    """Exactly for whole numbers, correctly rounded for floats; infinite where there is none."""
    if isinstance(values[0], int):
        total: int = sum(values)
        return total
    try:
        # Exact up to one rounding (J. R. Shewchuk, Adaptive Precision Floating-Point Arithmetic, 1997).
        return math.fsum(values)
    except (OverflowError, ValueError):  # beyond floats, or both infinities
        return math.inf


def _comparable(column: Column, rows: Sequence[int]) -> Sequence[int]:
    """The rows that have an amount which is a number."""
    if column.valid is not None:
        present = there(column)
        rows = [row for row in rows if present[row]]
    if column.dtype == "f64":
        data = column.data
        rows = [row for row in rows if not math.isnan(data[row])]
    return rows


def _groups(table: Table, rows: Sequence[int], per: str) -> Iterable[Sequence[int]]:
    """The rows of each run or snapshot, those that belong to none together; or all."""
    if per == "whole":
        return [rows] if rows else []
    values = list(_column(table, per))
    groups = defaultdict(list)
    for row in rows:
        groups[values[row]].append(row)
    return groups.values()


def _by(table: Table, name: str | None) -> Column:
    column = main_value(table) if name is None else _column(table, name)
    if column is None:
        raise UsageError(f"filter: table {_shown(table)} has no value column to rank by", hint="name one with --by")
    if column.dtype not in ("i64", "u64", "f64"):
        raise UsageError(f"filter: column {_shown(column)} of table {_shown(table)} holds no numbers to rank by")
    return column


def _column(table: Table, name: str) -> Column:
    column = table.get(name)
    if column is None:
        printable_name, column_names = printable(name), list(map(printable, table.names))
        near, has = nearest(printable_name, column_names), f"it has {', '.join(column_names) or 'none'}"
        message = f"filter: table {_shown(table)} has no column {printable_name!r}"
        raise UsageError(message, hint=f"{near} {has}" if near else has)
    return column


def _shown(named: Column | Table) -> str:
    return repr(printable(named.name))
