"""Shares of the whole as pages and terminals show them."""

from __future__ import annotations

import bisect

_HEAT = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)  # percent, from which on a line is one step hotter
_WIDTHS = 20  # of bars
_LEAST = 0.005  # percent that are not rounded to 0.00


def share(amount: float, total: float) -> str:
    """`12.34`, in percent; nothing for nothing."""
    if not amount:
        return ""
    percent = 100 * amount / total
    return f"{percent:.2f}" if percent >= _LEAST else "<0.01"


def heat(amount: float, total: float) -> int:
    """How hot it is, from 0 to 8."""
    return bisect.bisect_right(_HEAT, 100 * amount / total)


def bar(amount: float, total: float) -> int:
    """The length of a bar, from 0 to 20."""
    return min(_WIDTHS, round(_WIDTHS * amount / total + 0.3)) if amount else 0
