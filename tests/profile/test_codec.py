"""Profiles as JSON: round trip, names and types nobody has heard of, and JSON that is wrong."""

from __future__ import annotations

import json
import math
import re
import struct
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from perfcore_testing.hostile import NAMES
from perfcore_testing.strategies import profiles, tables

from perfcore.errors import FormatError, NotFoundError
from perfcore.model import Header, Profile, Tool
from perfcore.model.record import replace
from perfcore.profile import codec, pieces
from perfcore.profile.pieces import PIECE_ROWS
from perfcore.profile.stacks import Frame, StackBuilder
from perfcore.profile.table import Table, column, table
from perfcore.profile.wire import MAX_CELLS

ID = "ab" * 20


class Pieces(dict[str, bytes]):
    """Where pieces are put: ids are numbers in forty digits."""

    def put(self, table: str, piece: bytes) -> str:
        id = f"{len(self):040x}"
        self[id] = piece
        return id

    def get_piece(self, id: str) -> bytes:
        try:
            return self[id]
        except KeyError:
            raise NotFoundError(f"{id} is not there") from None


def encode(profile: Profile, inline: int = codec.INLINE_CELLS) -> tuple[bytes, tuple[str, ...], Pieces]:
    kept = Pieces()
    data, ids = codec.encode(profile, kept.put, inline=inline)
    return data, ids, kept


def reread(profile: Profile, inline: int = codec.INLINE_CELLS) -> Profile:
    data, _, kept = encode(profile, inline)
    return codec.decode(data, kept.get_piece, where="x")


def profile(**changes: Any) -> Profile:
    made = Profile(header=Header(type="time"), created=1, collector=Tool(name="time"))
    return replace(made, **changes)


def wire(**changes: Any) -> dict[str, Any]:
    return {"format": 1, "header": {"type": "time"}, "created": 1, "collector_info": {"name": "time"}} | changes


def inline(dtype: str, values: list[Any], rows: int | None = None) -> dict[str, Any]:
    columns = [{"name": "x", "dtype": dtype, "values": values}]
    return wire(tables={"t": {"rows": len(values) if rows is None else rows, "columns": columns}})


def decode(value: Any) -> Profile:
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    made = codec.decode(data, Pieces().get_piece, where="file 7")
    codec.verify(made)
    return made


@given(profiles(), st.sampled_from([0, 8, codec.INLINE_CELLS]))
def test_a_profile_reads_back(made: Profile, inline: int) -> None:
    assert reread(made, inline) == made


@given(profiles())
def test_equal_profiles_give_equal_bytes(made: Profile) -> None:
    turned = replace(made, tables=dict(reversed(list(made.tables.items()))))
    assert encode(made)[0] == encode(turned)[0] == encode(reread(made))[0]


@given(profiles())
def test_the_registered_form_says_the_same_without_the_origin(made: Profile) -> None:
    data, ids, kept = encode(replace(made, origin="c0ffee"), inline=8)
    registered, registered_ids = codec.for_object(data, kept.put, where="x")
    assert registered_ids == ids == codec.piece_ids(registered, "x")
    assert codec.decode(registered, kept.get_piece, where="x") == replace(made, origin=None)


def test_large_tables_that_stand_inline_are_registered_in_pieces() -> None:
    made = profile(
        tables={"big": table("big", [column("n", range(5000))]), "small": table("small", [column("n", [1])])}
    )
    data, ids, kept = encode(made, inline=10**6)
    assert ids == ()
    registered, ids = codec.for_object(data, kept.put, where="x")
    assert ids == tuple(kept)
    assert len(kept) == 1
    assert len(registered) < 1000
    assert codec.decode(registered, kept.get_piece, where="x") == made


def test_only_large_tables_leave_the_json() -> None:
    made = profile(tables={"a": table("a", [column("n", range(64))]), "b": table("b", [column("n", range(65))])})
    data, ids, kept = encode(made, inline=64)
    tables = json.loads(data)["tables"]
    assert tables["a"]["columns"][0]["values"] == list(range(64))
    assert tables["b"] == {"rows": 65, "pieces": list(ids)}
    assert tuple(kept) == ids


