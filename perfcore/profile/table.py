"""Tables of typed columns.

A column is a typed buffer (it speaks the buffer protocol, so NumPy and Polars wrap it without copying) with
an optional validity bitmap: a missing value is absent, never 0 or NaN. Text is coded by a dictionary.
"""

from __future__ import annotations

import importlib
import itertools
from array import array
from collections import defaultdict
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import attrs

from perfcore.errors import FormatError
from perfcore.profile import bitmap

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import polars

DType = Literal["i64", "u64", "f64", "bool", "str"]
Role = Literal["value", "dimension", "order"]
Value: TypeAlias = int | float | bool | str | None

CODES: Mapping[str, str] = {"i64": "q", "u64": "Q", "f64": "d", "bool": "?", "str": "I"}
WIDTHS: Mapping[str, int] = {"i64": 8, "u64": 8, "f64": 8, "bool": 1, "str": 4}
_INT_MIN, _INT_MAX, _UINT_MAX = -(2**63), 2**63 - 1, 2**64 - 1
_TYPES: Mapping[type, tuple[DType, ...]] = {
    int: ("i64", "u64"),
    float: ("f64",),
    bool: ("bool",),
    str: ("str",),
}
_FITTING: Mapping[str, type] = {"i64": int, "f64": float, "bool": bool}
_BUFFERS: Mapping[tuple[str, int], DType] = {
    ("q", 8): "i64",
    ("l", 8): "i64",
    ("Q", 8): "u64",
    ("L", 8): "u64",
    ("d", 8): "f64",
    ("?", 1): "bool",
}


@attrs.frozen
class ColumnSpec:
    """What a column is: `role` is `value` for what was consumed, `dimension` for where and what, `order` for
    when (run, time). `better` says which way a value improves."""

    name: str
    dtype: DType
    unit: str = ""
    role: Role = "dimension"
    better: Literal["lower", "higher"] = "lower"


@attrs.frozen(eq=False, repr=False)
class Column:
    """One column: `data` is a memoryview of `rows` items of the dtype (`str`: u32 codes into `dictionary`).

    `valid` is None where every value is there, else a bitmap, bit i of byte i // 8 from the lowest up; the
    item of a missing value is 0.
    """

    spec: ColumnSpec
    data: memoryview
    valid: bytes | None = None
    dictionary: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    def dtype(self) -> DType:
        return self.spec.dtype

    @property
    def unit(self) -> str:
        return self.spec.unit

    @property
    def role(self) -> Role:
        return self.spec.role

    def __len__(self) -> int:
        return len(self.data)

    def __repr__(self) -> str:
        return f"<Column {self.name} {self.dtype} {self.unit or '-'} {len(self)} rows>"

    def __getitem__(self, row: int) -> Value:
        value: Value = self.data[row]
        if self.valid is not None and not bitmap.get(self.valid, row % len(self)):
            return None
        return self.dictionary[int(value)] if self.dtype == "str" else value  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[Value]:
        values: Iterator[Value] = iter(self.data)
        if self.dtype == "str":
            values = map(self.dictionary.__getitem__, self.data)
            if self.valid is not None and not self.dictionary:
                values = iter([""] * len(self))
        if self.valid is None:
            return values
        return (v if there else None for v, there in zip(values, _flags(self), strict=True))

    def take(self, rows: Sequence[int]) -> Column:
        """The column with only these rows, in this order."""
        data = array(_array_code(self.dtype), map(self.data.__getitem__, rows))
        valid = None
        if self.valid is not None:
            valid = bitmap.pack(bytes(map(_flags(self).__getitem__, rows)))
        return Column(self.spec, _view(data, self.dtype), valid, self.dictionary)

    def slice(self, start: int, stop: int) -> Column:
        """Rows start to stop - 1; shares the buffer."""
        valid = None if self.valid is None else bitmap.cut(self.valid, start, min(stop, len(self)))
        return Column(self.spec, self.data[start:stop], valid, self.dictionary)

    def same(self, other: Column) -> bool:
        """Equal in what they say, whatever dictionaries they use."""
        if self.spec != other.spec or len(self) != len(other):
            return False
        if self.dictionary == other.dictionary and self.data.tobytes() == other.data.tobytes():
            return self.valid == other.valid or _flags(self) == _flags(other)
        if self.dtype == "f64":
            return _flags(self) == _flags(other) and _present(self) == _present(other)
        return all(a == b for a, b in zip(self, other, strict=True))


