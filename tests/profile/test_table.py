"""Tables, columns and their builders, against lists of Python values."""

from __future__ import annotations

import itertools
import math
import struct
from array import array
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from perfcore_testing.strategies import F64, I64, TEXT, U64, columns, tables

from perfcore.errors import FormatError
from perfcore.profile import bitmap
from perfcore.profile.table import (
    ColumnBuilder,
    ColumnSpec,
    Table,
    TableBuilder,
    column,
    concat,
    from_buffer,
    table,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perfcore.profile.table import Column, DType

VALUES = {"i64": I64, "u64": U64, "f64": F64, "bool": st.booleans(), "str": TEXT}


def bits(value: Any) -> Any:
    """The value, doubles as their bits: NaN equals itself, and 0.0 is not -0.0."""
    return struct.pack("<d", value) if isinstance(value, float) else value


def same(left: Sequence[Any], right: Sequence[Any]) -> bool:
    return [(type(v), bits(v)) for v in left] == [(type(v), bits(v)) for v in right]


def fill(builder: ColumnBuilder, values: list[Any], at_once: bool) -> None:
    if at_once:
        builder.extend(values)
    else:
        for value in values:
            builder.append(value)


@given(st.data(), st.sampled_from(tuple(VALUES)), st.booleans())
def test_every_value_of_a_declared_column_survives(data: st.DataObject, dtype: DType, at_once: bool) -> None:
    values: list[Any] = data.draw(st.lists(VALUES[dtype] | st.none(), max_size=20))
    builder = ColumnBuilder("x", ColumnSpec("x", dtype))
    fill(builder, values, at_once)
    built = builder.build(len(values))
    assert same(list(built), values)
    assert same([built[i] for i in range(len(values))], values)
    assert (built.valid is not None) == (None in values)


@given(st.lists(st.integers(-5, 5) | I64 | U64 | st.floats() | st.none(), max_size=8))
def test_a_column_without_a_dtype_keeps_numbers_exactly_or_refuses(values: list[Any]) -> None:
    try:
        built = column("x", values)
    except FormatError:
        there = [v for v in values if v is not None]
        floats = any(isinstance(v, float) for v in there)
        exact = all(isinstance(v, float) or int(float(v)) == v for v in there)
        fit = min(there) >= -(2**63) and (max(there) < 2**63 or min(there) >= 0)
        assert not exact if floats else not fit
        return
    for value, kept in zip(values, built, strict=True):
        assert (value is None) == (kept is None)
        if value is not None:
            assert kept == value or bits(kept) == bits(value)
            assert type(kept) is (float if built.dtype == "f64" else int)


@given(st.permutations([2**63, 0.5, None]) | st.permutations([-1, 2**63, 0.0]))
def test_the_order_of_values_does_not_decide_whether_they_fit(values: list[Any]) -> None:
    assert list(column("x", values)) == values


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ([1, 2], "i64"),
        ([2**63], "u64"),
        ([1, 2**64 - 1], "u64"),
        ([1, 0.5], "f64"),
        ([0.5, 2**53], "f64"),
        ([True, None], "bool"),
        (["a", None, "b"], "str"),
        ([None, None], "f64"),
        ([], "f64"),
    ],
)
def test_the_dtype_is_the_narrowest_that_holds_all(values: list[Any], dtype: str) -> None:
    built = column("x", values)
    assert (built.dtype, list(built)) == (dtype, values)


@pytest.mark.parametrize(
    "values",
    [
        [2**64],
        [-(2**63) - 1],
        [-1, 2**63],
        [2**63, -1],
        [2**53 + 1, 0.5],
        [0.5, 2**53 + 1],
        [1, "a"],
        ["a", 1],
        [True, 1],
        [1, True],
        [0.5, False],
        ["a", True],
        [b"a"],
        [object()],
        [[1]],
    ],
)
@pytest.mark.parametrize("at_once", [True, False])
def test_what_does_not_fit_is_refused(values: list[Any], at_once: bool) -> None:
    builder = ColumnBuilder("odd")
    with pytest.raises(FormatError, match="odd"):
        fill(builder, values, at_once)