def test_the_same_piece_is_named_once() -> None:
    rows = 2 * PIECE_ROWS
    made = profile(tables={"t": table("t", [column("n", [7] * rows)])})
    data, ids = codec.encode(made, lambda name, piece: ID)
    assert ids == codec.piece_ids(data, "x") == (ID,)
    assert json.loads(data)["tables"]["t"]["pieces"] == [ID, ID]


def test_a_name_is_known_without_reading_its_table() -> None:
    tables = {"resources": table("resources", (column("time", [1.0, 2.0]),))}
    data, _, _ = encode(profile(tables=tables), inline=0)
    read: list[str] = []
    found = codec.decode(data, lambda id: read.append(id) or b"", where="x").tables  # type: ignore[func-returns-value]
    assert "resources" in found
    assert "stacks" not in found
    assert not read


def test_tables_are_read_when_they_are_looked_at() -> None:
    made = profile(tables={"near": table("near", [column("n", [1])]), "far": table("far", [column("n", range(5000))])})
    data, _, kept = encode(made)
    kept.clear()
    read = codec.decode(data, kept.get_piece, where="x")
    assert read.tables["near"] == made.tables["near"]
    assert set(read.tables) == {"near", "far"}
    with pytest.raises(NotFoundError):
        read.tables["far"]
    with pytest.raises(NotFoundError):
        codec.verify(read)


@pytest.mark.parametrize(
    "bits",
    [
        0x7FF8000000000000,
        0xFFF8000000000000,
        0x7FF8000000000001,
        0xFFFFFFFFFFFFFFFF,
        0x7FF0000000000000,
        0xFFF0000000000000,
        0x8000000000000000,
        0x0000000000000001,
        0x7FEFFFFFFFFFFFFF,
    ],
)
@pytest.mark.parametrize("inline", [0, 10])
def test_doubles_keep_their_bits(bits: int, inline: int) -> None:
    (value,) = struct.unpack("<d", struct.pack("<Q", bits))
    read = reread(profile(tables={"t": table("t", [column("x", [value, None, 0.1])])}), inline)
    assert read.tables["t"]["x"].data.cast("B")[:8].tobytes() == struct.pack("<Q", bits)
    assert list(read.tables["t"]["x"])[1:] == [None, 0.1]


@pytest.mark.parametrize("number", [2**53 + 1, 2**63 - 1, -(2**63), 2**63, 2**64 - 1])
@pytest.mark.parametrize("inline", [0, 10])
def test_integers_beyond_doubles_survive(number: int, inline: int) -> None:
    read = reread(profile(tables={"t": table("t", [column("x", [number, None])])}), inline)
    assert list(read.tables["t"]["x"]) == [number, None]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("inline", [0, 100])
def test_any_name_is_a_name(name: str, inline: int) -> None:
    made = profile(
        header=Header(type="time", argv=(name,), cmd=name, workload=name, tags=(name,), units={name: name}),
        collector=Tool(name=name, params={name: name}),
        notes=(name,),
        tables={name: table(name, [column(name, [name, None], unit=name)])},
    )
    assert reread(made, inline) == made


@pytest.mark.parametrize("inline", [0, 100])
def test_text_that_is_no_unicode_is_kept_with_escapes(inline: int) -> None:
    bad, good = "caf\udce9", "caf\\udce9"
    read = reread(
        profile(
            header=Header(type="time", argv=(bad,), units={bad: bad}),
            machine={bad: [bad, {"x": bad}]},
            tables={bad: table(bad, [column(bad, [bad, None, "b"], unit=bad), column("n", [2**64 - 1, 0, None])])},
        ),
        inline,
    )
    assert read.header.argv == (good,)
    assert read.header.units == {good: good}
    assert read.machine == {good: [good, {"x": good}]}
    assert list(read.tables[good].iter_rows()) == [
        {good: good, "n": 2**64 - 1},
        {good: None, "n": 0},
        {good: "b", "n": None},
    ]


