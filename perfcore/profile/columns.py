"""Columns of one type: typed buffers with a bitmap of the values that are present."""

from __future__ import annotations

import itertools
from array import array
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import attrs

from perfcore.profile import bitmap

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

DType = Literal["i64", "u64", "f64", "bool", "str"]
Role = Literal["value", "dimension", "order"]
Value: TypeAlias = int | float | bool | str | None

CODES: Mapping[str, str] = {"i64": "q", "u64": "Q", "f64": "d", "bool": "?", "str": "I"}
WIDTHS: Mapping[str, int] = {"i64": 8, "u64": 8, "f64": 8, "bool": 1, "str": 4}


@attrs.frozen
class ColumnSpec:
    """Name, type and meaning of a column: `role` is `value` for a consumed quantity, `dimension` for its location
    and kind, `order` for its time (run, timestamp). `better` is the direction of an improvement. `exact` declares a
    deterministic quantity, such as the bytes of a file or the instructions of a simulator: every run of a version
    gives the same value, so one run decides a comparison."""

    name: str
    dtype: DType
    unit: str = ""
    role: Role = "dimension"
    better: Literal["lower", "higher"] = "lower"
    exact: bool = False


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
                values = iter([""] * len(self))
        if self.valid is None:
            return values
        return (v if present else None for v, present in zip(values, flags(self), strict=True))

    def take(self, rows: Sequence[int]) -> Column:
        """The column with only these rows, in this order."""
        data = array(_array_code(self.dtype), map(self.data.__getitem__, rows))
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


def _array_code(dtype: DType) -> str:
    return "B" if dtype == "bool" else CODES[dtype]


def view(data: Any, dtype: DType) -> memoryview:
    view: Any = memoryview(data).toreadonly()
    return view.cast("B").cast("?") if dtype == "bool" else view  # type: ignore[no-any-return]


def _present(column: Column) -> bytes:
    """The bytes of the numbers that are there, so that NaNs are told apart by their bits."""
    return array("d", itertools.compress(column.data, flags(column))).tobytes()


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
    joined = array("I")
    for chunk in parts:
        moved = [codes.setdefault(text, len(codes)) for text in chunk.dictionary]
        if moved == list(range(len(moved))):
            joined.frombytes(chunk.data.cast("B"))
        else:
            joined.extend(map((moved or [0]).__getitem__, chunk.data))
    return Column(spec, memoryview(joined).toreadonly(), valid, tuple(codes))