@attrs.frozen(eq=False, repr=False)
class Table:
    """Columns of equal length under a name. Tables are equal when their columns say the same, in order."""

    name: str
    columns: tuple[Column, ...]
    rows: int

    def __attrs_post_init__(self) -> None:
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
        kept = [new.pop(column.name, column) for column in self.columns]
        return Table(self.name, (*kept, *new.values()), self.rows)

    def to_polars(self) -> polars.DataFrame:
        """A Polars frame over the same buffers. Needs the packages `polars` and `numpy`."""
        import numpy
        import polars

        series = []
        for column in self.columns:
            data = polars.Series(column.name, numpy.asarray(column.data))
            if column.dtype == "str":
                data = polars.Series(column.name, list(column.dictionary) or [""], dtype=polars.String)[data]
                data = data.alias(column.name)
            if column.valid is not None:
                there = polars.Series(numpy.frombuffer(bitmap.flags(column.valid, self.rows), dtype=bool))
                data = data.zip_with(there, polars.Series(column.name, [None] * self.rows, dtype=data.dtype))
            series.append(data)
        return polars.DataFrame(series)

    def to_pandas(self) -> Any:
        """A pandas frame with the types of pandas that know missing values. Needs the packages `pandas` and
        `numpy`."""
        import numpy

        pandas: Any = importlib.import_module("pandas")  # it tells type checkers nothing
        arrays = pandas.arrays
        kinds = {"f64": arrays.FloatingArray, "bool": arrays.BooleanArray}
        series = {}
        for column in self.columns:
            if column.dtype == "str":
                series[column.name] = pandas.array(list(column), dtype="string")
                continue
            there = None if column.valid is None else bitmap.flags(column.valid, self.rows)
            missing = numpy.zeros(self.rows, bool) if there is None else ~numpy.frombuffer(there, dtype=bool)
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
) -> Column:
    """A column from Python values; the dtype is the narrowest that holds them all where none is given."""
    builder = ColumnBuilder(name, ColumnSpec(name, dtype, unit, role, better) if dtype else None)
    try:
        builder.extend(values)
    except FormatError:
        if dtype or not any(isinstance(value, float) for value in values):
            raise
        return column(name, values, dtype="f64", unit=unit, role=role, better=better)  # integers of no one type may be
    built = builder.build(len(values))
    return attrs.evolve(built, spec=ColumnSpec(name, built.dtype, unit, role, better))


def from_buffer(spec: ColumnSpec, buffer: Any, valid: bytes | None = None, dictionary: Sequence[str] = ()) -> Column:
    """A column over an existing buffer (bytes, array, NumPy array) of items of the dtype."""
    raw = memoryview(buffer).cast("B")
    return Column(spec, raw.cast(CODES[spec.dtype]).toreadonly(), valid, tuple(dictionary))  # type: ignore[call-overload]


def table(name: str, columns: Sequence[Column]) -> Table:
    """A table of these columns, which are of one length."""
    return Table(name, tuple(columns), len(columns[0]) if columns else 0)


def concat(tables: Sequence[Table]) -> Table:
    """The rows of several tables of the same columns, one after the other."""
    first = tables[0]
    if len(tables) == 1:
        return first
    refuse_unlike([[column.spec for column in part.columns] for part in tables], f"table {first.name!r}")
    columns = []
    for spec in (column.spec for column in first.columns):
        columns.append(_concat_columns(spec, [part[spec.name] for part in tables]))
    return Table(first.name, tuple(columns), sum(part.rows for part in tables))


def refuse_unlike(parts: Sequence[Sequence[ColumnSpec]], where: str) -> None:
    """FormatError where the parts of a table do not have the same columns, in whatever order."""
    first = {spec.name: spec for spec in parts[0]}
    for part in parts:
        if {spec.name for spec in part} != set(first):
            raise FormatError(f"{where} changes its columns between pieces")
        for spec in part:
            if spec != first[spec.name]:
                raise FormatError(f"{where}: column {spec.name!r} changes its type between pieces")


