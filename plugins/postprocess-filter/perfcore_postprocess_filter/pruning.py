"""What nothing refers to any more: stacks without resources, frames without stacks, functions without frames.

A column of whole numbers that is called `stack`, `frame` or `function` refers to rows of these tables, whatever table
it stands in, and so does `parent` in `stacks`.
"""

from __future__ import annotations

from array import array
from itertools import accumulate
from typing import TYPE_CHECKING

from perfcore.profile.table import CODES, from_buffer
from perfcore_postprocess_filter.references import followed, refers
from perfcore_postprocess_filter.selection import flagged

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from perfcore.profile.table import Table

_TARGETS = {"stack": "stacks", "frame": "frames", "function": "functions"}


def pruned(tables: Mapping[str, Table]) -> dict[str, Table]:
    """The tables with only those stacks, frames and functions that are in use, in the order they had. FormatError
    for a reference to a row that is not there."""
    result = dict(tables)
    for column, target in _TARGETS.items():
        users = [name for name, table in result.items() if name != target and refers(table.get(column))]
        if target in result and users:
            result |= _pruned(result, users, column, target)
    return result


def _pruned(tables: Mapping[str, Table], users: Sequence[str], column: str, name: str) -> dict[str, Table]:
    """The table of this name without what is not used, and its users with the new numbers; nothing where all is."""
    target = tables[name]
    references = {user: followed(tables[user], column, target) for user in users}
    parents = followed(target, "parent", target) if name == "stacks" and "parent" in target.names else None
    used = _used(references.values(), parents, target.rows)
    if all(used):
        return {}
    numbers = _numbers(used)
    if parents is not None:
        target = _renumbered(target, "parent", parents, numbers)
    changed = {user: _renumbered(tables[user], column, rows, numbers) for user, rows in references.items()}
    return {**changed, name: flagged(target, used[:-1])}


def _used(references: Iterable[Sequence[int]], parents: Sequence[int] | None, rows: int) -> bytearray:
    """A flag for each row that is referred to, itself or through its children; a last one, always 1, for nowhere."""
    used = bytearray(rows + 1)
    used[-1] = 1
    for referring in references:
        for row in referring:
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
    numbers = array("q", accumulate(used[:-1], initial=0))
    numbers[-1] = 0
    return numbers


def _renumbered(table: Table, name: str, references: Sequence[int], numbers: array[int]) -> Table:
    column = table[name]
    data = array(CODES[column.dtype], map(numbers.__getitem__, references))
    return table.with_columns(from_buffer(column.spec, data, column.valid))
