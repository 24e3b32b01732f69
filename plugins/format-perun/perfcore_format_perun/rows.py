"""Perun's resources as tables: one block of rows after the other, never all of them as Python objects.

A resource was an object of whatever a collector knew: `amount` is what was consumed, `type` and `subtype` say of
what, `uid` where, `trace` how it came there, innermost frame first. Each (type, subtype, unit) becomes a column
of values, everything else a column of its name.
"""

from __future__ import annotations

import itertools
import json
import math
import re
import sys
from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from perfcore.errors import FormatError
from perfcore.model.record import replace
from perfcore.profile.stacks import Frame, StackBuilder
from perfcore.profile.table import Column, ColumnBuilder, Table, Value, column, table

if TYPE_CHECKING:
    from perfcore.profile.table import Role

Amount = tuple[int | float, str | None]

_AMOUNT = re.compile(r"\s*([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)\s*([^\s0-9.][^0-9]*?)?\s*")
# 64 bits have 20 digits at most; a number of thousands would take quadratic time to convert.
_INTEGER = re.compile(r"[+-]?[0-9]{1,25}")
_WORDS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
_ROLES: Mapping[str, Role] = {
    "run": "order",
    "order": "order",
    "call-order": "order",
    "allocation_order": "order",
    "snapshot": "order",
    "time": "order",
    "timestamp": "order",
    "metric.iteration": "order",
    "exclusive": "value",
    "inclusive": "value",
    "metric.value": "value",
    "metric.score-value": "value",
}
_UID = {"function": "uid", "source": "file", "line": "line"}