def test_types_and_metrics_nobody_has_heard_of_are_as_good_as_any() -> None:
    spoken = {
        "format": 1,
        "header": {"type": "zork.2-b", "cmd": "zork", "mood": "new in a later perfcore"},
        "created": 5,
        "collector_info": {"name": "zorkmeter"},
        "tables": {"grues": {"rows": 2, "columns": [{"name": "bites", "dtype": "u64", "values": [1, None]}]}},
        "fields": ["of later ones"],
    }
    read = decode(spoken)
    assert read.header.type == "zork.2-b"
    assert list(read.tables["grues"]["bites"]) == [1, None]


@pytest.mark.parametrize(
    "newer",
    [
        wire(format=2),
        {"format": 2},
        {"format": 3, "header": "elsewhere", "tables": 5},
        inline("decimal", ["1.5"]) | {"format": 2},
        wire(created=10**30) | {"format": 2},
    ],
)
def test_a_newer_format_is_refused_politely_whatever_it_holds(newer: dict[str, Any]) -> None:
    with pytest.raises(FormatError, match=r"file 7 has format \d, made by a newer perfcore") as caught:
        decode(newer)
    assert caught.value.hint == "upgrade perfcore"


@pytest.mark.parametrize(
    "wrong",
    [
        b"",
        b"nothing",
        b"{}",
        b"[]",
        b"null",
        b"\xff\xfe{}",
        b'{"format": 1, "header": {"type": "t\xff"}, "created": 1, "collector_info": {"name": "x"}}',
        json.dumps(wire()).encode()[:-1],
        json.dumps(wire()).encode() + b"x",
        b'{"format": 1, "header": {"type": "\\udc80"}, "created": 1, "collector_info": {"name": "x"}}',
        wire(format=None),
        wire(header={}),
        wire(header=[]),
        wire(created="yesterday"),
        wire(created=1.5),
        wire(created=2**63),
        wire(created=-(2**63) - 1),
        wire(collector_info="time"),
        wire(postprocessors={}),
        wire(sources=["not an id"]),
        wire(sources=[ID + "\n"]),
        wire(sources=["AB" * 20]),
        wire(tables={"t": {}}),
        wire(tables={"t": {"rows": 1}}),
        wire(tables={"t": {"rows": 1, "columns": [], "pieces": []}}),
        wire(tables={"t": {"rows": -1, "columns": []}}),
        wire(tables={"t": {"rows": 1, "pieces": []}}),
        wire(tables={"t": {"rows": 1, "pieces": ["../../etc/passwd"]}}),
        wire(tables={"t": {"rows": 1, "pieces": [ID[:39]]}}),
        wire(tables=[]),
        inline("i64", [1], rows=2),
        inline("i64", [1, 2], rows=1),
        inline("i64", [2**63]),
        inline("i64", [10**30]),
        inline("i64", [1.0]),
        inline("i64", [True]),
        inline("i64", ["1"]),
        inline("i64", [[1]]),
        inline("u64", [-1]),
        inline("u64", [2**64]),
        inline("f64", ["NaN"]),
        inline("f64", ["1.5"]),
        inline("f64", ["nan:7ff0000000000000"]),
        inline("f64", ["nan:zz"]),
        inline("f64", [True]),
        inline("bool", [0]),
        inline("str", [0]),
        inline("f32", [1]),
        json.dumps(inline("f64", [0])).replace("[0]", "[1e999]").encode(),
        json.dumps(inline("i64", [0])).replace("[0]", "[" + "9" * 5000 + "]").encode(),
        json.dumps(inline("str", ["x"])).encode().replace(b'["x"]', b'["\xff"]'),
        json.dumps(inline("str", ["x"])).encode().replace(b'["x"]', b'["\\udc80"]'),
        json.dumps(inline("str", ["x"])).encode().replace(b'["x"]', b"[" * 10_000 + b"]" * 10_000),
        wire(tables={"t": {"rows": 1, "columns": inline("i64", [1])["tables"]["t"]["columns"] * 2}}),
    ],
)
def test_json_that_is_no_profile_is_a_format_error(wrong: Any) -> None:
    with pytest.raises(FormatError):
        decode(wrong)