class ColumnBuilder:
    """Grows one column. Without a spec its dtype follows the values, each kept exactly or refused."""

    def __init__(self, name: str, spec: ColumnSpec | None = None) -> None:
        self.name = name
        self.spec = spec
        self._dtype: DType | None = None
        self._fitting: type | None = None  # the type of values that go into the data as they are
        self._data: Any = None
        self._there = bytearray()  # a flag for each row up to the last missing one
        self._codes = defaultdict[str, int](itertools.count().__next__)  # a new text gets the next code
        self._rows = 0
        if spec:
            self._become(spec.dtype)

    def __len__(self) -> int:
        return self._rows

    def append(self, value: Value) -> None:
        if value is None:
            self.skip(1)
            return
        if type(value) is self._fitting:
            try:
                self._data.append(value)
            except OverflowError:
                self._append_slowly(value)
        elif self._dtype == "str" and type(value) is str:
            self._data.append(self._codes[value])
        else:
            self._append_slowly(value)
        self._rows += 1

    def extend(self, values: Sequence[Value]) -> None:
        """Many values. Typed buffers (array, NumPy) of the column's dtype and lists of one type are quick."""
        if not (self._extend_by_buffer(values) or self._extend_by_type(values)):
            for value in values:
                self.append(value)

    def repeat(self, value: Value, rows: int) -> None:
        """One value in many rows."""
        if value is None:
            self.skip(rows)
        elif rows > 0:
            self.append(value)
            self._data.extend(self._data[-1:] * (rows - 1))
            self._rows += rows - 1

    def skip(self, rows: int) -> None:
        """`rows` missing values."""
        if rows <= 0:
            return
        if self._data is not None:
            self._pad(rows)
        self._mark(bytes(rows))
        self._rows += rows

    def build(self, rows: int) -> Column:
        """The finished column, filled up with missing values to `rows`."""
        self.skip(rows - self._rows)
        dtype: DType = self._dtype or "f64"
        data = self._data if self._data is not None else array("d", bytes(8 * rows))
        valid = bitmap.pack(self._there.ljust(rows, b"\x01")) if self._there else None
        role: Role = "value" if dtype in ("i64", "u64", "f64") else "dimension"
        spec = self.spec or ColumnSpec(self.name, dtype, role=role)
        return Column(spec, _view(data, dtype), valid, tuple(self._codes))

    def _become(self, dtype: DType) -> None:
        """Take on a dtype; the rows so far are missing."""
        self._dtype, self._fitting = dtype, _FITTING.get(dtype)
        self._data = bytearray() if dtype == "bool" else array(CODES[dtype])
        self._pad(self._rows)

    def _pad(self, rows: int) -> None:
        self._data.extend(bytes(rows) if self._dtype == "bool" else array(self._data.typecode, [0]) * rows)

    def _mark(self, flags: bytes) -> None:
        """Note which of the next rows are there."""
        self._there.extend(b"\x01" * (self._rows - len(self._there)))
        self._there.extend(flags)

    def _extend_by_buffer(self, values: Any) -> bool:
        try:
            view = memoryview(values)
        except TypeError:
            return False
        dtype = _BUFFERS.get((view.format, view.itemsize))
        if view.ndim != 1 or dtype is None or dtype != (self._dtype or dtype):
            return False
        if self._dtype is None:
            self._become(dtype)
        if dtype == "bool":
            self._data.extend(view.tobytes())
        else:
            self._data.frombytes(view.tobytes())
        self._rows += len(view)
        return True

    def _extend_by_type(self, values: Sequence[Value]) -> bool:
        """Append values that are all of one type, or missing, and fit the column as they are."""
        kinds = set(map(type, values))
        gaps = type(None) in kinds
        fitting = _TYPES.get(next(iter(kinds - {type(None)}), type(None)), ())
        dtype = self._dtype or next(iter(fitting), None)
        if dtype not in fitting or len(kinds) - gaps != 1:
            return False
        try:
            data = self._items(dtype, values, gaps)
        except OverflowError:
            return False
        if self._dtype is None:
            self._become(dtype)
        self._data.extend(data)
        if gaps:
            self._mark(bytes(value is not None for value in values))
        self._rows += len(values)
        return True

    def _items(self, dtype: DType, values: Any, gaps: bool) -> Any:
        if dtype == "str":
            codes = self._codes
            if gaps:
                return [0 if value is None else codes[value] for value in values]
            return array("I", map(codes.__getitem__, values))
        if gaps:
            values = [0 if value is None else value for value in values]
        return bytes(values) if dtype == "bool" else array(CODES[dtype], values)

    def _append_slowly(self, value: Any) -> None:
        if not isinstance(value, int | float | str) and hasattr(value, "item"):
            value = value.item()  # a scalar of NumPy
        wanted = self._wanted(value)
        if self._dtype is None:
            self._become(wanted)
        elif wanted != self._dtype:
            value = self._reconcile(wanted, value)
        if self._dtype == "str":
            self._data.append(self._codes[str(value)])
        else:
            self._data.append(value)

    def _wanted(self, value: Any) -> DType:
        if isinstance(value, bool):
            return "bool"
        if isinstance(value, int):
            if value < _INT_MIN or value > _UINT_MAX:
                raise FormatError(f"column {self.name!r}: {value} does not fit 64 bits")
            return "i64" if value <= _INT_MAX else "u64"
        if isinstance(value, float):
            return "f64"
        if isinstance(value, str):
            return "str"
        raise FormatError(f"column {self.name!r} cannot hold a value of type {type(value).__name__}")

    def _reconcile(self, wanted: DType, value: Any) -> Value:
        """Change the column's dtype, or the value, so that both fit without loss."""
        whole = self._dtype in ("i64", "u64")
        if self._dtype == "f64" and wanted in ("i64", "u64") and int(float(value)) == value:
            return float(value)
        if self._dtype == "u64" and wanted == "i64" and value >= 0:
            return int(value)
        if self.spec is None and whole and wanted == "f64" and all(int(float(v)) == v for v in self._data):
            self._data, self._dtype, self._fitting = array("d", self._data), "f64", float
            return float(value)
        if self.spec is None and self._dtype == "i64" and wanted == "u64" and all(v >= 0 for v in self._data):
            self._data, self._dtype, self._fitting = array("Q", self._data), "u64", None
            return int(value)
        raise FormatError(f"column {self.name!r} is {self._dtype} and cannot hold {value!r}")


