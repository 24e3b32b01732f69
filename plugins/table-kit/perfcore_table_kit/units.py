"""Units of measure that can be converted into each other exactly."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_FAMILIES: tuple[Mapping[str, Fraction], ...] = (
    {
        "ps": Fraction(1, 10**12),
        "ns": Fraction(1, 10**9),
        "us": Fraction(1, 10**6),
        # The sign for micro (U+00B5) and the Greek letter (U+03BC): keyboards and programs write either.
        "µs": Fraction(1, 10**6),
        "μs": Fraction(1, 10**6),
        "ms": Fraction(1, 10**3),
        "s": Fraction(1),
        "m": Fraction(60),
        "min": Fraction(60),
        "h": Fraction(3600),
    },
    {
        "B": Fraction(1),
        "kB": Fraction(10**3),
        # As IEC 80000-13 has the prefixes: 1,000, and 1,024 only with an `i`.
        "KB": Fraction(10**3),
        "MB": Fraction(10**6),
        "GB": Fraction(10**9),
        "TB": Fraction(10**12),
        "KiB": Fraction(2**10),
        "MiB": Fraction(2**20),
        "GiB": Fraction(2**30),
        "TiB": Fraction(2**40),
    },
    {"Hz": Fraction(1), "kHz": Fraction(10**3), "MHz": Fraction(10**6), "GHz": Fraction(10**9)},
)
_COUNTS: Mapping[str, Fraction] = {
    "k": Fraction(10**3),
    "M": Fraction(10**6),
    "G": Fraction(10**9),
    "T": Fraction(10**12),
}


def related(unit: str) -> Mapping[str, Fraction]:
    """The units that convert into `unit`, each with its size in its family. A unit of no family (`""`,
    `instructions`) takes itself and the multiples k, M, G and T."""
    for family in _FAMILIES:
        if unit in family:
            return family
    return {unit: Fraction(1), **_COUNTS}


def is_count(unit: str) -> bool:
    """Whether amounts are counts, whatever is counted: those that need no unit to be understood."""
    return unit not in _COUNTS and related(unit).keys() >= _COUNTS.keys()


def ratio(unit: str, base: str) -> Fraction | None:
    """How many `base` one `unit` is: 1000000 for `ms` in `ns`. None where they do not convert."""
    family = related(base)
    return family[unit] / family[base] if unit in family else None
