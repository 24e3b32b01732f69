"""Tables of typed columns.

A column is a typed buffer (it speaks the buffer protocol, so NumPy and Polars wrap it without copying) with
an optional validity bitmap: a missing value is absent, never 0 or NaN. Text is coded by a dictionary.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Literal

from perfcore.errors import FormatError
from perfcore.model.record import Record, replace
from perfcore.profile import bitmap
from perfcore.profile.columns import (
    CODES,
    Column,
    ColumnBuilder,
    ColumnSpec,
    DType,
    Role,
    Value,
    concat_columns,
    from_buffer,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import polars

__all__ = ["CODES", "Column", "ColumnBuilder", "ColumnSpec", "DType", "Role", "Table", "TableBuilder", "Value"]
__all__ += ["column", "concat", "from_buffer", "refuse_unlike", "table"]

_TOGETHER = 1000  # rows that go to the columns at once


class Table(Record, frozen=True, eq=False):
    """Columns of equal length under a name. Tables are equal when their columns say the same, in order."""

    name: str
    columns: tuple[Column, ...]
    rows: int

    def __post_init__(self) -> None:
        names = [column.name for column in self.columns]
        if len(set(names)) != len(names):
            raise FormatError(f"table {self.name!r} has two columns of one name")
        for column in self.columns:
            if len(column) != self.rows:
                raise FormatError(
                    f"table {self.name!r}: column {column.name!r} has {len(column)} rows, not {self.rows}"
                )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Table):
            return NotImplemented
        if (self.name, self.rows, self.names) != (other.name, other.rows, other.names):
            return False
        return all(a.same(b) for a, b in zip(self.columns, other.columns, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<Table {self.name} {self.rows} rows: {', '.join(self.names)}>"

    def _repr_html_(self) -> str:
        """The first rows for notebooks."""
        from perfcore.html_table import html_table

        names = [f"{column.name} ({column.unit})" if column.unit else column.name for column in self.columns]
        return html_table(names, zip(*self.columns, strict=True), self.rows)

    def __len__(self) -> int:
        return self.rows

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    def get(self, name: str) -> Column | None:
        return next((column for column in self.columns if column.name == name), None)

    def __getitem__(self, name: str) -> Column:
        column = self.get(name)
        if column is None:
            raise KeyError(f"table {self.name!r} has no column {name!r}; it has {', '.join(self.names)}")
        return column

    def values(self) -> tuple[Column, ...]:
        """The columns that hold what was consumed."""
        return tuple(column for column in self.columns if column.role == "value")

    def iter_rows(self) -> Iterator[dict[str, Value]]:
        """Each row as a dict; missing values are None. For small tables and for people."""
        for row in zip(*self.columns, strict=True):
            yield dict(zip(self.names, row, strict=True))

    def take(self, rows: Sequence[int]) -> Table:
        return Table(self.name, tuple(column.take(rows) for column in self.columns), len(rows))

    def slice(self, start: int, stop: int) -> Table:
        rows = max(0, min(stop, self.rows) - start)
        return Table(self.name, tuple(c.slice(start, start + rows) for c in self.columns), rows)

    def with_columns(self, *columns: Column) -> Table:
        """The table with these columns put in the place of those of their names, or at the end."""
        new = {column.name: column for column in columns}
        replaced = [new.pop(column.name, column) for column in self.columns]
        return Table(self.name, (*replaced, *new.values()), self.rows)

    def to_polars(self) -> polars.DataFrame:
        """A Polars frame over the same buffers. Needs the packages `polars` and `numpy`."""
        import numpy
        import polars

        series = []
        for column in self.columns:
            data = polars.Series(column.name, numpy.asarray(column.data))
            if column.dtype == "str":
                # Codes of missing texts are 0: a dictionary without a text needs one that they can name.
                data = polars.Series(column.name, list(column.dictionary) or [""], dtype=polars.String)[data]
                data = data.alias(column.name)
            if column.valid is not None:
                present = polars.Series(numpy.frombuffer(bitmap.flags(column.valid, self.rows), dtype=bool))
                data = data.zip_with(present, polars.Series(column.name, [None] * self.rows, dtype=data.dtype))
            series.append(data)
        return polars.DataFrame(series)

    def to_pandas(self) -> Any:
        """A pandas frame with the types of pandas that know missing values. Needs `pandas` and `numpy`."""
        import numpy

        pandas: Any = importlib.import_module("pandas")  # it tells type checkers nothing
        arrays = pandas.arrays
        kinds = {"f64": arrays.FloatingArray, "bool": arrays.BooleanArray}
        series = {}
        for column in self.columns:
            if column.dtype == "str":
                series[column.name] = pandas.array(list(column), dtype="string")
                continue
            present = None if column.valid is None else bitmap.flags(column.valid, self.rows)
            missing = numpy.zeros(self.rows, bool) if present is None else ~numpy.frombuffer(present, dtype=bool)
            series[column.name] = kinds.get(column.dtype, arrays.IntegerArray)(numpy.array(column.data), missing)
        return pandas.DataFrame(series)


def column(
    name: str,
    values: Sequence[Value],
    *,
    dtype: DType | None = None,
    unit: str = "",
    role: Role = "dimension",
    better: Literal["lower", "higher"] = "lower",
    exact: bool = False,
) -> Column:
    """A column from Python values; the dtype is the narrowest that holds them all where none is given."""
    builder = ColumnBuilder(name, ColumnSpec(name, dtype, unit, role, better, exact) if dtype else None)
    try:
        builder.extend(values)
    except FormatError:
        if dtype or not any(isinstance(value, float) for value in values):
            raise
        # No integer type holds all of them; floats may.
        return column(name, values, dtype="f64", unit=unit, role=role, better=better, exact=exact)
    built = builder.build(len(values))
    return replace(built, spec=ColumnSpec(name, built.dtype, unit, role, better, exact))


def table(name: str, columns: Sequence[Column]) -> Table:
    """A table of these columns, which are of one length."""
    return Table(name, tuple(columns), len(columns[0]) if columns else 0)


def concat(tables: Sequence[Table]) -> Table:
    """The rows of several tables of the same columns, one after the other."""
    first = tables[0]
    if len(tables) == 1:
        return first
    refuse_unlike([[column.spec for column in table.columns] for table in tables], f"table {first.name!r}")
    columns = [concat_columns(column.spec, [table[column.spec.name] for table in tables]) for column in first.columns]
    return Table(first.name, tuple(columns), sum(table.rows for table in tables))


def refuse_unlike(parts: Sequence[Sequence[ColumnSpec]], where: str) -> None:
    """FormatError where the parts of a table do not have the same columns, in whatever order."""
    first = {spec.name: spec for spec in parts[0]}
    for specs in parts:
        if {spec.name for spec in specs} != set(first):
            raise FormatError(f"{where} changes its columns between pieces")
        for spec in specs:
            if spec != first[spec.name]:
                raise FormatError(f"{where}: column {spec.name!r} changes its type between pieces")


class TableBuilder:
    """Grows a table by rows or by columns; `extend` keeps typed buffers as they are."""

    def __init__(self, name: str, specs: Sequence[ColumnSpec] = ()) -> None:
        self.name = name
        self._columns = {spec.name: ColumnBuilder(spec.name, spec) for spec in specs}
        self._rows = 0
        self._row: tuple[object, ...] | None = None  # names and types of the row that was added last
        self._waiting: list[tuple[Value, ...]] = []  # rows like it that the columns do not hold yet

    def __len__(self) -> int:
        return self._rows

    def declare(self, *specs: ColumnSpec) -> None:
        """Fix name, dtype, unit and role of columns before their first value."""
        for spec in specs:
            if spec.name in self._columns:
                raise FormatError(f"table {self.name!r}: column {spec.name!r} is declared twice")
            self._columns[spec.name] = ColumnBuilder(spec.name, spec)

    def add(self, **values: Value) -> None:
        """One row; columns that are not named hold no value in it. A whole number that does not fit 64 bits may be
        refused only when a later row is added or the table is built."""
        row = (*values, *map(type, values.values()))
        if row != self._row or len(self._waiting) == _TOGETHER:
            self._take_waiting()
            builders = [self._builder(name) for name in values]
            for builder, value in zip(builders, values.values(), strict=True):
                if len(builder) == self._rows:
                    builder.append(value)
            # Most rows are like the one before, and go to the columns many at once.
            self._row = row if all(map(ColumnBuilder.holds, builders, values.values())) else None
        else:
            self._waiting.append(tuple(values.values()))
        self._rows += 1

    def extend(self, columns: Mapping[str, Sequence[Value]]) -> None:
        """Many rows, given as columns of one length."""
        lengths = {len(values) for values in columns.values()}
        if len(lengths) > 1:
            raise FormatError(f"table {self.name!r}: columns of different lengths {sorted(lengths)}")
        self._take_waiting()
        for name, values in columns.items():
            self._builder(name).extend(values)
        self._rows += lengths.pop() if lengths else 0
        self._row = None

    def build(self) -> Table:
        self._take_waiting()
        columns = tuple(builder.build(self._rows) for builder in self._columns.values())
        return Table(self.name, columns, self._rows)

    def snapshot(self) -> Table:
        """A copy of the table as it is; more rows can follow."""
        self._take_waiting()
        columns = tuple(builder.build(self._rows, copy=True) for builder in self._columns.values())
        return Table(self.name, columns, self._rows)

    def _take_waiting(self) -> None:
        waiting, self._waiting = self._waiting, []
        for name, values in zip(self._row or (), zip(*waiting, strict=True), strict=False):
            self._columns[str(name)].extend(values)

    def _builder(self, name: str) -> ColumnBuilder:
        builder = self._columns.get(name)
        if builder is None:
            builder = self._columns[name] = ColumnBuilder(name)
        builder.skip(self._rows - len(builder))
        return builder