@given(columns(), st.integers(0, 5), st.data())
def test_a_value_repeated_is_as_many_of_it(made: Column, rows: int, data: st.DataObject) -> None:
    again = data.draw(st.sampled_from([None, *made]))
    one, other = (ColumnBuilder("x", made.spec) for _ in range(2))
    one.extend(list(made))
    other.extend(list(made))
    one.repeat(again, rows)
    other.extend([again] * rows)
    assert one.build(len(made) + rows).same(other.build(len(made) + rows))


@pytest.mark.parametrize(
    ("dtype", "value"), [("i64", 2**63), ("i64", 1.0), ("u64", -1), ("u64", True), ("str", 1), ("bool", 1)]
)
def test_a_declared_column_does_not_change_its_dtype(dtype: DType, value: Any) -> None:
    with pytest.raises(FormatError, match="x"):
        ColumnBuilder("x", ColumnSpec("x", dtype)).extend([value])


@pytest.mark.parametrize("code", ["q", "Q", "d"])
@pytest.mark.parametrize("declared", [True, False])
def test_typed_buffers_are_taken_as_they_are(code: str, declared: bool) -> None:
    dtypes: dict[str, DType] = {"q": "i64", "Q": "u64", "d": "f64"}
    data = array(code, range(5))
    builder = ColumnBuilder("x", ColumnSpec("x", dtypes[code]) if declared else None)
    builder.skip(1)
    for part in (data, np.asarray(data), memoryview(data), np.asarray(data)[::-1]):
        builder.extend(part)  # type: ignore[arg-type]
    built = builder.build(22)
    assert built.dtype == dtypes[code]
    assert list(built) == [None, *range(5), *range(5), *range(5), *reversed(range(5)), None]


def test_scalars_of_numpy_are_values() -> None:
    built = table(
        "t",
        [
            column("i", [np.int32(-3), np.int64(2)]),  # type: ignore[list-item]
            column("u", [np.uint64(2**64 - 1), 0]),  # type: ignore[list-item]
            column("f", [np.float32(0.5), np.float64(0.1)]),  # type: ignore[list-item]
            column("b", [np.bool_(True), np.False_]),  # type: ignore[list-item]
            column("s", [np.str_("a"), "a"]),
        ],
    )
    assert [c.dtype for c in built.columns] == ["i64", "u64", "f64", "bool", "str"]
    assert next(built.iter_rows()) == {"i": -3, "u": 2**64 - 1, "f": 0.5, "b": True, "s": "a"}
    assert built["s"].dictionary == ("a",)


def test_numpy_and_polars_see_the_same_values() -> None:
    made = table(
        "t",
        [
            column("i", [1, None, -(2**63)]),
            column("s", ["a", None, "b"]),
            column("n", [None, "", None]),
            column("f", [math.nan, None, -0.0]),
            column("b", [True, False, None]),
            column("u", [2**64 - 1, 0, 1]),
            column("e", [None, None, None], dtype="str"),
        ],
    )
    frame = made.to_polars()
    assert frame.columns == list(made.names)
    for name in made.names:
        assert same(frame[name].to_list(), list(made[name])), name
    assert np.asarray(made["u"].data).tolist() == [2**64 - 1, 0, 1]
    assert np.shares_memory(np.asarray(made["u"].data), np.asarray(made["u"].data))


@given(tables(), st.data())
def test_taking_rows_is_taking_them_from_lists(made: Table, data: st.DataObject) -> None:
    rows = data.draw(st.lists(st.integers(-made.rows, made.rows - 1), max_size=20) if made.rows else st.just([]))
    taken = made.take(rows)
    assert taken.rows == len(rows)
    for name in made.names:
        values = list(made[name])
        assert same(list(taken[name]), [values[row] for row in rows])


@given(tables(), st.integers(0, 25), st.integers(0, 25))
def test_a_slice_is_a_slice_of_lists(made: Table, start: int, stop: int) -> None:
    cut = made.slice(start, stop)
    assert cut.rows == len(range(made.rows)[start:stop])
    for name in made.names:
        assert same(list(cut[name]), list(made[name])[start:stop])


@given(tables(), st.lists(st.integers(0, 20), max_size=4))
def test_pieces_put_together_are_the_table(made: Table, cuts: list[int]) -> None:
    bounds = [0, *sorted(min(cut, made.rows) for cut in cuts), made.rows]
    parts = [made.slice(a, b) for a, b in itertools.pairwise(bounds)]
    assert concat(parts) == made


