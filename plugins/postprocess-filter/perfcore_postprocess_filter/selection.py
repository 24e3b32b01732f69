"""Some rows of a table by a flag, 0 or 1, for each."""

from __future__ import annotations

from array import array
from itertools import compress
from typing import TYPE_CHECKING

from perfcore.profile import bitmap

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perfcore.profile.table import Column, Table


def flagged(table: Table, flags: bytes | bytearray) -> Table:
    """The rows whose flag is 1; the table itself where all are."""
    return table if all(flags) else table.take(array("q", compress(range(table.rows), flags)))


def there(column: Column) -> bytes:
    """The flags of the rows that have a value."""
    return b"\1" * len(column) if column.valid is None else bitmap.flags(column.valid, len(column))


def raised(rows: Sequence[int], count: int) -> bytearray:
    """Flags for `count` rows, with those of these rows raised."""
    flags = bytearray(count)
    for row in rows:
        flags[row] = 1
    return flags
