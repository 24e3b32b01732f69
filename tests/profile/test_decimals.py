"""Numbers with few decimals are kept as integers and come back bit by bit."""

from __future__ import annotations

import json
import math
import random
import struct
import zlib
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfcore.errors import FormatError
from perfcore.profile import pieces
from perfcore.profile.table import Table, column, table

numbers = st.one_of(
    st.floats(),
    st.integers(-(10**17), 10**17).map(lambda number: number / 1_000),
    st.decimals(-(10**6), 10**6, places=4).map(float),
    st.integers(-1000, 1000).map(float),
)


def bits(values: Iterable[Any]) -> list[bytes | None]:
    return [None if value is None else struct.pack("<d", value) for value in values]


def head_of(piece: bytes) -> Any:
    return json.loads(piece[4 : 4 + struct.unpack_from("<I", piece)[0]])


def made(values: list[float | None]) -> Table:
    return table("t", [column("v", values, dtype="f64", role="value")])


def stored(values: list[float | None]) -> tuple[int | None, int]:
    """(decimals, format), after the values were found to come back."""
    data = pieces.encode(made(values))
    read, _ = pieces.decode(data, "piece")
    assert bits(list(read.columns[0])) == bits(values)
    return head_of(data)["columns"][0].get("decimals"), head_of(data)["format"]


@given(st.lists(st.one_of(st.none(), numbers), max_size=40))
def test_every_number_comes_back(values: list[float | None]) -> None:
    stored(values)


@given(st.lists(st.decimals(-(10**6), 10**6, places=4).map(float), min_size=1, max_size=200))
def test_decimals_come_back(values: list[float]) -> None:
    stored(list(values))


@pytest.mark.parametrize(
    ("values", "places"),
    [
        ([(number * 7919 % 100_003 - 50_000) / 10_000 for number in range(-200, 200)], 4),
        ([1.0, 2.0, 3000.0], 0),
        ([0.1234, None, 99.0001], 4),
        ([0.1] * 100 + [0.123], 3),
    ],
)
def test_few_decimals_are_found(values: list[float | None], places: int) -> None:
    assert stored(values) == (places, 2)


@pytest.mark.parametrize(
    "values",
    [
        [],
        [1.5, 1.5, 1.5],
        [0.25, -0.0],
        [0.25, math.inf],
        [0.25, math.nan],
        [0.25, 1e300],
        [0.25, 5e-324],
        [0.25, 2.0**53 + 2],
        [0.1 + 0.2, 1 / 3],
        [0.5] * 100 + [1 / 3],
        [0.25, None, -0.0],
    ],
)
def test_other_numbers_are_kept_as_before(values: list[float | None]) -> None:
    assert stored(values) == (None, 1)


def test_four_digits_take_two_bytes() -> None:
    chance = random.Random(1)
    values: list[float | None] = [round(chance.random(), 4) for _ in range(20_000)]
    stored(values)
    assert len(zlib.compress(pieces.encode(made(values)), 1)) < 2 * len(values)


@pytest.mark.parametrize(("dtype", "decimals"), [("f64", -1), ("f64", 16), ("i64", 2), ("f64", 10**9)])
def test_decimals_that_cannot_be_are_refused(dtype: str, decimals: int) -> None:
    head = {"name": "v", "dtype": dtype, "planes": [1, *[0] * 7], "decimals": decimals}
    data = json.dumps({"format": 2, "name": "t", "rows": 3, "columns": [head]}).encode()
    with pytest.raises(FormatError, match="decimals, which cannot be"):
        pieces.decode(struct.pack("<I", len(data)) + data, "piece")