@given(tables())
def test_equality_is_about_what_a_table_says(made: Table) -> None:
    rebuilt = made.take(range(made.rows))
    assert made == rebuilt
    assert made == concat([made.slice(0, made.rows // 2), made.slice(made.rows // 2, made.rows)])
    assert made != Table("another", made.columns, made.rows)
    assert made != object()


@given(columns(), columns())
def test_columns_are_the_same_when_spec_and_values_are(left: Column, right: Column) -> None:
    assert left.same(right) == (left.spec == right.spec and same(list(left), list(right)))


def test_texts_are_equal_whatever_their_dictionaries() -> None:
    spec = ColumnSpec("s", "str")
    plain = from_buffer(spec, array("I", [0, 1, 0]), None, ["a", "b"])
    turned = from_buffer(spec, array("I", [1, 0, 1]), bitmap.pack(b"\x01\x01\x01"), ["b", "a", "unused"])
    assert plain.same(turned)
    assert not plain.same(from_buffer(spec, array("I", [1, 1, 1]), None, ["a", "b"]))


def test_doubles_are_equal_by_their_bits() -> None:
    assert column("x", [math.nan]).same(column("x", [math.nan]))
    assert not column("x", [0.0]).same(column("x", [-0.0]))
    assert not column("x", [0.0]).same(column("x", [None], dtype="f64"))


@pytest.mark.parametrize("row", [-4, 3, 8, 100])
def test_a_row_that_is_not_there_is_an_index_error(row: int) -> None:
    for made in (column("x", [1, None, 3]), column("x", [1, 2, 3]), column("x", ["a", None, "b"])):
        with pytest.raises(IndexError):
            made[row]


def test_rows_count_from_the_end_too() -> None:
    assert [column("x", [1, None, 3])[row] for row in (-1, -2, -3)] == [3, None, 1]


def test_tables_without_columns_and_without_rows() -> None:
    empty = table("t", [])
    assert (len(empty), list(empty.iter_rows()), empty.values()) == (0, [], ())
    bare = Table("t", (), 5)
    assert len(bare) == 5
    assert concat([bare, bare]).rows == 10
    assert bare.slice(2, 4).rows == 2
    assert TableBuilder("t").build() == empty
    assert list(TableBuilder("t", [ColumnSpec("x", "i64")]).build().iter_rows()) == []


def test_a_table_refuses_columns_that_do_not_fit_it() -> None:
    with pytest.raises(FormatError, match="two columns of one name"):
        table("t", [column("x", [1]), column("x", [2])])
    with pytest.raises(FormatError, match="has 2 rows, not 1"):
        table("t", [column("x", [1]), column("y", [1, 2])])


@pytest.mark.parametrize(
    "other",
    [[column("x", ["a"])], [column("y", [1])], [], [column("x", [1]), column("y", [1])], [column("x", [1], unit="s")]],
)
def test_pieces_of_other_columns_are_refused(other: list[Column]) -> None:
    with pytest.raises(FormatError, match="between pieces"):
        concat([table("t", [column("x", [1])]), Table("t", tuple(other), 1)])
    with pytest.raises(FormatError, match="between pieces"):
        concat([Table("t", tuple(other), 1), table("t", [column("x", [1])])])


def test_columns_are_found_by_name_or_the_error_lists_them() -> None:
    made = table("t", [column("wall", [1], role="value"), column("where", ["a"])])
    assert made.get("nope") is None
    with pytest.raises(KeyError, match="wall, where"):
        made["nope"]
    assert [c.name for c in made.values()] == ["wall"]
    assert list(made.with_columns(column("wall", [2]), column("new", [3])).iter_rows()) == [
        {"wall": 2, "where": "a", "new": 3}
    ]


def test_rows_of_a_builder_may_name_any_columns() -> None:
    builder = TableBuilder("t", [ColumnSpec("run", "i64", role="order")])
    builder.add(run=0, wall=5)
    builder.add(run=1, name="f")
    builder.add()
    builder.extend({"wall": [7, 8], "late": [True, None]})
    assert len(builder) == 5
    assert list(builder.build().iter_rows()) == [
        {"run": 0, "wall": 5, "name": None, "late": None},
        {"run": 1, "wall": None, "name": "f", "late": None},
        {"run": None, "wall": None, "name": None, "late": None},
        {"run": None, "wall": 7, "name": None, "late": True},
        {"run": None, "wall": 8, "name": None, "late": None},
    ]


@given(
    st.lists(st.fixed_dictionaries({}, optional={name: st.none() | I64 | F64 for name in "ab"}), max_size=9),
    st.integers(0, 9),
)
def test_rows_of_a_builder_are_those_of_one_without_a_memory(rows: list[dict[str, Any]], at: int) -> None:
    """Rows like the one before are added in a quicker way, columns in between or not."""
    builder, columns = TableBuilder("t"), {name: ColumnBuilder(name) for name in "ab"}
    for index, row in enumerate([*rows[:at], {"a": 1}, *rows[at:]]):
        try:
            for name, column in columns.items():
                column.append(row.get(name))
        except FormatError:
            with pytest.raises(FormatError):  # noqa: PT012  (now, or when the row reaches the columns)
                builder.add(**row)
                builder.build()
            return
        if index == at:
            builder.extend({"a": [1]})
        else:
            builder.add(**row)
    table = builder.build()
    assert {name: repr(list(table[name])) for name in table.names} == {  # as texts, since NaN is not itself
        name: repr(list(column.build(table.rows))) for name, column in columns.items() if name in table.names
    }


def test_a_row_like_the_one_before_may_need_a_wider_column() -> None:
    builder = TableBuilder("t", [ColumnSpec("run", "i64")])
    for number, size in enumerate((1, 2**64 - 1, 3)):
        builder.add(run=number, size=size, more=number)
    assert list(builder.build().iter_rows()) == [
        {"run": 0, "size": 1, "more": 0},
        {"run": 1, "size": 2**64 - 1, "more": 1},
        {"run": 2, "size": 3, "more": 2},
    ]


def test_thousands_of_rows_that_are_alike_are_all_there_in_order() -> None:
    builder = TableBuilder("t", [ColumnSpec("run", "i64")])
    rows = [{"run": n, "name": f"f{n % 7}", "size": None if 1500 <= n < 2100 else n, "gap": None} for n in range(2500)]
    for number, row in enumerate(rows):
        builder.add(**row)
        if number == 1200:
            assert list(builder.snapshot().iter_rows()) == rows[: number + 1]
    assert len(builder) == len(rows)
    assert list(builder.build().iter_rows()) == rows


def test_a_number_of_more_than_64_bits_is_refused_before_the_table_is_built() -> None:
    builder = TableBuilder("t")
    builder.add(x=1)
    with pytest.raises(FormatError, match="does not fit 64 bits"):  # noqa: PT012  (one of both)
        builder.add(x=2**64)
        builder.build()


def test_a_builder_refuses_columns_of_different_lengths() -> None:
    with pytest.raises(FormatError, match="different lengths"):
        TableBuilder("t").extend({"x": [1, 2], "y": [1]})


def test_a_column_is_declared_once() -> None:
    builder = TableBuilder("t")
    builder.declare(ColumnSpec("x", "u64", "B", "value", "higher"))
    builder.add(x=2**63)
    assert builder.build()["x"].spec == ColumnSpec("x", "u64", "B", "value", "higher")
    with pytest.raises(FormatError, match="twice"):
        builder.declare(ColumnSpec("x", "i64"))


def test_metrics_nobody_foresaw_are_values() -> None:
    builder = TableBuilder("t")
    builder.add(zorkmids=12, place="vault")
    made = builder.build()
    assert [c.name for c in made.values()] == ["zorkmids"]
    assert made["place"].role == "dimension"


def test_reprs_say_what_a_thing_is() -> None:
    made = table("t", [column("x", [1], unit="ns")])
    assert repr(made) == "<Table t 1 rows: x>"
    assert repr(made["x"]) == "<Column x i64 ns 1 rows>"


@pytest.mark.parametrize("dtype", ["i64", "u64", "f64", "bool", "str"])
def test_what_stands_where_a_value_is_missing_says_nothing(dtype: DType) -> None:
    spec = ColumnSpec("x", dtype)
    width = {"bool": 1, "str": 4}.get(dtype, 8)
    nothing, something = (from_buffer(spec, bytes(width) + bytes([odd]) * width, b"\1", ["a", "b"]) for odd in (0, 1))
    if dtype == "str":
        something = from_buffer(spec, struct.pack("=II", 0, 1), b"\1", ["a", "b"])
    assert nothing.same(something)
    assert something.same(nothing)
    assert not nothing.same(from_buffer(spec, bytes(2 * width), None, ["a", "b"]))
