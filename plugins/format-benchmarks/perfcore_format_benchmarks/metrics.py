"""Metrics of benchmark harnesses: times in ns, sizes in B, rates in 1/s, and amounts read into these units."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import attrs

from perfcore.text import encodable

NANOSECONDS: Mapping[str, float] = {"ns": 1.0, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9, "min": 6e10}


@attrs.frozen
class Metric:
    """A column of amounts. `decides` says that its direction is known."""

    name: str
    unit: str = ""
    better: Literal["lower", "higher"] = "lower"
    decides: bool = True


WALL, CPU = Metric("wall", "ns"), Metric("cpu", "ns")
MAX_RSS, MEMORY = Metric("max_rss", "B"), Metric("memory", "B")
THROUGHPUT = Metric("throughput", "1/s", "higher")
BYTES_PER_SECOND = Metric("bytes_per_second", "B/s", "higher")


def counter(name: str, unit: str = "") -> Metric:
    """A metric of which nobody said which direction is better."""
    return Metric(encodable(name), encodable(unit), decides=False)


def scaled(amount: Any, factor: float) -> float | None:
    """An amount in another unit; None of what is no number that a column holds."""
    try:
        return None if isinstance(amount, bool) or not isinstance(amount, int | float) else float(amount) * factor
    except OverflowError:
        return None


def percentiles(values: Sequence[float], most: int = 101) -> list[float]:
    """The values; of more than 101 their minimum, their maximum and the 99 percentiles between, with the same median.
    They are of one process, whose amount is the median: ten thousand values say no more about it."""
    if len(values) <= most:
        return [*values]
    ordered = sorted(filter(math.isfinite, values))
    last = len(ordered) - 1
    if last < most:
        return ordered
    cuts = [divmod(step * last, most - 1) for step in range(most)]
    return [
        ordered[low] if not rest else ordered[low] + (ordered[low + 1] - ordered[low]) * rest / (most - 1)
        for low, rest in cuts
    ]


def is_usable(metric: Metric, amount: Any) -> bool:
    if isinstance(amount, bool) or not isinstance(amount, int | float):
        return False
    try:
        return math.isfinite(float(amount)) and (amount >= 0 or not metric.decides)
    except OverflowError:
        return False
