"""Summary of a profile's runs: median, spread and outliers of every metric."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence

import attrs

from perfcore.model import Profile
from perfcore.profile.table import Column, Table

_FENCE = 3.0  # outer fence of Tukey's box plot: 3 interquartile ranges beyond the quartiles


@attrs.frozen
class Summary:
    """One metric over the measured runs; `spread` is the interquartile range over the median."""

    metric: str
    unit: str
    runs: int
    median: float
    low: float
    high: float
    spread: float | None
    outliers: int


def summarize(profile: Profile) -> list[Summary]:
    """A summary for every value column, the amounts of each run added up first where a run has several rows."""
    table = profile.table("resources")
    if table is None or not table.rows:
        return []
    return [summary for column in table.values() for summary in _of_column(table, column)]


def per_run(table: Table, column: Column) -> list[float]:
    """The column's amounts summed for each run, in the order of the runs; runs without a value are left out."""
    runs = table.get("run")
    if runs is None:
        return [float(value) for value in column if value is not None]
    sums: dict[object, float] = {}
    for run, value in zip(runs, column, strict=True):
        if value is not None and not isinstance(value, str):
            sums[run] = sums.get(run, 0) + value
    return list(sums.values())


def disturbed(profile: Profile) -> tuple[int, int]:
    """(disturbed runs, runs that were counted)."""
    table = profile.table("runs")
    if table is None or table.get("disturbed") is None or table.get("warmup") is None:
        return 0, 0
    counted = [bool(d) for d, w in zip(table["disturbed"], table["warmup"], strict=True) if not w]
    return sum(counted), len(counted)


def _of_column(table: Table, column: Column) -> Iterator[Summary]:
    values = per_run(table, column)
    if not values:
        return
    median = statistics.median(values)
    lower, upper = _quartiles(values)
    reach = _FENCE * (upper - lower)
    yield Summary(
        metric=column.name,
        unit=column.unit,
        runs=len(values),
        median=median,
        low=min(values),
        high=max(values),
        spread=(upper - lower) / abs(median) if median else None,
        outliers=sum(1 for v in values if v > upper + reach or v < lower - reach) if len(values) >= 5 else 0,
    )


def _quartiles(values: Sequence[float]) -> tuple[float, float]:
    if len(values) < 2:
        return values[0], values[0]
    lower, _, upper = statistics.quantiles(values, n=4, method="inclusive")
    return lower, upper
