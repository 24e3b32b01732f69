"""Bitmaps of presence: bit i of byte i // 8, counted from the lowest; 1 where a value is there.

`flags` are the same as one byte, 0 or 1, for each row. Both conversions run at the speed of `bytes`.
"""

from __future__ import annotations


def get(bits: bytes, row: int) -> int:
    return bits[row >> 3] >> (row & 7) & 1


def pack(flags: bytes | bytearray) -> bytes:
    """The bitmap of one byte a row."""
    size = (len(flags) + 7) // 8
    padded = bytes(flags) + bytes(size * 8 - len(flags))
    total = 0
    for bit in range(8):
        # Byte k of this integer is the flag of row 8 k + bit: shifted, it is bit `bit` of byte k of the bitmap.
        total |= int.from_bytes(padded[bit::8], "little") << bit
    return total.to_bytes(size, "little")


def flags(bits: bytes, rows: int) -> bytes:
    """One byte a row of a bitmap."""
    size = len(bits)
    integer = int.from_bytes(bits, "little")
    lowest = int.from_bytes(b"\x01" * size, "little")  # a mask of the lowest bit of each byte
    spread = bytearray(size * 8)
    for bit in range(8):
        spread[bit::8] = ((integer >> bit) & lowest).to_bytes(size, "little")  # the inverse of `pack`
    return bytes(spread[:rows])


def cut(bits: bytes, start: int, stop: int) -> bytes:
    """The bitmap of the rows start to stop - 1."""
    rows = max(0, stop - start)
    first = start >> 3
    integer = int.from_bytes(bits[first : (stop + 7) >> 3], "little") >> (start & 7)
    return (integer & ((1 << rows) - 1)).to_bytes((rows + 7) // 8, "little")


def count(bits: bytes, rows: int) -> int:
    """How many of the first `rows` values are there."""
    return flags(bits, rows).count(1)