class Resources:
    """Collects resources. `units` gives the unit of a type where an amount does not bring its own; `renamed` are
    fields with a better name here; `most` is how many cells the table may have, since every field is a column and
    most of its cells may be empty."""

    def __init__(self, units: Mapping[str, str], renamed: Mapping[str, str], most: int = sys.maxsize) -> None:
        self._units = units
        self._renamed = renamed
        self._most = most
        self._until = 0  # as many rows as there are after the block
        self._rows = 0
        self._fields: dict[str, _Field] = {}
        self._values: dict[tuple[str, str, str], ColumnBuilder] = {}
        self._stacks = StackBuilder()
        self._stack = ColumnBuilder("stack")
        self._times: dict[int, Value] = {}

    def add_block(self, shared: Mapping[str, Any], columns: Mapping[str, Sequence[Any]]) -> None:
        """Rows that have the fields of `shared` in common and differ in `columns`, which are of one length; without
        columns it is one row."""
        lengths = {len(values) for values in columns.values()}
        if len(lengths) > 1:
            raise FormatError(f"a resource has fields of different lengths {sorted(lengths)}")
        rows = lengths.pop() if lengths else 1
        self._until = self._rows + rows
        apart = {"type", "subtype", "time"} - set(columns)
        every = {**{name: _Same(value, rows) for name, value in shared.items() if name not in apart}, **columns}
        self._add_fields(every)
        if "amount" in every:
            self._add_amounts(_word(shared.get("type")), _word(shared.get("subtype")), every["amount"])
        if "time" in shared and "time" in apart:
            self._add_times([shared.get("snapshot")], [shared["time"]], rows)
        self._rows += rows

    def add_rows(self, rows: Sequence[dict[str, Any]]) -> None:
        """Rows that may have nothing in common."""
        names = list(dict.fromkeys(itertools.chain.from_iterable(dict.fromkeys(map(tuple, rows)))))
        refuse_many(len(names) * (self._rows + len(rows)), self._most)
        self.add_columns({name: [row.get(name) for row in rows] for name in names}, len(rows))

    def add_columns(self, columns: Mapping[str, Sequence[Any]], rows: int) -> None:
        """The same rows by their fields, None where one has nothing."""
        self._until = self._rows + rows
        refuse_many(len(columns) * self._until, self._most)
        apart = ("type", "subtype", "time")
        self._add_fields({name: values for name, values in columns.items() if name not in apart})
        if "amount" in columns:
            types, subtypes = (_words(columns.get(name), rows) for name in ("type", "subtype"))
            self._add_kinds(list(zip(types, subtypes, strict=True)), columns["amount"])
        if "time" in columns:
            self._add_times(columns.get("snapshot") or [None] * rows, columns["time"], 1)
        self._rows += rows

    def note_time(self, snapshot: int, time: Any) -> None:
        """When a snapshot was taken, where that is known."""
        self._times.setdefault(snapshot, _time(time))

    def tables(self) -> dict[str, Table]:
        """`resources`, and `snapshots` and the tables of stacks where there are any."""
        fields = [field.build(self._rows) for field in self._fields.values()]
        if len(self._stack):
            fields.append(_with(self._stack.build(self._rows), name="stack", role="dimension"))
        tables = {"resources": table("resources", [*fields, *self._value_columns({field.name for field in fields})])}
        if not tables["resources"].columns:
            tables["resources"] = Table("resources", (), self._rows)
        if self._times:
            times = sorted(self._times.items())
            numbers = column("snapshot", [snapshot for snapshot, _ in times], role="order")
            moments = [None if moment is None else float(moment) for _, moment in times]
            tables["snapshots"] = table(
                "snapshots", [numbers, column("time", moments, dtype="f64", unit="s", role="order")]
            )
        return tables | (self._stacks.tables() if len(self._stack) else {})

    def _value_columns(self, taken: set[str]) -> Iterable[Column]:
        """The columns of amounts. The plain name is that of the unit in the header, or the only one."""
        units: dict[tuple[str, str], set[str]] = {}
        for type, subtype, unit in self._values:
            units.setdefault((type, subtype), set()).add(unit)
        for (type, subtype, unit), builder in sorted(self._values.items()):
            name = ".".join(text for text in (type, subtype) if text) or "amount"
            if len(units[type, subtype]) > 1 and unit != self._unit(type, subtype):
                name = f"{name} ({unit})"
            while name in taken:
                name += " (amount)"
            taken.add(name)
            yield _with(builder.build(self._rows), name=name, unit=unit, role="value")

    def _add_fields(self, every: Mapping[str, Sequence[Any]]) -> None:
        for name, values in every.items():
            if name == "trace":
                self._add_traces(values)
            elif name != "amount":
                self._add_field(self._renamed.get(name, name), values)

    def _add_times(self, snapshots: Sequence[Any], times: Sequence[Any], rows: int) -> None:
        """The times of snapshots, or of rows without one. Perun wrote 0 and question marks where it knew none."""
        row_times: list[Value] = []
        for snapshot, time in zip(snapshots, times, strict=True):
            if type(snapshot) is int:
                self.note_time(snapshot, time)
                row_times.append(None)
            else:
                moment = _time(time)
                row_times.append(float(moment) if moment else None)
        if any(row_times):
            self._field("time").extend(row_times * rows)

    def _add_field(self, name: str, values: Sequence[Any]) -> None:
        if isinstance(values, _Same):
            for field_name, value in _flat(name, values.value):
                self._field(field_name).repeat(value, values.rows)
            return
        kinds = _kinds(values)
        if dict in kinds:
            self._add_objects(name, values)
        elif kinds == {str} and values[0] == values[-1] and values.count(values[0]) == len(values):
            self._field(name).repeat(values[0], len(values))
        else:
            self._field(name).extend(list(map(_plain, values)) if list in kinds else values)

    def _add_objects(self, name: str, values: Sequence[Any]) -> None:
        flat = [{} if value is None else dict(_flat(name, value)) for value in values]
        for field_name in dict.fromkeys(field_name for row in flat for field_name in row):
            self._field(field_name).extend([row.get(field_name) for row in flat])

    def _field(self, name: str) -> _Field:
        """The column of a field; under a longer name where the block has filled one of this name already."""
        field = self._fields.setdefault(name, _Field(name))
        self._refuse_many()
        if len(field) > self._rows:
            return self._field(f"{name} (more)")
        field.skip(self._rows)
        return field

    def _add_kinds(self, kinds: Sequence[tuple[str, str]], amounts: Sequence[Any]) -> None:
        """Amounts of which each is of the type and subtype of its row."""
        present = [value is not None for value in amounts]
        distinct_kinds = list(dict.fromkeys(itertools.compress(kinds, present)))
        for kind in distinct_kinds:
            kind_amounts = amounts
            if len(distinct_kinds) > 1:
                kind_amounts = [value if of == kind else None for value, of in zip(amounts, kinds, strict=True)]
            self._add_amounts(*kind, kind_amounts)

    def _add_amounts(self, type: str, subtype: str, values: Sequence[Any]) -> None:
        unit = self._unit(type, subtype)
        if _are_numbers(values):
            self._value(type, subtype, unit).extend(values)
            return
        amounts = [amount(value) or (None, None) for value in values]
        units = [unit if unit_suffix is None else unit_suffix for _, unit_suffix in amounts]
        for distinct_unit in dict.fromkeys(
            unit_suffix for unit_suffix, (quantity, _) in zip(units, amounts, strict=True) if quantity is not None
        ):
            numbers = [
                quantity if unit_suffix == distinct_unit else None
                for unit_suffix, (quantity, _) in zip(units, amounts, strict=True)
            ]
            self._value(type, subtype, distinct_unit).extend(numbers)

    def _value(self, type: str, subtype: str, unit: str) -> ColumnBuilder:
        name = ".".join(text for text in (type, subtype) if text) or "amount"
        builder = self._values.setdefault((type, subtype, unit), ColumnBuilder(name))
        self._refuse_many()
        builder.skip(self._rows - len(builder))
        return builder

    def _refuse_many(self) -> None:
        refuse_many((len(self._fields) + len(self._values)) * self._until, self._most)

    def _unit(self, type: str, subtype: str) -> str:
        return self._units.get(type) or self._units.get(subtype) or ""

    def _add_traces(self, traces: Sequence[Any]) -> None:
        self._stack.skip(self._rows - len(self._stack))
        if isinstance(traces, _Same):
            self._stack.repeat(self._add_trace(traces.value), traces.rows)
        else:
            self._stack.extend([self._add_trace(trace) for trace in traces])

    def _add_trace(self, trace: Any) -> int | None:
        if not isinstance(trace, list) or not trace:
            return None
        return self._stacks.add([_frame(step) for step in reversed(trace)])


