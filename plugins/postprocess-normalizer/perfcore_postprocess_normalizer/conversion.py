"""Amounts in another unit of their family. Whole amounts stay whole where one unit is a whole number of the other."""

from __future__ import annotations

import math
from array import array
from collections import defaultdict
from itertools import repeat
from operator import mul, truediv
from typing import TYPE_CHECKING

from perfcore_table_kit import units

from perfcore.errors import UsageError
from perfcore.model.record import replace
from perfcore.profile.table import CODES, from_buffer
from perfcore.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from fractions import Fraction

    from perfcore.profile.table import Column


def to_unit(columns: Sequence[Column], target: str, known: Mapping[str, str], *, partly: bool) -> list[Column]:
    """The columns in the unit; `known` are the units of those that do not say theirs. With `partly`, those that do
    not convert are left out, as long as any does."""
    scaled, unconverted = [], defaultdict(list)
    for column in columns:
        unit = column.unit or known.get(column.name, "")
        factor = units.ratio(unit, target)
        if factor is None:
            unconverted[unit].append(printable(column.name))
        else:
            scaled.append(_converted(column, target, factor))
    if unconverted and not (partly and scaled):
        raise _inconvertible(unconverted, target)
    return scaled


def _inconvertible(left: Mapping[str, Sequence[str]], target: str) -> UsageError:
    """What the columns of these names, by their unit, are in, and what they would convert to."""
    units = [f"{', '.join(names)} {_in(unit)}" for unit, names in left.items()]
    others = [f"{_quoted(unit)} converts to {', '.join(_others(unit))}" for unit in left if _others(unit)]
    message = f"normalizer: nothing of this converts to {_quoted(target)}: {'; '.join(units)}"
    return UsageError(message, hint="; ".join(others) or "for proportions say --to max or --to total")


def _in(unit: str) -> str:
    return f"in {_quoted(unit)}" if unit else "without a unit"


def _others(unit: str) -> list[str]:
    return [printable(name) for name in units.related(unit) if name != unit and units.ratio(unit, name) is not None]


def _quoted(unit: str) -> str:
    return repr(printable(unit))


def _converted(column: Column, target: str, factor: Fraction) -> Column:
    spec = replace(column.spec, unit=target)
    if factor == 1:
        return replace(column, spec=spec)
    if column.dtype != "f64" and factor.denominator == 1:
        try:
            products = array(CODES[column.dtype], map(mul, column.data, repeat(factor.numerator)))
            return from_buffer(spec, products, column.valid)
        except OverflowError:  # beyond 64 bits: then as near as floats come
            pass
    # Integers divide exactly in Python and are rounded once, also beyond 2^53, where floats hold no odd numbers.
    data = array("d", _floats(column, factor))
    # Amounts that were infinite before may stay so; new ones come of a unit that is too small.
    if _infinite(data) > _infinite(column.data):
        raise UsageError(f"normalizer: {printable(column.name)!r} is too large to be written in {_quoted(target)}")
    return from_buffer(replace(spec, dtype="f64"), data, column.valid)


def _floats(column: Column, factor: Fraction) -> Iterable[float]:
    """The amounts times the factor, rounded once where they are whole or one unit is a multiple of the other."""
    up, down = factor.numerator, factor.denominator
    if column.dtype != "f64":
        return map(truediv, column.data if up == 1 else map(mul, column.data, repeat(up)), repeat(down))
    return map(truediv, column.data, repeat(down)) if up == 1 else map(mul, column.data, repeat(up / down))


def _infinite(data: Iterable[float]) -> int:
    return sum(map(math.isinf, data))