@given(st.binary(max_size=200))
def test_any_bytes_are_no_profile(data: bytes) -> None:
    with pytest.raises(FormatError, match="file 7"):
        decode(data)


def test_every_truncation_is_a_format_error() -> None:
    data, _, _ = encode(profile(tables={"t": table("t", [column("x", [1, None]), column("s", ["a", "b"])])}))
    for end in range(len(data)):
        with pytest.raises(FormatError):
            decode(data[:end])


def test_a_flipped_bit_is_a_profile_or_a_format_error() -> None:
    data, _, _ = encode(profile(tables={"t": table("t", [column("x", [1.5, None]), column("s", ["a", "b"])])}))
    for bit in range(len(data) * 8):
        wrong = bytearray(data)
        wrong[bit // 8] ^= 1 << bit % 8
        try:
            decode(bytes(wrong))
        except (FormatError, NotFoundError):
            continue


@pytest.mark.parametrize("opening", [b"[", b'{"a":'])
@pytest.mark.parametrize("field", [b"machine", b"tables", b"unheard"])
def test_deep_json_is_a_format_error(opening: bytes, field: bytes) -> None:
    closing = {b"[": b"]", b'{"a":': b"}"}[opening]
    deep = opening * 300_000 + b"1" + closing * 300_000
    with pytest.raises(FormatError):
        decode(json.dumps(wire()).encode()[:-1] + b', "%s": %s}' % (field, deep))


def test_deep_facts_are_refused_when_written() -> None:
    deep: dict[str, Any] = {}
    for _ in range(100_000):
        deep = {"a": deep}
    with pytest.raises(FormatError, match="cannot"):
        encode(profile(machine=deep))


@pytest.mark.parametrize("fact", [object(), 1j, range(3), {(1, 2): 3}])
def test_facts_that_are_no_json_are_refused(fact: Any) -> None:
    with pytest.raises(FormatError, match="JSON cannot"):
        encode(profile(machine={"x": fact}))


@pytest.mark.parametrize("changes", [{"created": 2**63}, {"sources": ("odd",)}])
def test_what_could_not_be_read_again_is_not_written(changes: dict[str, Any]) -> None:
    with pytest.raises(FormatError):
        encode(profile(**changes))


def test_claims_cost_nothing() -> None:
    """A file of a few bytes does not make us take gigabytes."""
    columns = [{"name": "x", "dtype": "i64", "values": []}]
    bombs = [
        wire(tables={"t": {"rows": 2**62, "columns": columns}}),
        wire(tables={"t": {"rows": 2**62, "pieces": []}}),
        inline("i64", [1], rows=10**15),
    ]
    tracemalloc.start()
    try:
        for bomb in bombs:
            with pytest.raises(FormatError):
                decode(bomb)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_memory_is_bounded_by_the_size_of_the_file() -> None:
    """The worst JSON costs a fixed number of bytes for each of its own."""
    worst = b"[" + b"[],[{}]," * 50_000 + b"0]"
    data = json.dumps(wire()).encode()[:-1] + b', "machine": {"x": %s}}' % worst
    tracemalloc.start()
    try:
        decode(data)
        assert tracemalloc.get_traced_memory()[1] < 60 * len(data)
    finally:
        tracemalloc.stop()


def test_values_are_objects_one_column_at_a_time() -> None:
    """A million rows in a file are never a million rows of Python objects at once."""
    rows = 50_000
    data, _, _ = encode(profile(tables={"t": table("t", [column(str(i), range(rows)) for i in range(12)])}), 10**9)
    read = codec.decode(data, Pieces().get_piece, where="x")
    tracemalloc.start()
    try:
        codec.verify(read)
        columns = 12 * 8 * rows
        one = rows * (8 + 32) * 2
        assert tracemalloc.get_traced_memory()[1] < columns + one
    finally:
        tracemalloc.stop()
    assert list(read.tables["t"]["11"]) == list(range(rows))


def test_pieces_are_verified_one_at_a_time() -> None:
    rows = 6 * PIECE_ROWS
    columns = [column(str(i), range(rows)) for i in range(4)]
    data, _, kept = encode(profile(tables={"t": table("t", columns)}))
    read = codec.decode(data, kept.get_piece, where="x")
    tracemalloc.start()
    try:
        codec.verify(read)
        assert tracemalloc.get_traced_memory()[1] < 4 * 8 * PIECE_ROWS
    finally:
        tracemalloc.stop()


@given(tables(), st.integers(0, 20), st.data())
def test_what_is_verified_is_what_can_be_read(made: Table, cut: int, data: st.DataObject) -> None:
    """Pieces of any tables, put together in any way: verifying refuses what reading refuses, in the same words."""
    kept = Pieces()
    other = data.draw(st.just(made) | tables())
    ids = [kept.put("resources", pieces.encode(part)) for part in (made.slice(0, cut), other)]
    rows = data.draw(st.sampled_from((min(cut, made.rows) + other.rows, made.rows)))
    said = json.dumps(wire(tables={"resources": {"rows": rows, "pieces": ids}})).encode()
    read, checked = (codec.decode(said, kept.get_piece, where="x") for _ in range(2))
    try:
        read.tables["resources"]
    except FormatError as error:
        with pytest.raises(FormatError, match=f"^{re.escape(str(error))}$"):
            codec.verify(checked)
    else:
        codec.verify(checked)


def test_nan_is_a_value_and_missing_is_none() -> None:
    read = reread(profile(tables={"t": table("t", [column("x", [math.nan, None, math.inf, -math.inf])])}))
    values = list(read.tables["t"]["x"])
    assert isinstance(values[0], float)
    assert math.isnan(values[0])
    assert values[1:] == [None, math.inf, -math.inf]


def test_a_table_without_columns_keeps_its_rows() -> None:
    assert reread(profile(tables={"t": Table("t", (), 5)})).tables["t"].rows == 5


@pytest.mark.parametrize("inline", [0, codec.INLINE_CELLS])
def test_stacks_that_nothing_uses_are_kept_as_they_are(inline: int) -> None:
    builder = StackBuilder()
    for number in range(codec.INLINE_CELLS):
        builder.add([Frame("main"), Frame(f"f{number}")])
    made = profile(tables=builder.tables())
    assert reread(made, inline) == made


@pytest.mark.parametrize("tables", [1, 20])
def test_pieces_that_make_very_much_of_nothing_are_refused(tables: int) -> None:
    """Here they have no columns, so that nobody needs the memory."""
    rows = MAX_CELLS
    piece = json.dumps({"format": 1, "name": "t", "rows": rows, "columns": []}).encode()
    table = {"rows": 20 // tables * rows, "pieces": [ID] * (20 // tables)}
    data = json.dumps(wire(tables={f"t{number}": table for number in range(tables)})).encode()
    made = codec.decode(data, lambda id: struct.pack("<I", len(piece)) + piece, where="x")
    with pytest.raises(FormatError, match="more than a profile may hold"):
        codec.verify(made)


@pytest.mark.parametrize("inline", [0, codec.INLINE_CELLS])
def test_an_exact_column_stays_exact(inline: int) -> None:
    size = column("size", [3, 4], unit="B", role="value", exact=True)
    (again,) = reread(profile(tables={"resources": table("resources", [size])}), inline).tables["resources"].columns
    assert again.spec == size.spec
    assert again.spec.exact


@pytest.mark.parametrize("inline", [0, codec.INLINE_CELLS])
def test_a_column_that_is_not_exact_stores_no_field_for_it(inline: int) -> None:
    sizes = [column("size", [3, 4], role="value", exact=exact) for exact in (False, True)]
    stored = [encode(profile(tables={"resources": table("resources", [size])}), inline) for size in sizes]
    texts = [data + b"".join(kept.values()) for data, _, kept in stored]
    assert [b'"exact"' in text for text in texts] == [False, True]