@attrs.frozen
class _Same(Sequence[Any]):
    """One value in many rows."""

    value: Any
    rows: int

    def __len__(self) -> int:
        return self.rows

    def __getitem__(self, row: Any) -> Any:
        selected = range(self.rows)[row]
        return self.value if isinstance(selected, int) else _Same(self.value, len(selected))


class _Field:
    """A column of what is no amount: of the type of its values, or text where they are of several."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._builder = ColumnBuilder(name)

    def __len__(self) -> int:
        return len(self._builder)

    def skip(self, rows: int) -> None:
        self._builder.skip(rows - len(self._builder))

    def extend(self, values: Sequence[Value]) -> None:
        before = len(self._builder)
        try:
            self._builder.extend(values)
        except FormatError:
            self._become_text(before)
            self._builder.extend(list(map(_text, values)))

    def repeat(self, value: Value, rows: int) -> None:
        """One value in many rows."""
        before = len(self._builder)
        try:
            self._builder.repeat(value, rows)
        except FormatError:
            self._become_text(before)
            self._builder.repeat(_text(value), rows)

    def build(self, rows: int) -> Column:
        built = self._builder.build(rows)
        role = _ROLES.get(self.name, "dimension")
        return _with(built, role="dimension" if built.dtype in ("str", "bool") else role)

    def _become_text(self, rows: int) -> None:
        """Take the first rows as text, and no others."""
        held = list(self._builder.build(len(self._builder)))[:rows]
        self._builder = ColumnBuilder(self.name)
        self._builder.extend(list(map(_text, held)))


def _words(values: Sequence[Any] | None, rows: int) -> Sequence[str]:
    """The texts of a field that may be missing."""
    if values is None:
        return [""] * rows
    return values if set(map(type, values)) == {str} else list(map(_word, values))


def refuse_many(cells: int, most: int) -> None:
    """FormatError where a table would have more cells than it may."""
    if cells > most:
        raise FormatError(f"its resources would be a table of more than {most:,} cells, nearly all of them empty")


def records(name: str, rows: Any, most: int = sys.maxsize) -> Table | None:
    """A table of objects, such as models; what is nested in them stands there as JSON."""
    if not isinstance(rows, list) or not rows:
        return None
    fields: dict[str, _Field] = {}
    refuse_many(len({key for row in rows if isinstance(row, dict) for key in row}) * len(rows), most)
    for index, row in enumerate(rows):
        for key, value in (row if isinstance(row, dict) else {"value": row}).items():
            field = fields.setdefault(key, _Field(key))
            field.skip(index)
            field.extend([_plain(value)])
    return Table(name, tuple(field.build(len(rows)) for field in fields.values()), len(rows))


def amount(value: Any) -> Amount | None:
    """(number, unit it brings) of 5, "5", "12MB" or "0.5 s"; None for null. FormatError for anything else."""
    if value is None:
        return None
    if type(value) in (int, float):
        return value, None
    if isinstance(value, str):
        if value in _WORDS:
            return _WORDS[value], None
        match = _AMOUNT.fullmatch(value) if len(value) < 100 else None
        if match:
            integer = _INTEGER.fullmatch(match[1])
            return int(match[1]) if integer else float(match[1]), match[2]
    raise FormatError(f"{_shown(value)} is no amount")


def _flat(name: str, value: Any) -> Iterable[tuple[str, Value]]:
    """The columns that a field fills: an object one for each of its own fields."""
    if not isinstance(value, dict):
        yield name, _plain(value)
        return
    if name == "uid" and "function" not in value:
        yield "uid", ":".join(str(_plain(component)) for component in value.values())
    for key, inner in value.items():
        yield (_UID[key] if name == "uid" and key in _UID else f"{name}:{key}"), _plain(inner)


def _frame(step: Any) -> Frame:
    if not isinstance(step, dict):
        return Frame(_text(step) or "")
    line = step.get("line")
    name = step.get("function", step.get("func"))
    return Frame(
        _text(name) or "", _text(step.get("source")) or "", line if type(line) is int and 0 < line < 2**31 else None
    )


def _kinds(values: Sequence[Any]) -> set[type]:
    """The types of the values; a buffer is one of integers."""
    return {int} if isinstance(values, array) else set(map(type, values))


def _are_numbers(values: Sequence[Any]) -> bool:
    """Whether these are numbers, some of which may be missing."""
    kinds = _kinds(values)
    return bool(kinds & {int, float}) and kinds <= {int, float, type(None)}


def _with(made: Column, **changes: Any) -> Column:
    return replace(made, spec=replace(made.spec, **changes))


def _plain(value: Any) -> Value:
    return json.dumps(value) if isinstance(value, dict | list) else value


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value)


def _word(value: Any) -> str:
    return _text(value) or ""


def _time(value: Any) -> int | float | None:
    try:
        parsed = amount(value)
    except FormatError:
        return None
    return parsed[0] if parsed else None


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 60 else f"{text[:60]}…"
