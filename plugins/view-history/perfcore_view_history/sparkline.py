"""A series as one line of text, and the places of its changes below it."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Mapping, Sequence

# U+2581 to U+2588, the lower eighths of a block; for terminals without them as many signs that grow darker.
BLOCKS = "▁▂▃▄▅▆▇█"
PLAIN = "_.:-=+*#"
MISSING = " "


def spark(amounts: Sequence[float | None], columns: int, levels: str = BLOCKS) -> str:
    """The amounts (None where there is none) from the lowest level to the highest; where they are more than the
    columns, the median of those that share one."""
    parts = [_median(group) for group in columns_of(amounts, columns)]
    values = [amount for amount in parts if amount is not None]
    low, high = min(values, default=0.0), max(values, default=0.0)
    return "".join(MISSING if amount is None else levels[_level(amount, low, high, len(levels))] for amount in parts)


def marks(places: Mapping[int, str], count: int, columns: int) -> str:
    """A character at the column of each place, and nothing else; of two in one column the later one."""
    width = min(count, columns)
    line = [" "] * width
    for index, mark in sorted(places.items()):
        line[column_of(index, count, columns)] = mark
    return "".join(line).rstrip()


def columns_of(amounts: Sequence[float | None], columns: int) -> list[Sequence[float | None]]:
    """The amounts by the column that shows them."""
    count = len(amounts)
    if count <= columns:
        return [[amount] for amount in amounts]
    # Rounded up, which makes column k of exactly those places that `column_of` puts there.
    edges = [-(-count * column // columns) for column in range(columns + 1)]
    return [amounts[start:end] for start, end in itertools.pairwise(edges)]


def column_of(place: int, count: int, columns: int) -> int:
    return place if count <= columns else place * columns // count


def _median(part: Sequence[float | None]) -> float | None:
    values = [amount for amount in part if amount is not None]
    return statistics.median(values) if values else None


def _level(amount: float, low: float, high: float, count: int) -> int:
    span = high - low
    if not span or not math.isfinite(span):
        # A level line stands in the middle: at the bottom it would look like nothing.
        return count // 2 - 1
    return min(count - 1, int((amount - low) / span * count))
