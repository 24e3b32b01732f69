"""What the tables of stacks say of each other, by the numbers of rows, which count from 0.

A row of `resources` refers to a row of `stacks`, that one to its parent and to a row of `frames`, and that one to a
row of `functions`. A missing reference leads nowhere.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

from perfcore.errors import FormatError
from perfcore.text import printable
from perfcore_postprocess_filter.selection import there

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perfcore.profile.table import Column, Table

NOWHERE = -1


def refers(column: Column | None) -> bool:
    """Whether a column can hold numbers of rows."""
    return column is not None and column.dtype in ("i64", "u64")


def followed(table: Table, name: str, target: Table) -> Sequence[int]:
    """The row of the target that each row refers to, or NOWHERE; FormatError where there is no such row."""
    column = table[name]
    if not refers(column):
        raise FormatError(f"filter: column {name!r} of table {printable(table.name)!r} holds no numbers of rows")
    found: Sequence[int] = column.data
    if column.valid is not None:
        pairs = zip(column.data, there(column), strict=True)
        found = array("q", [_within(to, target) if known else NOWHERE for to, known in pairs])
    if found and (max(found) >= target.rows or (column.valid is None and min(found) < 0)):
        raise _dangling(table, column, target)
    return found


def _within(row: int, target: Table) -> int:
    """The number itself where it is that of a row; else one that is not and fits 64 bits."""
    return row if 0 <= row < target.rows else target.rows


def _dangling(table: Table, column: Column, target: Table) -> FormatError:
    row, to = next((row, to) for row, to in enumerate(column) if to is not None and not 0 <= int(to) < target.rows)
    what = f"row {row} of table {printable(table.name)!r} refers to row {to} of {target.name!r}"
    return FormatError(f"filter: {what}, which has {target.rows}")
