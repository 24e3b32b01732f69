"""Amounts as proportions of the maximum or total of their run, their snapshot or of all rows.

Where that is not above 0, or not finite, proportions mean nothing and are missing. NaN are no part of a maximum
or total and stay what they are. Columns are worked on as buffers: their values are not kept as objects.
"""

from __future__ import annotations

import math
from array import array
from collections import defaultdict
from functools import partial
from itertools import compress, repeat
from operator import and_, eq, mul, truediv
from typing import TYPE_CHECKING, Any

from perfcore.errors import UsageError
from perfcore.model.record import replace
from perfcore.profile import bitmap
from perfcore.profile.table import CODES, from_buffer
from perfcore.text import plural, printable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from perfcore.profile.table import Column, Table

    Whole = Callable[[Sequence[Any]], float]

UNITS: Mapping[str, int] = {"1": 1, "%": 100}
"""The units of proportions, and what the whole is in each."""

_ALL = 0
_SWAPPED = bytes.maketrans(b"\0\1", b"\1\0")


def to_whole(
    table: Table, columns: Sequence[Column], whole: str, per: str, unit: str
) -> tuple[list[Column], list[str]]:
    """The columns as proportions, and notes for those that miss some."""
    groups = None if per == "whole" else list(_column(table, per))
    notes, scaled = [], []
    for column in columns:
        wholes = _wholes(column, groups, WHOLES[whole])
        divided, huge = _divided(column, groups, wholes, unit)
        scaled.append(divided)
        named = f"normalizer: {printable(column.name)!r} has"
        if without := list(wholes.values()).count(None):
            groups_without = "" if groups is None else f" in {without:,} of {plural(len(set(groups)), per)}"
            reason = f"no finite {'maximum' if whole == 'max' else whole} above 0{groups_without}"
            notes.append(f"{named} {reason}, so its proportions are missing")
        if huge:
            notes.append(f"{named} {plural(huge, 'proportion')} too large for a float, which count as missing")
    return scaled, notes


def _wholes(column: Column, groups: Sequence[Any] | None, whole: Whole) -> dict[Any, float | None]:
    """What the amounts of each group that has any are divided by: None where that is no positive number."""
    group_wholes = {group: whole(amounts) for group, amounts in _apart(column, groups).items() if len(amounts)}
    return {group: value if 0 < value < math.inf else None for group, value in group_wholes.items()}


def _apart(column: Column, groups: Sequence[Any] | None) -> Mapping[Any, Sequence[Any]]:
    """The amounts of each group, those that are there and not NaN."""
    counting, code = _counting(column), CODES[column.dtype]
    if groups is None:
        return {_ALL: column.data if counting is None else array(code, compress(column.data, counting))}
    apart: dict[Any, array[Any]] = defaultdict(partial(array, code))
    pairs = zip(groups, column.data, strict=True)
    for group, amount in pairs if counting is None else compress(pairs, counting):
        apart[group].append(amount)
    return apart


def _counting(column: Column) -> bytes | None:
    """A flag for each amount that is part of a maximum or total; None where all are."""
    if column.dtype == "f64" and any(map(math.isnan, column.data)):
        # Only a NaN differs from itself (IEEE 754).
        return bytes(map(and_, map(eq, column.data, column.data), _there(column)))
    return None if column.valid is None else _there(column)


def _divided(
    column: Column, groups: Sequence[Any] | None, wholes: Mapping[Any, float | None], unit: str
) -> tuple[Column, int]:
    """The proportions, and how many are missing because they are too large for a float: those of negative amounts
    far larger than what they are divided by."""
    divisors = [wholes.get(_ALL, 1)] * len(column) if groups is None else [wholes.get(group, 1) for group in groups]
    flags = bytearray(_there(column))
    if None in wholes.values():
        flags = bytearray(map(and_, flags, (divisor is not None for divisor in divisors)))
        divisors = [divisor or 1 for divisor in divisors]
    data = array("d", map(mul, map(truediv, column.data, divisors), repeat(UNITS[unit])))
    huge = [row for row in compress(range(len(data)), map(math.isinf, data)) if not math.isinf(column.data[row])]
    for row in huge:
        flags[row] = 0
    for row in compress(range(len(data)), flags.translate(_SWAPPED)):
        data[row] = 0.0  # the item of what is missing
    spec = replace(column.spec, dtype="f64", unit=unit)
    return from_buffer(spec, data, None if all(flags) else bitmap.pack(flags)), len(huge)


def _column(table: Table, name: str) -> Column:
    column = table.get(name)
    if column is None:
        column_names = ", ".join(map(printable, table.names)) or "none"
        raise UsageError(f"normalizer: table {table.name!r} has no column {name!r}", hint=f"it has {column_names}")
    return column


def _there(column: Column) -> bytes:
    return b"\1" * len(column) if column.valid is None else bitmap.flags(column.valid, len(column))


def _total(amounts: Sequence[Any]) -> float:
    """Exactly for whole numbers, correctly rounded for floats; infinite where there is none."""
    if isinstance(amounts[0], int):
        total: int = sum(amounts)
        return total
    try:
        # Exact up to one rounding (J. R. Shewchuk, Adaptive Precision Floating-Point Arithmetic, 1997).
        return math.fsum(amounts)
    except (OverflowError, ValueError):  # beyond floats, or both infinities
        return math.inf


WHOLES: Mapping[str, Whole] = {"max": max, "total": _total}
"""What amounts can be a proportion of."""
