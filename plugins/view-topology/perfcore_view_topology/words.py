"""Amounts, shares and changes in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfcore.text import percent, quantity

if TYPE_CHECKING:
    from perfcore_view_topology.readings import Reading

NO_VALUE = "no value"


def amount(reading: Reading | None, unit: str) -> str:
    """`12.3 ms`, or a dash where there is no value."""
    return quantity(reading.value, unit) if reading else "-"


def share(value: float | None) -> str:
    """`12.3 %`, nothing where there is none."""
    if value is None:
        return ""
    percentage = f"{100 * value:.1f}"
    return (
        f"{percentage.removesuffix('.0')} %"
        if percentage in ("0.0", "100.0") and round(value, 9) in (0, 1)
        else f"{percentage} %"
    )


def points(before: float, after: float) -> str:
    """`+12.3 points`, of percent."""
    return f"{100 * (after - before):+.1f}"


def change(before: Reading | None, after: Reading | None) -> str:
    """What became of a value: `+4.2 %`, or a word."""
    if before is None or after is None:
        return "" if before is after else NO_VALUE
    if before.value == after.value:
        return "same"
    if before.value == 0:
        return "new"
    if after.value == 0:
        return "gone"
    return percent(after.value / before.value) if after.value / before.value > 0 else "turned"
