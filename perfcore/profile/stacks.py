"""Stacks of a profile: a row of `stacks` is a frame and its parent, a row of `frames` is a function and a line
in it, a row of `functions` is a name and a file.

A function is known by its name and file, never by a line: its first line stands beside them in `line`, and a
frame's `offset` counts from there (from line 0 where the first line is not known). So code that only moves
keeps its stacks. In any other table a column of whole numbers called `stack`, `frame` or `function` names rows
of these tables.
"""

from __future__ import annotations

import operator
from array import array
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, compress
from typing import TYPE_CHECKING, Any

from perfcore.errors import FormatError
from perfcore.model.record import Record, replace
from perfcore.profile import bitmap
from perfcore.profile.relative import LANES
from perfcore.profile.table import Column, Table, column, from_buffer, table
from perfcore.text import printable

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    _Places: TypeAlias = Callable[[int], int] | None

NAMES = ("functions", "frames", "stacks")
NOWHERE = -1
_THERE = bytes(sign < 128 for sign in range(256))  # the highest bytes of numbers to flags of those from 0 up
_ABSENT = bytes(sign >= 128 for sign in range(256))
_TARGETS = {"function": "functions", "frame": "frames", "stack": "stacks", "parent": "stacks"}


class Frame(Record, frozen=True):
    """One line of a call stack. `line` is the line that runs, `first_line` the function's first."""

    name: str
    file: str = ""
    line: int | None = None
    first_line: int | None = None


class StackBuilder:
    """Collects call stacks and gives each one a number, the same for the same stack."""

    def __init__(self) -> None:
        self._functions: dict[tuple[str, str], int] = {}
        self._lines: list[int | None] = []
        self._counted: set[int] = set()  # functions whose line offsets have been counted from
        self._frames: dict[tuple[int, int | None], int] = {}
        self._stacks: dict[tuple[int, int], int] = {}
        self._seen: dict[Frame, int] = {}

    def add(self, frames: Iterable[Frame], parent: int = NOWHERE) -> int:
        """The number of the stack of these frames, outermost first, below `parent`."""
        for frame in frames:
            key = (parent, self._seen[frame] if frame in self._seen else self._frame(frame))
            parent = self._stacks.setdefault(key, len(self._stacks))
        return parent

    def tables(self) -> dict[str, Table]:
        """`functions`, `frames` and `stacks` as they are so far."""
        columns: dict[str, dict[str, list[Any]]] = {
            "functions": {
                "name": [name for name, _ in self._functions],
                "file": [file for _, file in self._functions],
                "line": self._lines,
            },
            "frames": {"function": [at for at, _ in self._frames], "offset": [offset for _, offset in self._frames]},
            "stacks": {
                "parent": [None if parent == NOWHERE else parent for parent, _ in self._stacks],
                "frame": [frame for _, frame in self._stacks],
            },
        }
        return {
            name: table(name, [column(key, of[key], dtype="str" if key in ("name", "file") else "i64") for key in of])
            for name, of in columns.items()
        }

    def _frame(self, frame: Frame) -> int:
        function = self._functions.setdefault((frame.name, frame.file), len(self._functions))
        if function == len(self._lines):
            self._lines.append(frame.first_line)
        elif self._lines[function] is None and function not in self._counted:
            self._lines[function] = frame.first_line
        offset = None
        if frame.line is not None:
            self._counted.add(function)
            offset = frame.line - (self._lines[function] or 0)
        return self._seen.setdefault(frame, self._frames.setdefault((function, offset), len(self._frames)))


class Stacks(Record, frozen=True):
    """The stacks of a profile as plain sequences: `parent[stack]` is a stack or -1, `frame[stack]` and
    `function[frame]` are rows or -1, `names[function]` and `files[function]` are texts. `leaps` are the stacks that
    do not stand on the one before."""

    parent: Sequence[int]
    frame: Sequence[int]
    function: Sequence[int]
    names: Sequence[str]
    files: Sequence[str]
    first_lines: Sequence[int | None]
    offsets: Sequence[int | None]
    leaps: Sequence[int]

    @classmethod
    def of(cls, tables: Mapping[str, Table]) -> Stacks:
        """FormatError where a table is missing, a row refers to nothing, or a stack is its own ancestor."""
        functions, frames, stacks = (_required(tables, name) for name in NAMES)
        parents = _parents(stacks, tables)
        return cls(
            parent=parents.numbers,
            frame=references(stacks, "frame", tables),
            function=references(frames, "function", tables),
            names=_values(functions, "name", "text", ""),
            files=_values(functions, "file", "text", ""),
            first_lines=_values(functions, "line", "whole numbers", None),
            offsets=_values(frames, "offset", "whole numbers", None),
            leaps=parents.leaps,
        )

    def __len__(self) -> int:
        return len(self.parent)

    def path(self, stack: int) -> list[int]:
        """The functions of a stack, outermost first; -1 for one that is not known."""
        functions = []
        while stack != NOWHERE:
            frame = self.frame[stack]
            functions.append(NOWHERE if frame == NOWHERE else self.function[frame])
            stack = self.parent[stack]
        return functions[::-1]

    def line(self, stack: int) -> int | None:
        """The line of the source that ran in the innermost frame, where that is known."""
        frame = self.frame[stack]
        offset = None if frame == NOWHERE else self.offsets[frame]
        return None if offset is None else (self.first_lines[self.function[frame]] or 0) + offset


