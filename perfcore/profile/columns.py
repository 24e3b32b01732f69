"""Columns of one type: typed buffers with a bitmap of the values that are present, and their builder, which stores
every value exactly or refuses it."""

from __future__ import annotations

import functools
import itertools
import sys
from array import array
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from perfcore.errors import ColumnError
from perfcore.model.record import Record
from perfcore.profile import bitmap

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

DType = Literal["i64", "u64", "f64", "bool", "str"]
Role = Literal["value", "dimension", "order", "benchmark"]
Better = Literal["lower", "higher"]
Value: TypeAlias = int | float | bool | str | None

CODES: Mapping[str, str] = {"i64": "q", "u64": "Q", "f64": "d", "bool": "?", "str": "I"}
WIDTHS: Mapping[str, int] = {"i64": 8, "u64": 8, "f64": 8, "bool": 1, "str": 4}
_ABSENT = bytes.maketrans(b"\0\1", b"\1\0")  # flags of what is there to flags of what is missing
_INT_MIN, _INT_MAX, _UINT_MAX = -(2**63), 2**63 - 1, 2**64 - 1
_TYPES: Mapping[type, tuple[DType, ...]] = {int: ("i64", "u64"), float: ("f64",), bool: ("bool",), str: ("str",)}
_FITTING: Mapping[str, type] = {"i64": int, "f64": float, "bool": bool}
_BUFFERS: Mapping[tuple[str, int], DType] = {
    ("q", 8): "i64",
    ("l", 8): "i64",  # NumPy's int64 is `l` on Linux and `q` on Windows
    ("Q", 8): "u64",
    ("L", 8): "u64",
    ("d", 8): "f64",
    ("?", 1): "bool",
}


class ColumnSpec(Record, frozen=True):
    """Name, type and meaning of a column: `role` is `value` for a consumed quantity, `dimension` for its location
    and kind, `order` for its time (run, timestamp), `benchmark` for the name and parameters of a benchmark, which is a
    series of its own (`perfcore.profile.benchmarks`). `better` is the direction of an improvement. `exact` declares a
    deterministic quantity, such as the bytes of a file or the instructions of a simulator: every run of a version
    gives the same value, so one run decides a comparison."""

    name: str
    dtype: DType
    unit: str = ""
    role: Role = "dimension"
    better: Better = "lower"
    exact: bool = False


def _check_words(spec: ColumnSpec) -> None:
    for field, words in (("dtype", DType), ("role", Role), ("better", Better)):
        if (word := getattr(spec, field)) not in (known := get_args(words)):
            raise ValueError(f"column {spec.name!r}: {field} is one of {', '.join(known)}, not {word!r}")


class Column(Record, frozen=True, eq=False, dict=True):
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

    @functools.cached_property
    def numbers(self) -> array[int]:
        """Rows that are referred to, -1 where one is missing. What is below 0 is the largest number, no table's row."""
        numbers = array("q", self.data.tobytes())
        if not numbers.tobytes()[7 if sys.byteorder == "little" else 0 :: 8].isascii():
            numbers = array("q", [number if number >= 0 else sys.maxsize for number in numbers])
        absent = b"" if self.valid is None else flags(self).translate(_ABSENT)
        for row in itertools.compress(range(len(absent)), absent):
            numbers[row] = -1
        return numbers

    @functools.cached_property
    def leaps(self) -> list[int]:
        """The rows whose number is not that of the row before them."""
        from perfcore.profile.relative import leaps

        return leaps(self.numbers)

    @functools.cached_property
    def counts(self) -> Counter[int]:
        """How often each number occurs, in the order of first use."""
        return Counter(self.numbers)

    def __reduce__(self) -> tuple[Any, ...]:
        """A memoryview does not pickle; its bytes do."""
        return from_buffer, (self.spec, self.data.tobytes(), self.valid, self.dictionary)

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
                values = iter([""] * len(self))  # all are missing, and the codes name no text
        if self.valid is None:
            return values
        return (v if present else None for v, present in zip(values, flags(self), strict=True))

    def take(self, rows: Sequence[int]) -> Column:
        """The column with only these rows, in this order."""
        code = "B" if self.dtype == "bool" else CODES[self.dtype]  # `array` has no code for booleans
        data = array(code, map(self.data.__getitem__, rows))
        valid = None
        if self.valid is not None:
            valid = bitmap.pack(bytes(map(flags(self).__getitem__, rows)))
        return Column(self.spec, view(data, self.dtype), valid, self.dictionary)

    def slice(self, start: int, stop: int) -> Column:
        """Rows start to stop - 1; shares the buffer."""
        valid = None if self.valid is None else bitmap.cut(self.valid, start, min(stop, len(self)))
        return Column(self.spec, self.data[start:stop], valid, self.dictionary)

    def same(self, other: Column) -> bool:
        """Equal in what they say, whatever dictionaries they use."""
        if self.spec != other.spec or len(self) != len(other):
            return False
        if self.dictionary == other.dictionary and self.data.tobytes() == other.data.tobytes():
            return self.valid == other.valid or flags(self) == flags(other)
        if self.dtype == "f64":
            return flags(self) == flags(other) and _present(self) == _present(other)
        return all(a == b for a, b in zip(self, other, strict=True))


