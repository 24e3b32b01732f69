"""Pieces of tables as bytes: round trip, canonical bytes, and bytes that are wrong."""

from __future__ import annotations

import json
import re
import struct
import tracemalloc
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from perfcore_testing.strategies import tables

from perfcore.errors import FormatError
from perfcore.model.record import replace
from perfcore.profile import pieces, wire
from perfcore.profile.pieces import Base, Outline
from perfcore.profile.table import Table, TableBuilder, column, concat, table
from perfcore.store import objects

if TYPE_CHECKING:
    from collections.abc import Iterator

SMALL = table(
    "resources",
    [
        column("wall", [1, None, -(2**63)], unit="ns", role="value"),
        column("big", [2**64 - 1, 2**53 + 1, 0]),
        column("ratio", [0.5, None, float("nan")]),
        column("ok", [True, False, None]),
        column("name", ["a", None, "naïve\n"]),
    ],
)


def made(head: Any, data: bytes = b"") -> bytes:
    text = head if isinstance(head, bytes) else json.dumps(head).encode()
    return struct.pack("<I", len(text)) + text + data


def head(**changes: Any) -> dict[str, Any]:
    wall = {"name": "wall", "dtype": "i64", "planes": [0] * 8}
    return {"format": 1, "name": "t", "rows": 3, "columns": [wall]} | changes


def with_column(**changes: Any) -> dict[str, Any]:
    return head(columns=[{"name": "x", "dtype": "str", "planes": [0] * 4, "dictionary": ["a"]} | changes])


@given(tables())
def test_a_piece_reads_back(made: Table) -> None:
    assert pieces.decode(pieces.encode(made), "x") == (made, None)


@given(tables(), st.integers(0, 2**40))
def test_a_piece_knows_what_it_continues(made: Table, rows: int) -> None:
    read, base = pieces.decode(pieces.encode(made, Base("ab" * 20, rows)), "x")
    assert (read, base) == (made, Base("ab" * 20, rows))


@given(tables(), st.integers(0, 20), st.integers(0, 20))
def test_equal_pieces_give_equal_bytes_however_they_were_made(made: Table, start: int, stop: int) -> None:
    by_slice = made.slice(start, stop)
    by_rows = made.take(range(start, start + by_slice.rows))
    by_joining = concat([by_rows.slice(0, 1), by_rows.slice(1, by_rows.rows)])
    built = TableBuilder(made.name, [c.spec for c in made.columns])
    built.extend({c.name: list(c) for c in by_slice.columns})
    ways = [by_slice, by_rows, by_joining]
    if all((None in c) == (c.valid is not None) for c in by_slice.columns) and made.columns:
        ways.append(built.build())
    assert len({pieces.encode(way) for way in ways}) == 1


@given(tables())
def test_only_texts_that_occur_are_written(made: Table) -> None:
    read, _ = pieces.decode(pieces.encode(made), "x")
    for each in read.columns:
        if each.dtype == "str":
            assert list(each.dictionary) == list(dict.fromkeys(v for v in each if v is not None))


def test_planes_that_are_constant_take_no_room() -> None:
    rows = 1000
    assert len(pieces.encode(table("t", [column("x", [7] * rows)]))) < 200
    assert rows < len(pieces.encode(table("t", [column("x", list(range(200)) * 5)]))) < rows + 200


def test_names_that_are_no_unicode_are_stored_with_escapes() -> None:
    bad = "caf\udce9"
    read, _ = pieces.decode(pieces.encode(table(bad, [column(bad, [bad, "b"], unit=bad)])), "x")
    assert (read.name, read.names, read.columns[0].unit) == ("caf\\udce9", ("caf\\udce9",), "caf\\udce9")
    assert list(read.columns[0]) == ["caf\\udce9", "b"]


