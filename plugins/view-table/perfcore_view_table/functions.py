"""The function that a row's call stack ends in, as a column: the number of a stack tells nobody anything."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

from perfcore.errors import FormatError
from perfcore.profile import stacks
from perfcore.profile.table import ColumnSpec, Table, from_buffer

if TYPE_CHECKING:
    from perfcore.model import Profile

NAME = "function"
_UNKNOWN = ""


def with_functions(table: Table, profile: Profile) -> Table:
    """The table with the column `function` behind `stack`; as it is where it has no stacks, or the column already."""
    if stacks.referring(table) != ["stack"] or table.get(NAME) is not None or not stacks.has_stacks(profile.tables):
        return table
    try:
        call_stacks = stacks.Stacks.of(profile.tables)
        rows = stacks.references(table, "stack", profile.tables)
    except FormatError:  # what stands in the table is shown all the same
        return table
    codes: dict[str, int] = {_UNKNOWN: 0}
    of_stack = [codes.setdefault(_function(call_stacks, stack), len(codes)) for stack in range(len(call_stacks))]
    # From codes and a dictionary, as columns keep text: no text for each of a million rows.
    function_column = from_buffer(
        ColumnSpec(NAME, "str"),
        array("I", [of_stack[stack] if stack >= 0 else 0 for stack in rows]),
        None,
        tuple(codes),
    )
    columns = list(table.columns)
    columns.insert(table.names.index("stack") + 1, function_column)
    return Table(table.name, tuple(columns), table.rows)


def _function(known: stacks.Stacks, stack: int) -> str:
    frame = known.frame[stack]
    function = stacks.NOWHERE if frame == stacks.NOWHERE else known.function[frame]
    return _UNKNOWN if function == stacks.NOWHERE else known.names[function]
