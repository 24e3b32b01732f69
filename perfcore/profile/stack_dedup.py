"""Deduplication of stacks: a profile continues the rows of an earlier one and stores only those that are new.

The line of a function does not identify it. Lines are stored apart, in the profile's own table with a value for each
row, so that code that only moves changes no shared row.
"""

from __future__ import annotations

import operator
from array import array
from collections.abc import Iterable, Mapping, Sequence
from itertools import compress
from typing import TypeAlias, TypeVar

from perfcore.model.record import Record
from perfcore.profile.stacks import NAMES, NOWHERE, has_stacks, references, referring, renumbered, with_references
from perfcore.profile.table import Column, ColumnBuilder, Table

MAX_PIECES = 64  # of a chain; with more, readers join longer ones, with fewer, stacks are stored anew more often
# Rows of others that even a small profile may carry along: a piece. With fewer, chains begin anew more often;
# with more, readers of small profiles decode more that is not theirs.
_SPARE_ROWS = 65_536
_COLUMNS = {"frames": ("function", "offset"), "stacks": ("parent", "frame")}
_LOCAL = {"functions": ("line",)}

Rows: TypeAlias = Sequence[int]
_Key = TypeVar("_Key")


class Chain(Record, frozen=True):
    """A table in pieces that other profiles may continue: the bytes of each, and what they say together."""

    pieces: tuple[bytes, ...]
    table: Table


class Split(Record, frozen=True):
    """A profile in the numbering of an earlier one: the pieces that it continues (`earlier`, none where it starts
    anew), its rows that are new, the columns that it alone has, with a value for each row of both (`local`), and all
    its other tables."""

    earlier: Mapping[str, Chain]
    new_rows: Mapping[str, Table]
    local: Mapping[str, Table]
    others: Mapping[str, Table]


def split(tables: Mapping[str, Table], earlier: Mapping[str, Chain]) -> Split | None:
    """The profile on top of an earlier one's stacks. None where its stacks cannot be shared: they have other
    columns than is usual, or two functions of one name and file, or nothing uses them."""
    if not is_usual(tables):
        return None
    tables_in_order = renumbered(tables)
    if not all(tables_in_order[name].rows for name in NAMES):
        return None
    if not _can_continue(earlier, tables_in_order):
        earlier = {}
    base = {name: chain.table for name, chain in earlier.items()}
    new_rows, positions = joined(base, tables_in_order)
    if len(set(positions["function"])) < len(positions["function"]):  # a row has room for one line
        return None
    rows = new_rows["functions"].rows + (base["functions"].rows if base else 0)
    return Split(
        earlier=earlier,
        new_rows=new_rows,
        local={"functions": _local(tables_in_order["functions"], positions["function"], rows)},
        others=others(tables_in_order, positions),
    )


def is_usual(tables: Mapping[str, Table]) -> bool:
    """Whether there are stacks, in tables of the usual columns."""
    return has_stacks(tables) and all(tables[name].names == columns for name, columns in _COLUMNS.items())


def joined(base: Mapping[str, Table], own: Mapping[str, Table]) -> tuple[dict[str, Table], dict[str, Rows]]:
    """(the rows that are new, where each row of the profile's stands now by what refers to it)."""
    functions, new_functions = _functions(base, _identity(own["functions"]))
    frames, new_frames = _frames(base, own, functions)
    stacks, new_stacks = _stacks(base, own, frames)
    new_rows = {"functions": new_functions, "frames": new_frames, "stacks": new_stacks}
    return new_rows, {"function": functions, "frame": frames, "stack": stacks}


def others(own: Mapping[str, Table], positions: Mapping[str, Rows]) -> dict[str, Table]:
    """The other tables with their references taken to where the rows stand now."""
    return {name: _renamed(table, positions) for name, table in own.items() if name not in NAMES}


def _can_continue(earlier: Mapping[str, Chain], own: Mapping[str, Table]) -> bool:
    """Whether the earlier tables have the same columns, and few rows that this profile has no use for."""
    return bool(earlier) and all(
        _specs(chain.table) == _specs(_identity(own[name]))
        and len(chain.pieces) < MAX_PIECES
        and chain.table.rows <= 2 * own[name].rows + _SPARE_ROWS
        for name, chain in earlier.items()
    )


def _specs(table: Table) -> list[object]:
    return [column.spec for column in table.columns]


def _identity(table: Table) -> Table:
    """The columns that say which function, frame or stack a row is."""
    columns = [column for column in table.columns if column.name not in _LOCAL.get(table.name, ())]
    return Table(table.name, tuple(columns), table.rows)