def test_a_table_is_split_within_the_bounds() -> None:
    rows = pieces.PIECE_ROWS * 2 + 5
    long = table("t", [column("x", range(rows))])
    parts = list(pieces.split(long))
    assert [p.rows for p in parts] == [pieces.PIECE_ROWS, pieces.PIECE_ROWS, 5]
    assert concat(parts) == long
    assert list(pieces.split(table("t", []))) == []
    one = long.slice(0, pieces.PIECE_ROWS)["x"]
    wide = table("t", [replace(one, spec=replace(one.spec, name=str(i))) for i in range(200)])
    assert [p.rows for p in pieces.split(wide)] == [wire.MAX_CELLS // 200, len(one) - wire.MAX_CELLS // 200]


def test_every_truncation_of_a_piece_is_detected() -> None:
    data = pieces.encode(SMALL)
    for end in range(len(data)):
        with pytest.raises(FormatError, match=r"^object 1"):
            pieces.decode(data[:end], "object 1")
    with pytest.raises(FormatError, match="too many"):
        pieces.decode(data + b"\0", "object 1")


def test_a_flipped_bit_of_a_piece_is_a_table_or_a_format_error() -> None:
    """Whether it is noticed is the business of the object around it; that nothing else happens is ours."""
    data = pieces.encode(SMALL)
    for wrong in flips(data):
        try:
            read, base = pieces.decode(wrong, "x")
        except FormatError as error:
            with pytest.raises(FormatError, match=f"^{re.escape(str(error))}$"):
                pieces.outline(wrong, "x")
            continue
        [list(each) for each in read.columns]
        assert pieces.outline(wrong, "x") == Outline(read.rows, tuple(each.spec for each in read.columns), base)


def test_every_flipped_bit_and_truncation_of_the_object_around_a_piece_is_detected() -> None:
    """Bits of the compressed stream that carry nothing are the only ones that may pass, and then the content is
    what it was."""
    content = pieces.encode(SMALL)
    id, data = objects.encode(objects.Object("table", "resources", content))
    harmless = 0
    for wrong in flips(data):
        try:
            read = objects.decode(wrong, id)
        except FormatError:
            continue
        assert read.content == content
        harmless += 1
    assert harmless <= 8
    for end in range(len(data)):
        with pytest.raises(FormatError, match=id):
            objects.decode(data[:end], id)


def flips(data: bytes) -> Iterator[bytes]:
    for bit in range(len(data) * 8):
        wrong = bytearray(data)
        wrong[bit // 8] ^= 1 << bit % 8
        yield bytes(wrong)


@pytest.mark.parametrize(
    "wrong",
    [
        b"",
        b"\1\0\0",
        b"\xff\xff\xff\xff{}",
        made(b"{}"),
        made(b"[]"),
        made(b"null"),
        made(b'{"format": 1'),
        made(b'\xff{"format": 1}'),
        made(b"[" * 100_000),
        made(b'{"x":' * 100_000 + b"1" + b"}" * 100_000),
        made(head(format="1")),
        made(head(rows=-1)),
        made(head(rows=2**40)),
        made(head(rows=10**30)),
        made(head(rows=2**24, columns=[])),
        made(head(base={"id": "x"})),
        made(head(base={"id": "x", "rows": 1, "more": 1})),
        made(head(columns=head()["columns"] * 2)),
        made(with_column(dtype="i32")),
        made(with_column(role="ruler")),
        made(with_column(name=None)),
        made(with_column(planes=[0] * 3)),
        made(with_column(planes=[])),
        made(with_column(planes=[0, 0, 0, 256])),
        made(with_column(planes=[-1, 0, 0, 0])),
        made(with_column(planes=[None, 0, 0, 0]), b"\0\0"),
        made(with_column(planes=[None, 0, 0, 0]), b"\0\0\1"),
        made(with_column(planes=[1, 0, 0, 0])),
        made(with_column(planes=[0, 0, 0, 255])),
        made(with_column(dictionary=[], planes=[1, 0, 0, 0])),
        made(with_column(dictionary=["a", 5])),
        made(with_column(dictionary=[], planes=[0, 0, 0, 0])),
        made(with_column(dictionary=[], planes=[0, 0, 0, 0], valid=True), b"\2"),
        made(with_column(valid=True)),
        made(with_column(valid=True), b"\7\7"),
        made(with_column(dtype="bool", planes=[2])),
        made(with_column(dtype="bool", planes=[None]), b"\0\1\2"),
        made(head(), b"x"),
    ],
)
def test_bytes_that_do_not_add_up_are_a_format_error(wrong: bytes) -> None:
    with pytest.raises(FormatError, match=r"^object 1"):
        pieces.decode(wrong, "object 1")


@settings(max_examples=300)
@given(st.binary(max_size=60) | st.text(max_size=60).map(str.encode).map(made))
def test_any_bytes_are_a_piece_or_a_format_error(data: bytes) -> None:
    with pytest.raises(FormatError):
        pieces.decode(data, "x")


def test_text_that_is_missing_everywhere_needs_no_dictionary() -> None:
    read, _ = pieces.decode(made(with_column(dictionary=[], valid=True), b"\0"), "x")
    assert list(read["x"]) == [None, None, None]


@settings(max_examples=200)
@given(st.data(), st.sampled_from((1, 2, 255, 256, 257, 300, 511, 512, 700)))
def test_a_code_beyond_the_texts_is_refused_whatever_its_bytes_are(data: st.DataObject, texts: int) -> None:
    edges = {0, 1, texts - 1, texts, texts + 1, texts & 0xFF, texts | 0xFF, texts << 8, texts << 16, texts << 24}
    edges = {edge & 2**32 - 1 for edge in edges}
    codes = data.draw(st.lists(st.sampled_from(sorted(edges)) | st.integers(0, 2**32 - 1), min_size=1, max_size=5))
    lanes = [bytes(code >> 8 * place & 255 for code in codes) for place in range(4)]
    planes = [lane[0] if len(set(lane)) == 1 else None for lane in lanes]
    stored = b"".join(lane for lane, plane in zip(lanes, planes, strict=True) if plane is None)
    named = with_column(planes=planes, dictionary=list(map(str, range(texts)))) | {"rows": len(codes)}
    if max(codes) < texts:
        read, _ = pieces.decode(made(named, stored), "x")
        assert list(read["x"]) == list(map(str, codes))
        return
    for check in (pieces.decode, pieces.outline):
        with pytest.raises(FormatError, match="names a text it does not hold"):
            check(made(named, stored), "x")


@pytest.mark.parametrize(
    "newer",
    [
        head(format=4),
        {"format": 4},
        {"format": 99, "columns": "elsewhere"},
        with_column(dtype="decimal") | {"format": 4},
    ],
)
def test_a_newer_format_is_refused_politely_whatever_it_holds(newer: dict[str, Any]) -> None:
    with pytest.raises(FormatError, match="made by a newer perfcore") as caught:
        pieces.decode(made(newer), "object 1")
    assert caught.value.hint == "upgrade perfcore"


def test_fields_that_came_later_are_ignored() -> None:
    read, _ = pieces.decode(made(head(colour="red")), "x")
    assert list(read["wall"]) == [0, 0, 0]


def test_a_piece_cannot_make_much_of_a_little() -> None:
    columns = [{"name": str(i), "dtype": "i64", "planes": [1] * 8} for i in range(100)]
    bomb = made(head(rows=10**9, columns=columns))
    tracemalloc.start()
    try:
        with pytest.raises(FormatError, match="claims 1,000,000,000 rows"):
            pieces.decode(bomb, "x")
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


def test_pieces_are_joined_only_when_they_follow_one_another() -> None:
    first, second = SMALL.slice(0, 2), SMALL.slice(2, 3)
    assert pieces.join([("a", first, None), ("b", second, Base("a", 2))], "x") == SMALL
    assert pieces.join([("a", first, None), ("b", second, None)], "x") == SMALL
    for base in (Base("a", 1), Base("b", 2), Base("", 0)):
        with pytest.raises(FormatError, match="continues another table"):
            pieces.join([("a", first, None), ("b", second, base)], "x")
        with pytest.raises(FormatError, match="continues another table"):
            pieces.join_outlines([("a", outlined(first)), ("b", outlined(second, base))], "x")
    with pytest.raises(FormatError, match="continues another table"):
        pieces.join([("b", second, Base("a", 2))], "x")


def test_outlines_are_joined_as_pieces_are() -> None:
    first, second = SMALL.slice(0, 2), SMALL.slice(2, 3)
    other = second.with_columns(column("big", [1.5]))
    apart = pieces.join_outlines([("a", outlined(first)), ("b", outlined(second, Base("a", 2)))], "x")
    assert apart == outlined(SMALL)
    for strange, wrong in ((other, "'big' changes its type"), (second.with_columns(column("new", [1])), "its columns")):
        with pytest.raises(FormatError, match=wrong):
            pieces.join([("a", first, None), ("b", strange, None)], "x")
        with pytest.raises(FormatError, match=wrong):
            pieces.join_outlines([("a", outlined(first)), ("b", outlined(strange))], "x")


def outlined(piece: Table, base: Base | None = None) -> Outline:
    return pieces.outline(pieces.encode(piece, base), "x")