class TableBuilder:
    """Grows a table by rows or by columns; `extend` keeps typed buffers as they are."""

    def __init__(self, name: str, specs: Sequence[ColumnSpec] = ()) -> None:
        self.name = name
        self._columns = {spec.name: ColumnBuilder(spec.name, spec) for spec in specs}
        self._rows = 0

    def __len__(self) -> int:
        return self._rows

    def declare(self, *specs: ColumnSpec) -> None:
        """Fix name, dtype, unit and role of columns before their first value."""
        for spec in specs:
            if spec.name in self._columns:
                raise FormatError(f"table {self.name!r}: column {spec.name!r} is declared twice")
            self._columns[spec.name] = ColumnBuilder(spec.name, spec)

    def add(self, **values: Value) -> None:
        """One row; columns that are not named hold no value in it."""
        columns, rows = self._columns, self._rows
        for name, value in values.items():
            builder = columns.get(name)
            if builder is None or len(builder) != rows:
                builder = self._builder(name)
            builder.append(value)
        self._rows += 1

    def extend(self, columns: Mapping[str, Sequence[Value]]) -> None:
        """Many rows, given as columns of one length."""
        lengths = {len(values) for values in columns.values()}
        if len(lengths) > 1:
            raise FormatError(f"table {self.name!r}: columns of different lengths {sorted(lengths)}")
        for name, values in columns.items():
            self._builder(name).extend(values)
        self._rows += lengths.pop() if lengths else 0

    def build(self) -> Table:
        columns = tuple(builder.build(self._rows) for builder in self._columns.values())
        return Table(self.name, columns, self._rows)

    def _builder(self, name: str) -> ColumnBuilder:
        builder = self._columns.get(name)
        if builder is None:
            builder = self._columns[name] = ColumnBuilder(name)
        builder.skip(self._rows - len(builder))
        return builder


def _array_code(dtype: DType) -> str:
    return "B" if dtype == "bool" else CODES[dtype]


def _view(data: Any, dtype: DType) -> memoryview:
    view: Any = memoryview(data).toreadonly()
    return view.cast("B").cast("?") if dtype == "bool" else view  # type: ignore[no-any-return]


def _present(column: Column) -> bytes:
    """The bytes of the numbers that are there, so that NaNs are told apart by their bits."""
    return array("d", itertools.compress(column.data, _flags(column))).tobytes()


def _flags(column: Column) -> bytes:
    return b"\x01" * len(column) if column.valid is None else bitmap.flags(column.valid, len(column))


def _concat_columns(spec: ColumnSpec, parts: Sequence[Column]) -> Column:
    valid = None
    if any(part.valid is not None for part in parts):
        valid = bitmap.pack(b"".join(_flags(part) for part in parts))
    if spec.dtype != "str":
        data = b"".join(part.data for part in parts)
        return Column(spec, memoryview(data).cast(CODES[spec.dtype]), valid)  # type: ignore[call-overload]
    codes: dict[str, int] = {}
    joined = array("I")
    for part in parts:
        moved = [codes.setdefault(text, len(codes)) for text in part.dictionary]
        if moved == list(range(len(moved))):
            joined.frombytes(part.data.cast("B"))
        else:
            joined.extend(map((moved or [0]).__getitem__, part.data))
    return Column(spec, memoryview(joined).toreadonly(), valid, tuple(codes))