def _functions(base: Mapping[str, Table], own: Table) -> tuple[list[int], Table]:
    before = base.get("functions")
    base_keys = zip(*before.columns, strict=True) if before else ()
    positions, new_rows = _number(base_keys, zip(*own.columns, strict=True))
    return positions, own.take(new_rows)


def _frames(base: Mapping[str, Table], own: Mapping[str, Table], functions: Rows) -> tuple[list[int], Table]:
    table = own["frames"]
    function = _follow(references(table, "function", own), functions)
    before = base.get("frames")
    base_keys = zip(references(before, "function", base), before["offset"], strict=True) if before else ()
    positions, new_rows = _number(base_keys, zip(function, table["offset"], strict=True))
    return positions, with_references(table.take(new_rows), "function", _follow(new_rows, function))


def _stacks(base: Mapping[str, Table], own: Mapping[str, Table], frames: Rows) -> tuple[Rows, Table]:
    table = own["stacks"]
    parent = references(table, "parent", own)
    frame: Rows = references(table, "frame", own)
    if not base and frames == list(range(len(frames))) and _are_distinct(parent, frame, table["parent"].leaps):
        return range(table.rows), table  # of many rows keys take much more memory than the rows themselves
    base_rows = base["stacks"].rows if base else 0
    before = base.get("stacks", table).slice(0, base_rows)  # whose columns nobody else has: their numbers grow here
    parents, numbers = (references(before, name, base or own) for name in table.names)
    width = max(max(numbers, default=NOWHERE), *frames) + 2
    # Most rows stand on the row before them, and are found there; a key is kept of the others alone.
    branches = {parents[row] * width + numbers[row]: row for row in before["parent"].leaps}
    positions = array("i")
    for up, to in zip(parent, map((*frames, NOWHERE).__getitem__, frame), strict=True):
        up = up if up == NOWHERE else positions[up]  # a parent stands before its children
        row = up + 1
        if row >= len(parents) or parents[row] != up or numbers[row] != to:
            row = branches.get(up * width + to, NOWHERE)
            if row == NOWHERE:
                row = len(parents)
                if row != up + 1:
                    branches[up * width + to] = row
                parents.append(up)
                numbers.append(to)
        positions.append(row)
    moved = with_references(table.slice(0, len(parents) - base_rows), "frame", numbers[base_rows:])
    return positions, with_references(moved, "parent", parents[base_rows:])


def _are_distinct(parent: Rows, frame: Rows, leaps: Rows) -> bool:
    """Whether no two stacks are equal. Of those that stand on the row before them, each parent has one; so only the
    others are compared, with each other and with that one."""
    ups, own = (array("q", map(column.__getitem__, leaps)) for column in (parent, frame))
    if len(set(zip(ups, own, strict=True))) < len(leaps):
        return False
    following = map(frame.__getitem__, map((1).__add__, ups))
    alike = compress(ups, map(operator.eq, following, own))
    return all(parent[up + 1] != up for up in alike)


def _number(seen: Iterable[_Key], keys: Iterable[_Key]) -> tuple[list[int], list[int]]:
    """(the place of each key, among those seen or after them; the rows of the keys that are new)."""
    base_keys = list(seen)
    numbers = dict(zip(base_keys, range(len(base_keys)), strict=True))
    positions: list[int] = []
    new_rows: list[int] = []
    for row, key in enumerate(keys):
        position = numbers.setdefault(key, len(base_keys) + len(new_rows))
        if position == len(base_keys) + len(new_rows):
            new_rows.append(row)
        positions.append(position)
    return positions, new_rows


def _follow(rows: Rows, positions: Rows) -> list[int]:
    """Where the rows are now; what leads nowhere still does."""
    return [row if row == NOWHERE else positions[row] for row in rows]


def _renamed(table: Table, moved: Mapping[str, Rows]) -> Table:
    for name in referring(table):
        table = with_references(table, name, _follow(table[name].numbers, moved[name]))
    return table


def _local(table: Table, positions: Rows, rows: int) -> Table:
    """The columns that are no identity, each value where its row is now and missing elsewhere."""
    order = [NOWHERE] * rows
    for row, position in enumerate(positions):
        order[position] = row
    columns = [column for column in table.columns if column.name in _LOCAL[table.name]]
    return Table(table.name, tuple(_scattered(column, order) for column in columns), rows)


def _scattered(column: Column, order: Rows) -> Column:
    values = list(column)
    builder = ColumnBuilder(column.name, column.spec)
    builder.extend([None if row == NOWHERE else values[row] for row in order])
    return builder.build(len(order))
