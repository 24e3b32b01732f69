"""What nothing refers to any more: stacks without resources, frames without stacks, functions without frames.

Unlike `perfcore.profile.stacks.renumbered` this keeps their order, which is quicker where most are left.
"""

from __future__ import annotations

from array import array
from itertools import accumulate
from typing import TYPE_CHECKING

from perfcore.named_tuple import NamedTuple
from perfcore.profile.stacks import has_stacks, references, referring
from perfcore.profile.table import CODES, from_buffer
from perfcore_postprocess_filter.selection import flagged

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from perfcore.profile.table import Table


class _Link(NamedTuple):
    """A column that refers to rows of a table; it stands in the source, if any, and wherever rows have stacks."""

    column: str
    target: str
    source: str = ""


_LINKS = (_Link("stack", "stacks"), _Link("frame", "frames", "stacks"), _Link("function", "functions", "frames"))


def pruned(tables: Mapping[str, Table]) -> dict[str, Table]:
    """The tables with only those stacks, frames and functions that are in use, in the order they had. FormatError
    for a reference to a row that is not there."""
    result = dict(tables)
    for link in _LINKS if has_stacks(tables) else ():
        result |= _pruned(result, link)
    return result


def _pruned(tables: Mapping[str, Table], link: _Link) -> dict[str, Table]:
    """The target without what is not used, and its users with the new numbers; nothing where all is."""
    target = tables[link.target]
    users = [name for name, table in tables.items() if name == link.source or link.column in referring(table)]
    rows = {user: references(tables[user], link.column, tables) for user in users}
    # Only stacks have parents, and stacks are the first link: its table has no source.
    parents = None if link.source else references(target, "parent", tables)
    used = _used(rows.values(), parents, target.rows)
    if all(used):
        return {}
    numbers = _numbers(used)
    if parents is not None:
        target = _renumbered(target, "parent", parents, numbers)
    changed = {user: _renumbered(tables[user], link.column, rows[user], numbers) for user in users}
    return {**changed, link.target: flagged(target, used[:-1])}


def _used(uses: Iterable[Sequence[int]], parents: Sequence[int] | None, count: int) -> bytearray:
    """A flag for each row that is referred to, itself or through its children; a last one, always 1, for nowhere."""
    used = bytearray(count + 1)
    used[-1] = 1
    for rows in uses:
        for row in rows:
            used[row] = 1
    if parents is not None:
        for row, at in enumerate(parents):
            if used[row]:
                while not used[at]:
                    used[at] = 1
                    at = parents[at]
    return used


def _numbers(used: bytearray) -> array[int]:
    """The new number of each row that is used; 0, the item of what is missing, for nowhere."""
    # The number of used rows before each row is its new number; one item more than rows stands for nowhere.
    numbers = array("q", accumulate(used[:-1], initial=0))
    numbers[-1] = 0
    return numbers


def _renumbered(table: Table, name: str, rows: Sequence[int], numbers: array[int]) -> Table:
    column = table[name]
    data = array(CODES[column.dtype], map(numbers.__getitem__, rows))
    return table.with_columns(from_buffer(column.spec, data, column.valid))