def from_buffer(spec: ColumnSpec, buffer: Any, valid: bytes | None = None, dictionary: Sequence[str] = ()) -> Column:
    """A column over an existing buffer (bytes, array, NumPy array) of items of the dtype."""
    raw = memoryview(buffer).cast("B")
    return Column(spec, raw.cast(CODES[spec.dtype]).toreadonly(), valid, tuple(dictionary))  # type: ignore[call-overload]


def view(data: Any, dtype: DType) -> memoryview:
    view: Any = memoryview(data).toreadonly()
    return view.cast("B").cast("?") if dtype == "bool" else view  # type: ignore[no-any-return]


def _present(column: Column) -> bytes:
    """The bytes of the numbers that are there."""
    return array("d", itertools.compress(column.data, flags(column))).tobytes()  # tells NaNs apart by their bits


def flags(column: Column) -> bytes:
    return b"\x01" * len(column) if column.valid is None else bitmap.flags(column.valid, len(column))


def concat_columns(spec: ColumnSpec, parts: Sequence[Column]) -> Column:
    valid = None
    if any(chunk.valid is not None for chunk in parts):
        valid = bitmap.pack(b"".join(flags(chunk) for chunk in parts))
    if spec.dtype != "str":
        data = b"".join(chunk.data for chunk in parts)
        return Column(spec, memoryview(data).cast(CODES[spec.dtype]), valid)  # type: ignore[call-overload]
    codes: dict[str, int] = {}
    joined, moved, stay = array("I"), list[int](), True
    dictionary: tuple[str, ...] = ()
    for chunk in parts:
        if chunk.dictionary != dictionary:
            dictionary = chunk.dictionary
            moved = [codes.setdefault(text, len(codes)) for text in dictionary]
            stay = moved == list(range(len(moved)))  # as where all parts have one dictionary
        if stay:
            joined.frombytes(chunk.data.cast("B"))
        else:
            joined.extend(map((moved or [0]).__getitem__, chunk.data))
    return Column(spec, memoryview(joined).toreadonly(), valid, tuple(codes))


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
        self._untyped = 0  # rows until the dtype is known
        if spec:
            _check_words(spec)
            self._become(spec.dtype)

    def __len__(self) -> int:
        return self._untyped if self._data is None else len(self._data)

    def holds(self, value: Value) -> bool:
        """Whether values of the type of this one go into the data as they are, as far as they fit their bits."""
        if self._data is None:
            return False
        return value is None or type(value) is (str if self._dtype == "str" else self._fitting)

    def append(self, value: Value) -> None:
        if value is None:
            self.skip(1)
            return
        if type(value) is self._fitting:
            try:
                self._data.append(value)
            except OverflowError:  # beyond 64 bits with a sign: perhaps a u64
                self._append_slowly(value)
        elif self._dtype == "str" and type(value) is str:
            self._data.append(self._codes[value])
        else:
            self._append_slowly(value)

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

    def skip(self, rows: int) -> None:
        """`rows` missing values."""
        if rows <= 0:
            return
        self._mark(bytes(rows))
        if self._data is None:
            self._untyped += rows
        else:
            self._pad(rows)

    def build(self, rows: int, *, copy: bool = False) -> Column:
        """The finished column, filled up with missing values to `rows`. Only with a copy can it grow afterwards: an
        array that a memoryview looks at cannot be resized."""
        self.skip(rows - len(self))
        dtype: DType = self._dtype or "f64"
        data = self._data if self._data is not None else array("d", bytes(8 * rows))
        if copy:
            data = data[:]
        valid = bitmap.pack(self._there.ljust(rows, b"\x01")) if self._there else None
        role: Role = "value" if dtype in ("i64", "u64", "f64") else "dimension"
        spec = self.spec or ColumnSpec(self.name, dtype, role=role)
        return Column(spec, view(data, dtype), valid, tuple(self._codes))

    def _become(self, dtype: DType) -> None:
        """Take on a dtype; the rows so far are missing."""
        self._dtype, self._fitting = dtype, _FITTING.get(dtype)
        self._data = bytearray() if dtype == "bool" else array(CODES[dtype])
        self._pad(self._untyped)

    def _pad(self, rows: int) -> None:
        self._data.extend(bytes(rows) if self._dtype == "bool" else array(self._data.typecode, [0]) * rows)

    def _mark(self, flags: bytes) -> None:
        """Note which of the next rows are there."""
        self._there.extend(b"\x01" * (len(self) - len(self._there)))
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
        return True

    def _extend_by_type(self, values: Sequence[Value]) -> bool:
        """Append values that are all of one type, or missing, and fit the column as they are."""
        kinds = set(map(type, values))
        gaps = type(None) in kinds
        if kinds == {type(None)}:
            self.skip(len(values))
            return True
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
        if gaps:
            self._mark(bytes(value is not None for value in values))
        self._data.extend(data)
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
        dtype = self._wanted(value)
        if self._dtype is None:
            self._become(dtype)
        elif dtype != self._dtype:
            value = self._reconcile(dtype, value)
        if self._dtype == "str":
            self._data.append(self._codes[str(value)])
        else:
            self._data.append(value)

    def _wanted(self, value: Any) -> DType:
        if isinstance(value, bool):
            return "bool"
        if isinstance(value, int):
            if value < _INT_MIN or value > _UINT_MAX:
                raise ColumnError(f"column {self.name!r}: {value} does not fit 64 bits")
            return "i64" if value <= _INT_MAX else "u64"
        if isinstance(value, float):
            return "f64"
        if isinstance(value, str):
            return "str"
        raise ColumnError(f"column {self.name!r} cannot hold a value of type {type(value).__name__}")

    def _reconcile(self, wanted: DType, value: Any) -> Value:
        """Change the column's dtype, or the value, so that both fit without loss."""
        is_integer = self._dtype in ("i64", "u64")
        if self._dtype == "f64" and wanted in ("i64", "u64") and int(float(value)) == value:  # exact up to 2**53
            return float(value)
        if self._dtype == "u64" and wanted == "i64" and value >= 0:
            return int(value)
        if self.spec is None and is_integer and wanted == "f64" and all(int(float(v)) == v for v in self._data):
            self._data, self._dtype, self._fitting = array("d", self._data), "f64", float
            return float(value)
        if self.spec is None and self._dtype == "i64" and wanted == "u64" and all(v >= 0 for v in self._data):
            self._data, self._dtype, self._fitting = array("Q", self._data), "u64", None
            return int(value)
        raise ColumnError(f"column {self.name!r} is {self._dtype} and cannot hold {value!r}")