def has_stacks(tables: Mapping[str, Table]) -> bool:
    """Whether these tables of a profile hold call stacks."""
    return all(name in tables for name in NAMES)


def verify(tables: Mapping[str, Table]) -> None:
    """FormatError where call stacks cannot be followed: at a row that is not there, or around in a circle."""
    if not has_stacks(tables):
        return
    _referring_column(tables["frames"], "function", tables)
    _referring_column(tables["stacks"], "frame", tables)
    _parents(tables["stacks"], tables)
    for user in _users(tables):
        for name in referring(tables[user]):
            _referring_column(tables[user], name, tables)


def references(source: Table, name: str, tables: Mapping[str, Table]) -> array[int]:
    """The rows that a column refers to, -1 where the value is missing. FormatError for a row that is not there."""
    return _referring_column(source, name, tables).numbers


def _referring_column(source: Table, name: str, tables: Mapping[str, Table]) -> Column:
    """A column whose numbers all are rows of the table it refers to; what stands where one is missing is 0."""
    target = _required(tables, _TARGETS[name])
    refers = source.get(name)
    if refers is None or refers.dtype not in ("i64", "u64"):
        raise FormatError(f"table {printable(source.name)!r} has no column {name!r} of whole numbers")
    some: Iterable[int] = refers.numbers
    if name == "parent":  # the others stand on the row before them
        some = map(refers.numbers.__getitem__, refers.leaps)
    elif name == "frame":
        some = refers.counts
    if max(some, default=NOWHERE) >= target.rows:
        raise FormatError(f"table {printable(source.name)!r} refers to rows that {target.name!r} does not have")
    return refers


def _parents(stacks: Table, tables: Mapping[str, Table]) -> Column:
    """FormatError for a stack that is its own ancestor; there is none where parents stand before their children."""
    refers = _referring_column(stacks, "parent", tables)
    if not _stand_on_earlier(refers.leaps, refers.numbers):
        _walked(range(len(refers)), refers.numbers)
    return refers


def _stand_on_earlier(stacks: Sequence[int], parent: Sequence[int]) -> bool:
    return all(map(operator.lt, map(parent.__getitem__, stacks), stacks))


def reached(stacks: Sequence[int], parent: Sequence[int], leaps: Sequence[int]) -> Sequence[int]:
    """These stacks and all they stand on in the order of their first use, parents before children; `leaps` are those
    that do not stand on the one before. FormatError for a stack that is its own ancestor."""
    return range(len(parent)) if _is_first_use(stacks, parent, leaps) else _walked(stacks, parent)


def _walked(stacks: Iterable[int], parent: Sequence[int]) -> list[int]:
    visited = bytearray(len(parent) + 1)  # the last one is that of NOWHERE, index -1
    visited[NOWHERE] = 1
    order: list[int] = []
    for stack in stacks:
        path = []
        while not visited[stack]:
            visited[stack] = 1
            path.append(stack)
            stack = parent[stack]
        if stack in path:  # the walk came back to its own path
            raise FormatError(f"row {stack} of table 'stacks' is its own ancestor")
        path.reverse()
        order += path
    return order


