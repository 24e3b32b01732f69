"""Stacks of a profile: a row of `stacks` is a frame and its parent, a row of `frames` is a function and a line
in it, a row of `functions` is a name and a file.

A function is known by its name and file, never by a line: its first line stands beside them in `line`, and a
frame's `offset` counts from there (from line 0 where the first line is not known). So code that only moves
keeps its stacks. In any other table a column of whole numbers called `stack`, `frame` or `function` names rows
of these tables.
"""

from __future__ import annotations

import operator
import sys
from array import array
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, compress
from typing import TYPE_CHECKING

from perfcore.errors import FormatError
from perfcore.model.record import Record, replace
from perfcore.profile import bitmap
from perfcore.profile.table import Column, Table, column, from_buffer, table
from perfcore.text import printable

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    _Places: TypeAlias = Callable[[int], int] | None

NAMES = ("functions", "frames", "stacks")
NOWHERE = -1
_ABSENT = bytes.maketrans(b"\0\1", b"\1\0")  # flags of what is there to flags of what is missing
_THERE = bytes(sign < 128 for sign in range(256))  # the highest bytes of numbers to flags of those from 0 up
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
        parents = [None if parent == NOWHERE else parent for parent, _ in self._stacks]
        return {
            "functions": table(
                "functions",
                (
                    column("name", [name for name, _ in self._functions], dtype="str"),
                    column("file", [file for _, file in self._functions], dtype="str"),
                    column("line", self._lines, dtype="i64"),
                ),
            ),
            "frames": table(
                "frames",
                (
                    column("function", [function for function, _ in self._frames], dtype="i64"),
                    column("offset", [offset for _, offset in self._frames], dtype="i64"),
                ),
            ),
            "stacks": table(
                "stacks",
                (
                    column("parent", parents, dtype="i64"),
                    column("frame", [frame for _, frame in self._stacks], dtype="i64"),
                ),
            ),
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
    `function[frame]` are rows or -1, `names[function]` and `files[function]` are texts."""

    parent: Sequence[int]
    frame: Sequence[int]
    function: Sequence[int]
    names: Sequence[str]
    files: Sequence[str]
    first_lines: Sequence[int | None]
    offsets: Sequence[int | None]

    @classmethod
    def of(cls, tables: Mapping[str, Table]) -> Stacks:
        """FormatError where a table is missing, a row refers to nothing, or a stack is its own ancestor."""
        functions, frames, stacks = (_required(tables, name) for name in NAMES)
        result = cls(
            parent=references(stacks, "parent", tables),
            frame=references(stacks, "frame", tables),
            function=references(frames, "function", tables),
            names=_texts(functions, "name"),
            files=_texts(functions, "file"),
            first_lines=_lines(functions, "line"),
            offsets=_lines(frames, "offset"),
        )
        _refuse_circles(result.parent)
        return result

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
        if offset is None:
            return None
        return (self.first_lines[self.function[frame]] or 0) + offset


def has_stacks(tables: Mapping[str, Table]) -> bool:
    """Whether these tables of a profile hold call stacks."""
    return all(name in tables for name in NAMES)


def verify(tables: Mapping[str, Table]) -> None:
    """FormatError where call stacks cannot be followed: at a row that is not there, or around in a circle."""
    if not has_stacks(tables):
        return
    _referring_column(tables["frames"], "function", tables)
    _referring_column(tables["stacks"], "frame", tables)
    if not _stand_on_earlier(tables["stacks"]):
        _refuse_circles(references(tables["stacks"], "parent", tables))
    for user in _users(tables):
        for name in referring(tables[user]):
            _referring_column(tables[user], name, tables)


def references(source: Table, name: str, tables: Mapping[str, Table]) -> array[int]:
    """The rows that a column refers to, -1 where the value is missing. FormatError for a row that is not there."""
    refers = _referring_column(source, name, tables)
    rows = array("q", refers.data.tobytes())
    for row in _missing(refers):
        rows[row] = NOWHERE
    return rows


def _referring_column(source: Table, name: str, tables: Mapping[str, Table]) -> Column:
    """A column whose numbers all are rows of the table it refers to; what stands where one is missing is 0."""
    target = _required(tables, _TARGETS[name])
    refers = source.get(name)
    if refers is None or refers.dtype not in ("i64", "u64"):
        raise FormatError(f"table {printable(source.name)!r} has no column {name!r} of whole numbers")
    rows = array("Q", refers.data.tobytes())  # what is less than 0 is very much here
    if max(rows, default=0) >= max(1, target.rows):
        raise FormatError(f"table {printable(source.name)!r} refers to rows that {target.name!r} does not have")
    if target.rows == 0 and len(list(_missing(refers))) < len(rows):
        raise FormatError(f"table {printable(source.name)!r} refers to rows of {target.name!r}, which is empty")
    return refers


def _missing(refers: Column) -> Iterable[int]:
    """The rows without a value."""
    if refers.valid is None:
        return ()
    return compress(range(len(refers)), bitmap.flags(refers.valid, len(refers)).translate(_ABSENT))


def _stand_on_earlier(stacks: Table) -> bool:
    """Whether all stand on rows before them, seen without looking at what is missing: then none leads nowhere or
    around in a circle."""
    refers = stacks.get("parent")
    if refers is None or refers.dtype not in ("i64", "u64") or not len(refers) or refers[0] is not None:
        return False
    rows = array("Q", refers.data.tobytes())  # what is missing is 0 here, what is less than 0 is very much
    return all(map(operator.lt, rows[1:], range(1, len(rows))))


def _refuse_circles(parent: Sequence[int]) -> None:
    """FormatError for a stack that is its own ancestor; there is none where parents stand before their children."""
    if not all(map(operator.lt, parent, range(len(parent)))):
        _walked(range(len(parent)), parent)


def reached(stacks: Sequence[int], parent: Sequence[int]) -> Sequence[int]:
    """These stacks and all they stand on in the order of their first use, parents before children. FormatError
    for a stack that is its own ancestor."""
    return range(len(parent)) if _is_first_use(stacks, parent) else _walked(stacks, parent)


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


def leaps(parent: Sequence[int]) -> list[int]:
    """The stacks that do not stand on the row before them."""
    return list(compress(range(len(parent)), map(operator.ne, parent, range(NOWHERE, len(parent)))))


def renumbered(tables: Mapping[str, Table]) -> dict[str, Table]:
    """The same profile with only the stacks, frames and functions that are used, in the order of their first
    use: whatever the numbering was, equal profiles come out equal."""
    users = _users(tables)
    parent, frame = (references(_required(tables, "stacks"), name, tables) for name in ("parent", "frame"))
    function = references(tables["frames"], "function", tables)
    stacks = reached(_used(users, "stack", tables), parent)
    frames = _first_uses(
        frame if _is_all(stacks, len(frame)) else map(frame.__getitem__, stacks), _used(users, "frame", tables)
    )
    functions = _first_uses(map(function.__getitem__, frames), _used(users, "function", tables))
    orders = {"stacks": stacks, "frames": frames, "functions": functions}
    places = {name: _places(orders[target], tables[target].rows) for name, target in _TARGETS.items()}
    changed = {name: _taken(tables[name], orders[name], places) for name in NAMES}
    return {**tables, **changed, **{name: _moved(tables[name], places) for name in users}}


def _is_first_use(used: Iterable[int], parent: Sequence[int]) -> bool:
    """Whether the stacks are all reached, and stand in the order in which they are: what a use adds are the rows from
    the highest one so far up to its own, each the parent of the next."""
    highest = list(dict.fromkeys(accumulate(used, max, initial=NOWHERE)))
    begun = {row + 1 for row in highest}
    leap_rows = leaps(parent)
    if highest[-1] != len(parent) - 1 or not begun.issuperset(leap_rows):
        return False
    return all(map(operator.lt, map(parent.__getitem__, leap_rows), leap_rows))


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
    signs = rows.tobytes()[7 if sys.byteorder == "little" else 0 :: 8]  # the highest bytes
    if signs.count(0) == len(signs):
        return source.with_columns(from_buffer(spec, rows))
    present = signs.translate(_THERE)
    for row in compress(range(len(rows)), present.translate(_ABSENT)):
        rows[row] = 0
    return source.with_columns(from_buffer(spec, rows, bitmap.pack(present)))


def _taken(source: Table, order: Sequence[int], places: Mapping[str, _Places]) -> Table:
    """These rows of the table, with their references."""
    return _moved(source if _is_all(order, source.rows) else source.take(order), places)


def _moved(source: Table, places: Mapping[str, _Places]) -> Table:
    """The table with its references taken to where the rows stand now."""
    for name, position_of in places.items():
        refers = source.get(name)
        if refers is None or refers.dtype not in ("i64", "u64") or (position_of is None and refers.dtype == "i64"):
            continue
        rows = array("q", refers.data.tobytes() if position_of is None else map(position_of, refers.data))
        for row in _missing(refers):
            rows[row] = NOWHERE
        source = with_references(source, name, rows)
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
    places = [NOWHERE] * max(1, rows)
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


def _texts(source: Table, name: str) -> Sequence[str]:
    values = source.get(name)
    if values is None:
        return [""] * source.rows
    if values.dtype != "str":
        raise FormatError(f"column {name!r} of table {source.name!r} holds no text")
    return ["" if text is None else str(text) for text in values]


def _lines(source: Table, name: str) -> Sequence[int | None]:
    values = source.get(name)
    if values is None:
        return [None] * source.rows
    if values.dtype not in ("i64", "u64"):
        raise FormatError(f"column {name!r} of table {source.name!r} holds no whole numbers")
    return list(values)  # type: ignore[arg-type]
