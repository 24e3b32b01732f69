"""Bitmaps, against lists of booleans."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from perfcore.profile import bitmap

FLAGS = st.lists(st.booleans(), max_size=70)


@given(FLAGS)
def test_flags_and_bits_are_the_same_thing(flags: list[bool]) -> None:
    bits = bitmap.pack(bytes(flags))
    assert len(bits) == (len(flags) + 7) // 8
    assert [bool(bits[i // 8] >> i % 8 & 1) for i in range(len(flags))] == flags
    assert bitmap.flags(bits, len(flags)) == bytes(flags)
    assert [bitmap.get(bits, row) for row in range(len(flags))] == flags
    assert bitmap.count(bits, len(flags)) == sum(flags)


@given(FLAGS)
def test_the_rest_of_the_last_byte_is_zero(flags: list[bool]) -> None:
    bits = bitmap.pack(bytes(flags))
    assert bitmap.pack(bytes(flags) + bytes(-len(flags) % 8)) == bits


@given(FLAGS, st.integers(0, 75), st.integers(0, 75))
def test_cutting_bits_is_cutting_flags(flags: list[bool], start: int, stop: int) -> None:
    bits = bitmap.pack(bytes(flags))
    assert bitmap.cut(bits, start, min(stop, len(flags))) == bitmap.pack(bytes(flags[start:stop]))