def renumbered(tables: Mapping[str, Table]) -> dict[str, Table]:
    """The same profile with only the stacks, frames and functions that are used, in the order of their first
    use: whatever the numbering was, equal profiles come out equal."""
    users = _users(tables)
    parent, frame = (_referring_column(_required(tables, "stacks"), name, tables) for name in ("parent", "frame"))
    function = references(tables["frames"], "function", tables)
    stacks = reached(_used(users, "stack", tables), parent.numbers, parent.leaps)
    frames_of_stacks = frame.counts if _is_all(stacks, len(frame)) else map(frame.numbers.__getitem__, stacks)
    frames = _first_uses(frames_of_stacks, _used(users, "frame", tables))
    functions = _first_uses(map(function.__getitem__, frames), _used(users, "function", tables))
    orders = {"stacks": stacks, "frames": frames, "functions": functions}
    places = {name: _places(orders[target], tables[target].rows) for name, target in _TARGETS.items()}
    changed = {name: _taken(tables[name], orders[name], places) for name in NAMES}
    return {**tables, **changed, **{name: _moved(tables[name], places) for name in users}}


def _is_first_use(used: Iterable[int], parent: Sequence[int], leaps: Sequence[int]) -> bool:
    """Whether the stacks are all reached, and stand in the order in which they are: what a use adds are the rows from
    the highest one so far up to its own, each the parent of the next."""
    highest = dict.fromkeys(accumulate(used, max, initial=NOWHERE))
    follow = all(map(highest.__contains__, map((-1).__add__, leaps)))  # each of a new path the last row of a use
    return follow and next(reversed(highest)) == len(parent) - 1 and _stand_on_earlier(leaps, parent)


def referring(source: Table) -> list[str]:
    """The columns of a table outside the stacks that refer to them."""
    if source.name in NAMES:
        return []
    candidates = (source.get(name) for name in ("stack", "frame", "function"))
    return [column.name for column in candidates if column is not None and column.dtype in ("i64", "u64")]


def with_references(source: Table, name: str, rows: Sequence[int]) -> Table:
    """The table with other rows in a referring column; -1 is stored as missing."""
    spec = replace(source[name].spec, dtype="i64")
    rows = array("q", rows)
    signs = rows.tobytes()[LANES[7]]  # the highest bytes
    if signs.count(0) == len(signs):
        return source.with_columns(from_buffer(spec, rows))
    for row in compress(range(len(rows)), signs.translate(_ABSENT)):
        rows[row] = 0
    return source.with_columns(from_buffer(spec, rows, bitmap.pack(signs.translate(_THERE))))


def _taken(source: Table, order: Sequence[int], places: Mapping[str, _Places]) -> Table:
    """These rows of the table, with their references."""
    return _moved(source if _is_all(order, source.rows) else source.take(order), places)


def _moved(source: Table, places: Mapping[str, _Places]) -> Table:
    """The table with its references taken to where the rows stand now."""
    for name, position_of in places.items():
        refers = source.get(name)
        if refers is None or refers.dtype not in ("i64", "u64") or (position_of is None and refers.dtype == "i64"):
            continue
        source = with_references(source, name, list(map(position_of or int, refers.numbers)))
    return source


def _users(tables: Mapping[str, Table]) -> list[str]:
    return [name for name in sorted(tables) if name not in NAMES and referring(tables[name])]


def _used(users: Sequence[str], name: str, tables: Mapping[str, Table]) -> array[int]:
    rows = array("q")
    for user in users:
        if name in referring(tables[user]):
            rows += references(tables[user], name, tables)
    return rows


def _first_uses(*uses: Iterable[int]) -> list[int]:
    used: dict[int, None] = {}
    for rows in uses:
        used.update(dict.fromkeys(rows))
    used.pop(NOWHERE, None)
    return list(used)


def _places(order: Sequence[int], rows: int) -> _Places:
    """Where each row has gone; None where each is where it was."""
    if _is_all(order, rows):
        return None
    places = [NOWHERE] * (rows + 1)  # the last is that of NOWHERE, index -1
    for position, row in enumerate(order):
        places[row] = position
    return places.__getitem__


def _is_all(order: Sequence[int], rows: int) -> bool:
    """Whether these are all rows, in their order."""
    if isinstance(order, range):
        return order == range(rows)
    return len(order) == rows and all(map(operator.eq, order, range(rows)))


def _required(tables: Mapping[str, Table], name: str) -> Table:
    if name not in tables:
        raise FormatError(f"the profile has no table {name!r}, so its stacks cannot be followed")
    return tables[name]


def _values(source: Table, name: str, kind: str, absent: Any) -> list[Any]:
    values = source.get(name)
    if values is None:
        return [absent] * source.rows
    if values.dtype not in (("str",) if kind == "text" else ("i64", "u64")):
        raise FormatError(f"column {name!r} of table {source.name!r} holds no {kind}")
    return [absent if value is None else value for value in values]
