"""Integers relative to their row or to the value before."""

from __future__ import annotations

import contextlib
import random
import sys
from array import array
from collections.abc import Iterator
from typing import Any
from unittest import mock

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfcore.errors import FormatError
from perfcore.profile import pieces
from perfcore.profile.relative import Relative, leaps, ramp, reduced, restored
from perfcore.profile.table import column, table

WAYS = pytest.mark.parametrize("with_numpy", [False, True])
FIXED = st.integers(-(2**63), 2**63 - 1)


@contextlib.contextmanager
def numbers_restored(with_numpy: bool) -> Iterator[None]:
    """NumPy, which this process has, is as if it were not loaded, or is."""
    assert sys.modules["numpy"] is numpy
    with mock.patch.dict(sys.modules):
        if not with_numpy:
            del sys.modules["numpy"]
        yield


def regular(seed: int, rows: int, strays: float, step: int, start: int) -> list[int]:
    """Values that follow their row, or climb by up to `step`, but for some strays."""
    chance = random.Random(seed)
    values, value = [], start
    for row in range(rows):
        value = value + (1 if step == 1 else chance.randrange(step))
        values.append(chance.randrange(row + 1) if chance.random() < strays else value)
    return values


@given(
    st.integers(0, 99),
    st.integers(1_024, 3_000),
    st.sampled_from([0.0, 0.02, 0.1, 0.4, 0.9]),
    st.sampled_from([1, 2, 100, 10**6]),
    st.sampled_from([0, -5, 2**39, 2**41, 2**61, -(2**62)]),
    st.lists(st.tuples(st.integers(0, 1_000), FIXED), max_size=3),
    st.booleans(),
)
def test_every_value_comes_back(
    seed: int, rows: int, strays: float, step: int, start: int, extremes: list[tuple[int, int]], gaps: bool
) -> None:
    values: list[int | None] = [*regular(seed, rows, strays, step, start)]
    for row, value in extremes:
        values[row] = value
    if gaps:
        values[::7] = [None] * len(values[::7])
    made = table("t", [column("x", values, dtype="i64")])
    for with_numpy in (False, True):
        with numbers_restored(with_numpy):
            read, _ = pieces.decode(pieces.encode(made), "x")
        assert list(read["x"]) == values
    assert pieces.outline(pieces.encode(made), "x").rows == rows


@pytest.mark.parametrize(("step", "to"), [(1, b'"to":"row"'), (100, b'"to":"previous"')])
def test_what_is_regular_is_short_and_of_format_3(step: int, to: bytes) -> None:
    piece = pieces.encode(table("t", [column("x", regular(1, 65_536, 0.02, step, 10**6), dtype="i64")]))
    assert b'"format":3' in piece[:30]
    assert to in piece[:300]
    assert len(piece) < 65_536 * (0.5 if step == 1 else 4)


@pytest.mark.parametrize("values", [range(255), [5] * 5_000, [row % 10 for row in range(5_000)]])
def test_what_is_short_as_it_is_stays_so(values: Any) -> None:
    assert reduced(memoryview(array("q", values))) is None


def made(relative: dict[str, Any], planes: list[int | None], data: bytes, dtype: str = "i64", rows: int = 3) -> bytes:
    import json

    fields = {"name": "x", "dtype": dtype, "planes": planes, "relative": relative}
    head = json.dumps({"format": 3, "name": "t", "rows": rows, "columns": [fields]}).encode()
    return len(head).to_bytes(4, "little") + head + data


@WAYS
def test_the_bytes_are_as_the_format_says(with_numpy: bool) -> None:
    row = {"to": "row", "least": 100, "usual": 7}
    previous = {"to": "previous", "start": 50, "least": -3}
    with numbers_restored(with_numpy):
        read, _ = pieces.decode(made(row, [None, *[0] * 7], b"\x02\x01"), "x")
        assert list(read["x"]) == [100 + 7, 100 + 1 + 1, 100 + 7 + 2]
        read, _ = pieces.decode(made(previous, [None, *[0] * 7], b"\x03\x00\x05"), "x")
    assert list(read["x"]) == [50, 47, 49]


@pytest.mark.parametrize(
    ("relative", "planes", "dtype"),
    [
        ({"to": "row"}, [0, 0, 0, 0, 0, 1, 0, 0], "i64"),
        ({"to": "row"}, [0, 0, 0, 0, 0, 0, 0, None], "i64"),
        ({"to": "row", "least": 2**41}, [0] * 8, "i64"),
        ({"to": "row", "usual": -(2**41)}, [0] * 8, "i64"),
        ({"to": "previous", "start": 2**63 - 1}, [0] * 8, "i64"),
        ({"to": "row"}, [0] * 8, "u64"),
        ({"to": "row"}, [0] * 8, "f64"),
        ({"to": "row"}, [0], "bool"),
        ({"to": "column"}, [0] * 8, "i64"),
        ({"to": "row", "usual": 2**80}, [0] * 8, "i64"),
    ],
)
def test_what_could_overflow_is_refused(relative: dict[str, Any], planes: list[int | None], dtype: str) -> None:
    data = b"\0\0\0" if None in planes else b"\0" if "usual" in relative else b""
    for check in (pieces.decode, pieces.outline):
        with pytest.raises(FormatError):
            check(made(relative, planes, data, dtype), "x")


@WAYS
@pytest.mark.parametrize("relative", [{"to": "row", "usual": 1}, {"to": "row"}, {"to": "previous", "start": 3}])
def test_a_piece_may_have_no_rows(relative: dict[str, Any], with_numpy: bool) -> None:
    with numbers_restored(with_numpy):
        read, _ = pieces.decode(made(relative, [0] * 8, b"", rows=0), "x")
    assert list(read["x"]) == []


def test_a_bitmap_that_is_cut_short_is_refused() -> None:
    whole = made({"to": "row", "usual": 0}, [None, *[0] * 7], b"\x07\x01\x01\x01")
    for end in range(1, 5):
        with pytest.raises(FormatError):
            pieces.decode(whole[:-end], "x")


@WAYS
def test_the_bounds_hold_for_the_longest_piece(with_numpy: bool) -> None:
    """The greatest numbers that the bounds allow are no overflow."""
    most = (1 << 40) - 1
    relative = Relative("previous", start=1 << 62, least=1 << 40)
    with numbers_restored(with_numpy):
        numbers = array("q", restored(bytearray(array("q", [most]).tobytes() * 65_536), None, relative, 65_536))
    assert numbers[-1] == (1 << 62) + 65_536 * (most + (1 << 40))


@given(start=st.integers(-(2**62), 2**62), rows=st.integers(0, 700))
def test_a_ramp_is_the_numbers_from_its_start_up(start: int, rows: int) -> None:
    assert list(ramp(start, rows)) == list(range(start, start + rows))


@pytest.mark.parametrize("start", [-1, 0, 65_535, 2**24 - 9])
def test_a_long_ramp_is_the_numbers_from_its_start_up(start: int) -> None:
    assert list(ramp(start, 140_000)) == list(range(start, start + 140_000))


@given(strays=st.dictionaries(st.integers(0, 999), st.integers(-300, 70_000) | FIXED), rows=st.integers(0, 1000))
def test_leaps_are_the_rows_that_do_not_name_the_row_before(strays: dict[int, int], rows: int) -> None:
    numbers = [strays.get(row, row - 1) for row in range(rows)]
    assert leaps(numbers) == [row for row, number in enumerate(numbers) if number != row - 1]
