"""Objects: round trip, damage, bombs."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tracemalloc
import zlib
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from perfcore_testing.strategies import WORDS

from perfcore.errors import FormatError
from perfcore.store import objects
from perfcore.store.objects import Object

if TYPE_CHECKING:
    from collections.abc import Iterator

SAMPLES = {
    "empty": Object("note", "x", b""),
    "short": Object("note", "x", b"ten bytes."),
    "json": Object("profile", "time", b'{"format": 1, "header": {"type": "time"}, "created": 1}'),
    "zeros": Object("table", "resources", bytes(500)),
    "noise": Object("table", "resources", hashlib.shake_128(b"noise").digest(300)),
    "about a header": Object("note", "x", b"y" * (300 - len(b"note x 290\0"))),
}


def stored(whole: bytes) -> tuple[str, bytes]:
    return hashlib.sha1(whole).hexdigest(), zlib.compress(whole)


@given(st.sampled_from(("profile", "table", "note", "receipt")), WORDS, st.binary(max_size=2000))
def test_an_object_reads_back_under_its_id(kind: str, type: str, content: bytes) -> None:
    id, data = objects.encode(Object(kind, type, content))
    assert objects.decode(data, id) == objects.inflate(data, "x") == Object(kind, type, content)


@pytest.mark.parametrize("size", [0, 1, 280, 299, 300, 301, 1 << 16, (1 << 16) + 1, 1 << 20])
@pytest.mark.parametrize("noise", [True, False])
def test_contents_of_any_size_read_back(size: int, noise: bool) -> None:
    content = os.urandom(size) if noise else bytes(size)
    id, data = objects.encode(Object("table", "x", content))
    assert objects.decode(data, id).content == content


@pytest.mark.parametrize("size", [65_000, 65_536 - 19, 65_537, 131_072 - 20, 200_000])
def test_long_stacks_are_one_stream_shorter_than_with_references_alone(size: int) -> None:
    varied = bytes(byte % 61 for byte in hashlib.shake_256(b"x").digest(size // 2))
    item = Object("table", "stacks", varied + b"parent" * (size // 12))
    id, data = objects.encode(item)
    assert objects.decode(data, id) == item
    assert zlib.decompress(data).endswith(item.content)
    assert objects.is_compressed(data)
    assert len(data) < len(zlib.compress(item.content, 1))


def test_the_id_is_the_hash_of_header_and_content() -> None:
    id, data = objects.encode(Object("note", "a.b-c", b"hello"))
    assert zlib.decompress(data) == b"note a.b-c 5\0hello"
    assert id == hashlib.sha1(b"note a.b-c 5\0hello").hexdigest()


@pytest.mark.parametrize("name", SAMPLES)
def test_every_truncation_is_detected(name: str) -> None:
    id, data = objects.encode(SAMPLES[name])
    for end in range(len(data)):
        with pytest.raises(FormatError, match=id):
            objects.decode(data[:end], id)


@pytest.mark.parametrize("name", SAMPLES)
def test_every_flipped_bit_that_changes_anything_is_detected(name: str) -> None:
    """Some bits of a compressed stream carry nothing: those that fill up a byte, and choices between equal
    ways to say the same. With them flipped the object is still the same to the last bit."""
    id, data = objects.encode(SAMPLES[name])
    passed = 0
    for wrong in flips(data):
        try:
            assert objects.decode(wrong, id) == SAMPLES[name]
            passed += 1
        except FormatError:
            continue
    assert passed < 20


@given(st.binary(max_size=2000) | st.binary(max_size=20).map(lambda part: part * 100), st.data())
def test_any_object_notices_a_lost_end_and_a_flipped_bit(content: bytes, data: st.DataObject) -> None:
    item = Object("table", "x", content)
    id, whole = objects.encode(item)
    place, bit = data.draw(st.integers(0, len(whole) - 1)), data.draw(st.integers(0, 7))
    with pytest.raises(FormatError, match=id):
        objects.decode(whole[:place], id)
    read = item
    with contextlib.suppress(FormatError):
        read = objects.decode(whole[:place] + bytes([whole[place] ^ 1 << bit]) + whole[place + 1 :], id)
    assert read == item


def flips(data: bytes) -> Iterator[bytes]:
    for bit in range(len(data) * 8):
        wrong = bytearray(data)
        wrong[bit // 8] ^= 1 << bit % 8
        yield bytes(wrong)


def test_an_object_is_not_another_one() -> None:
    id, _ = objects.encode(Object("note", "x", b"this"))
    _, data = objects.encode(Object("note", "x", b"that"))
    with pytest.raises(FormatError, match=f"{id} is damaged"):
        objects.decode(data, id)


@pytest.mark.parametrize(
    "whole",
    [
        b"",
        b"hello",
        b"note x 5hello",
        b"note x 4\0hello",
        b"note x 6\0hello",
        b"note x 05\0hello",
        b"note x +5\0hello",
        b"note x -1\0hello",
        b"note x 5 \0hello",
        b"note  x 5\0hello",
        b"note 5\0hello",
        b"note x y 5\0hello",
        b"note X 5\0hello",
        b"note .x 5\0hello",
        b"Note x 5\0hello",
        b"note x 5\nhello",
        b"note x 99999999999\0hello",
        b"note x 9999999999999\0hello",
        b"note " + b"x" * 202 + b" 5\0hello",
        b"x" * 1000,
    ],
)
def test_what_does_not_follow_the_header_is_refused(whole: bytes) -> None:
    id, data = stored(whole)
    with pytest.raises(FormatError, match=id):
        objects.decode(data, id)


@pytest.mark.parametrize("data", [b"", b"x", b"y", b"\x78\x9c", b"\0" * 100, b"pidx" + bytes(40)])
def test_what_is_not_compressed_is_refused(data: bytes) -> None:
    with pytest.raises(FormatError, match="file 7"):
        objects.inflate(data, "file 7")


def test_bytes_after_the_end_are_refused() -> None:
    id, data = objects.encode(SAMPLES["json"])
    with pytest.raises(FormatError, match=id):
        objects.decode(data + b"\0", id)
    with pytest.raises(FormatError, match=id):
        objects.decode(data + data, id)


@given(st.binary(max_size=100))
def test_any_bytes_are_an_object_or_a_format_error(data: bytes) -> None:
    with pytest.raises(FormatError):
        objects.inflate(data, "x")
    with pytest.raises(FormatError):
        objects.inflate(zlib.compress(data), "x")


@pytest.mark.parametrize("header", [b"note x 5\0", b"note x 268435457\0", b"note x 99999999999\0", b""])
def test_a_bomb_costs_no_more_than_its_header_says(header: bytes) -> None:
    compressor = zlib.compressobj(9)
    data = compressor.compress(header) + compressor.compress(bytes(1 << 28)) + compressor.flush()
    assert len(data) < 300_000
    tracemalloc.start()
    try:
        with pytest.raises(FormatError, match="file 7 is damaged"):
            objects.inflate(data, "file 7")
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def test_a_header_that_promises_more_than_zlib_can_hold_is_not_believed() -> None:
    _, data = stored(b"note x 200000000\0" + bytes(1000))
    with pytest.raises(FormatError, match="claims to hold 200,000,000 bytes"):
        objects.inflate(data, "x")


@pytest.mark.parametrize("type", ["", "Time", "a b", ".x", "-x", "x\n", "ü", "x/y", "x" * 202])
def test_types_are_words(type: str) -> None:
    with pytest.raises(FormatError, match="is no type of a profile"):
        objects.encode(Object("profile", type, b""))


def test_an_object_over_the_limit_is_not_made() -> None:
    with pytest.raises(FormatError, match="over the limit"):
        objects.encode(Object("profile", "x", bytes(objects.MAX_BYTES + 1)))


@pytest.mark.parametrize("level", range(10))
def test_streams_of_any_zlib_are_recognized(level: int) -> None:
    assert objects.is_compressed(zlib.compress(b"note x 1\0y", level))


def test_nothing_else_looks_compressed() -> None:
    _, data = objects.encode(SAMPLES["json"])
    assert [objects.is_compressed(wrong) for wrong in flips(data[:2])] == [False] * 16
    assert not any(map(objects.is_compressed, (b"", b"x", b"pidx", b"nidx", bytes(10))))
