"""A suite of benchmarks as one amount for each: sums over runs and values would compare how often they ran."""

from __future__ import annotations

import math
from statistics import median

from perfcore.model import Profile
from perfcore.model.record import replace
from perfcore.profile import benchmarks
from perfcore.profile.table import Column, Table, column, table


def reduced(profile: Profile) -> Profile:
    """The suite with a row for each benchmark: the median over its runs of each metric. Any other profile as it is."""
    if not benchmarks.is_suite(profile):
        return profile
    parts = {name: part.tables["resources"] for name, part in benchmarks.split(profile).items()}
    metrics = {metric.name: metric for part in parts.values() for metric in part.values()}
    names = column("benchmark", [*parts], dtype="str", role="benchmark")
    columns = [_medians(metric, list(parts.values())) for metric in metrics.values()]
    note = "amounts are medians over the runs of each benchmark"
    reduced_profile = profile.replace_tables(resources=table("resources", [names, *columns]))
    return replace(reduced_profile, notes=(*profile.notes, note))


def _medians(metric: Column, parts: list[Table]) -> Column:
    amounts = [_median(part.get(metric.name)) for part in parts]
    return column(metric.name, amounts, dtype="f64", unit=metric.unit, role="value", better=metric.spec.better)


def _median(amounts: Column | None) -> float | None:
    finite = [amount for amount in amounts or () if isinstance(amount, float) and math.isfinite(amount)]
    return median(finite) if finite else None
