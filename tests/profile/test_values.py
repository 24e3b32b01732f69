"""Values of columns as JSON lists, in parts that nobody sees from outside."""

from __future__ import annotations

import json
import random
import tracemalloc
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from perfcore_testing.hostile import NAMES
from perfcore_testing.strategies import columns

from perfcore.errors import FormatError
from perfcore.profile import wire
from perfcore.profile.columns import Value
from perfcore.profile.table import ColumnSpec, column

if TYPE_CHECKING:
    from perfcore.profile.table import Column, DType

ROWS = 40_000
SHORT = tuple(name for name in NAMES if len(name) < 100)
ODD = (*SHORT, '","', '\\","', "\\", '"', ",", "[1,2]", "null", "a,b", '\\\\"')
ITEMS: dict[DType, tuple[Any, ...]] = {
    "str": (*ODD, None),
    "i64": (0, -1, 2**53 + 1, -(2**63), None),
    "u64": (0, 2**64 - 1, None),
    "f64": (0.1, 5e-324, -0.0, float("inf"), -float("inf"), float("nan"), None),
    "bool": (True, False, None),
}


def read(text: str | bytes, dtype: DType) -> Column:
    data = text.encode() if isinstance(text, str) else text
    return wire.column_of_json(msgspec.Raw(data), ColumnSpec("x", dtype), "file 7")


@given(columns())
def test_a_column_reads_back(made: Column) -> None:
    read = wire.column_of_json(msgspec.Raw(wire.column_to_json(made)), made.spec, "x")
    assert read.same(made)
    assert list(map(repr, read)) == list(map(repr, made))


@pytest.mark.parametrize("dtype", ITEMS)
def test_a_column_of_many_parts_reads_back(dtype: DType) -> None:
    chance = random.Random(dtype)
    made = column("x", [chance.choice(ITEMS[dtype]) for _ in range(ROWS)], dtype=dtype)
    text = wire.column_to_json(made)
    assert len(json.loads(text)) == ROWS
    assert list(map(repr, read(text, dtype))) == list(map(repr, made))


@pytest.mark.parametrize("dtype", ITEMS)
@pytest.mark.parametrize("space", ["", " ", "\n\t ", " " * 200_000])
def test_space_between_values_says_nothing(dtype: DType, space: str) -> None:
    finite = [item for item in ITEMS[dtype] if not isinstance(item, float) or abs(item) < 1]
    for items in ([], finite[:1], finite):
        text = f",{space}".join(f"{space}{json.dumps(item)}{space}" for item in items)
        assert list(read(f"[{text or space}]", dtype)) == items


@pytest.mark.parametrize("dtype", ITEMS)
@pytest.mark.parametrize(
    "wrong",
    ["", "{}", "5", '"a"', "null", "[", "]", "[[]]", "[{}]", '[{"a": 1}]', '["a" "b"]', "[1 2]", "[,]", '["a]', "[x]"],
)
@pytest.mark.parametrize("many", [False, True])
def test_what_is_no_list_of_values_is_a_format_error(dtype: DType, wrong: str, many: bool) -> None:
    if many and wrong[:1] == "[":
        good = json.dumps(next(item for item in ITEMS[dtype] if item is not None))
        wrong = "[" + f"{good}," * ROWS + wrong[1:]
    with pytest.raises(FormatError, match=r"^file 7: column 'x': "):
        read(wrong, dtype)


@given(st.sampled_from(sorted(ITEMS)), st.text('[]{}", \\:0a\n', max_size=12))
def test_the_parts_are_accepted_as_the_whole_is(dtype: DType, text: str) -> None:
    """Nothing is read that is no JSON, and no list is read differently."""
    try:
        found = list(read(f"[{text}]", dtype))
    except FormatError:
        return
    assert json.loads(f"[{text}]") == found


@pytest.mark.parametrize("dtype", ITEMS)
def test_a_long_column_is_never_as_many_objects(dtype: DType) -> None:
    """A list of a million numbers takes 40 bytes for each. Here each row has what the column has, twice while it
    grows, and its text."""
    rows = 400_000
    words: dict[str, Value] = {"str": "naïve function", "bool": True, "f64": 0.123456789}
    word = words.get(dtype, 2**40)
    made = column("x", [word, None] * (rows // 2), dtype=dtype)
    tracemalloc.start()
    try:
        text = wire.column_to_json(made)
        written = tracemalloc.get_traced_memory()[1]
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        assert read(text, dtype).same(made)
        taken = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    assert written < 2 * len(text) + 4_000_000
    assert taken < 2 * (8 + 1 + 1) * rows + 4_000_000 < 40 * rows
