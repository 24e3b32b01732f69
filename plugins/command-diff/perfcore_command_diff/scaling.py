"""Amounts of two profiles on one scale: of one run each, or with the same total."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum

from perfcore.model import Profile
from perfcore.profile.table import Column, Table, column

_NUMBERS = ("i64", "u64", "f64")


class Scale(StrEnum):
    """`run` is per run, `sum` over all runs as they were recorded. `total` multiplies the amounts of the target so that
    both totals are those of the baseline: only the shares differ."""

    RUN = "run"
    SUM = "sum"
    TOTAL = "total"


def per_run(baseline: Profile, target: Profile) -> tuple[Profile, Profile] | None:
    """Both with amounts of one run. None where a profile does not tell its number of runs."""
    before, after = baseline.measured_runs, target.measured_runs
    if not before or not after:
        return None
    if before == after == 1:
        return baseline, target  # whole numbers stay exact
    return _scaled(baseline, lambda _: 1 / before), _scaled(target, lambda _: 1 / after)


def to_one_total(baseline: Profile, target: Profile) -> tuple[Profile, Profile]:
    """The target with the totals of the baseline in each metric."""
    resources = baseline.table("resources")

    def factor(metric: Column) -> float:
        counterpart = None if resources is None else resources.get(metric.name)
        before = 0.0 if counterpart is None else _total(counterpart)
        after = _total(metric)
        return before / after if before > 0 and after > 0 else 1.0

    return _scaled(baseline, lambda _: 1.0), _scaled(target, factor)


def _scaled(profile: Profile, factor: Callable[[Column], float]) -> Profile:
    """Every metric is of the type f64 then, so that the columns of both profiles are of one type."""
    resources = profile.table("resources")
    if resources is None:
        return profile
    metrics = [metric for metric in resources.columns if metric.role == "value" and metric.dtype in _NUMBERS]
    return profile.replace_tables(resources=_with_amounts(resources, [(each, factor(each)) for each in metrics]))


def _with_amounts(resources: Table, factors: Sequence[tuple[Column, float]]) -> Table:
    columns = [
        column(
            metric.name,
            [None if amount is None else amount * factor for amount in metric],  # type: ignore[operator]
            dtype="f64",
            unit=metric.unit,
            role="value",
            better=metric.spec.better,
        )
        for metric, factor in factors
    ]
    return resources.with_columns(*columns)


def _total(metric: Column) -> float:
    return sum(amount for amount in metric if isinstance(amount, int | float))
