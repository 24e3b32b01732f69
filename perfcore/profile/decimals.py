"""Floating-point numbers with few decimals as integers: 12.3456 is 123456, of 4 decimals.

An integer of at most 2^53 and a power of ten up to 10^15 are exact in IEEE 754, and dividing one by the other rounds
correctly, as reading a decimal number does. So a number that was written with few digits comes back bit by bit.
"""

from __future__ import annotations

import itertools
import operator
from array import array
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

MOST = 15  # 10^22 is the last power of ten that is exact; no measurement has that many decimals
_SAMPLE = 64  # numbers that tell most columns of arbitrary ones, which have 15 to 17 digits
_LARGEST = 1 << 53


def scaled(numbers: memoryview, raw: bytes) -> tuple[int, bytes] | None:
    """(how many decimals they have, the integers as i64 in memory order); None unless every number comes back as it
    is, bit by bit. `raw` holds the bytes of the numbers."""
    places = _places(numbers[:_SAMPLE])
    found = None if places is None else _integers(numbers, places, raw)
    if found is None and places is not None:
        longest = _places(numbers)
        found = _integers(numbers, longest, raw) if longest is not None and longest > places else None
        places = longest
    return (places, found) if places is not None and found is not None else None


def restored(raw: bytes | bytearray, places: int) -> bytes:
    """The bytes of the numbers whose integers these are."""
    return array("d", map(operator.truediv, array("q", bytes(raw)), itertools.repeat(10**places))).tobytes()


def _places(numbers: Iterable[float]) -> int | None:
    """The most decimals that the shortest decimal text of any of the numbers has; None for too many, and where one
    has an exponent or is no number."""
    most = 0
    for number in numbers:
        whole, point, digits = repr(number).partition(".")
        if not point or not digits.isdecimal() or len(digits) > MOST or len(whole) + len(digits) > MOST + 2:
            return None
        if digits != "0":
            most = max(most, len(digits))
    return most


def _integers(numbers: memoryview, places: int, raw: bytes) -> bytes | None:
    try:
        integers = array("q", map(round, map(operator.mul, numbers, itertools.repeat(10.0**places))))
    except (OverflowError, ValueError):  # infinite, or no number
        return None
    if len(integers) and not -_LARGEST <= min(integers) <= max(integers) <= _LARGEST:
        return None
    data = integers.tobytes()
    return data if restored(data, places) == raw else None
