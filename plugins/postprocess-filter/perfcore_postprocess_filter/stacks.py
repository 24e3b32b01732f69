"""Which rows have a certain function anywhere on their stack."""

from __future__ import annotations

from itertools import compress
from typing import TYPE_CHECKING

from perfcore.errors import FormatError, NotFoundError, UsageError
from perfcore.profile.stacks import NAMES, references
from perfcore_postprocess_filter.selection import there

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from perfcore.profile.table import Table

# The three colours of a depth-first search: who meets what is busy has found a circle.
_OPEN, _BUSY, _DONE = range(3)


def passing(
    tables: Mapping[str, Table], table: Table, rows: Sequence[int], matches: Callable[[str], bool]
) -> Sequence[int]:
    """Those of the rows whose stack goes through a function whose name or file matches."""
    stacks, frames, functions = (_table(tables, name) for name in reversed(NAMES))
    flags = _matching(functions, matches)
    flags = _referring(flags, references(frames, "function", tables))
    flags = _referring(flags, references(stacks, "frame", tables))
    flags = _inherited(flags, references(stacks, "parent", tables))
    stack = references(table, "stack", tables)
    return [row for row in rows if flags[stack[row]]]


def _matching(functions: Table, matches: Callable[[str], bool]) -> bytearray:
    """A flag for every function and, like all flags here, a last one, 0, for nowhere."""
    texts = [column for name in ("name", "file") if (column := functions.get(name)) is not None]
    texts = [column for column in texts if column.dtype == "str"]
    if not texts:
        raise UsageError("filter: the functions of this profile have no names, so --stack cannot find any")
    flags = bytearray(functions.rows + 1)
    for column in texts:
        text_matches = list(map(matches, column.dictionary)) or [False]
        present = there(column)
        for row in compress(range(functions.rows), map(text_matches.__getitem__, column.data)):
            flags[row] |= present[row]
    return flags


def _referring(found: bytearray, rows: Sequence[int]) -> bytearray:
    """The flags of the rows that refer to flagged ones."""
    return bytearray(map(found.__getitem__, rows)) + b"\0"


def _inherited(own: bytearray, parents: Sequence[int]) -> bytearray:
    """The flags of the stacks that are flagged or have an ancestor that is; a parent may stand after its child."""
    state = bytearray(len(parents)) + bytes((_DONE,))
    for stack in range(len(parents)):
        path, at = [], stack
        while state[at] == _OPEN:
            state[at] = _BUSY
            path.append(at)
            at = parents[at]
        if state[at] == _BUSY:
            raise FormatError(f"filter: row {at} of table 'stacks' is its own ancestor")
        for child in reversed(path):
            own[child] |= own[parents[child]]
            state[child] = _DONE
    return own


def _table(tables: Mapping[str, Table], name: str) -> Table:
    if name not in tables:
        raise NotFoundError(f"filter: the profile has no table {name!r}, so there is nothing for --stack")
    return tables[name]
