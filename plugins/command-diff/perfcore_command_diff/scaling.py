"""Amounts of two profiles on one scale: of one run each, or with the same total."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from statistics import median

from perfcore_check_kit import run_values

from perfcore.model import Profile
from perfcore.profile.stacks import has_stacks
from perfcore.profile.table import Column, Table, column, table

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


def medians(baseline: Profile, target: Profile) -> tuple[Profile, Profile] | None:
    """Both with the median of the runs for each metric, as checks compare them: a mean moves with a single slow run.
    None where a profile has places, each with an amount of its own, or does not tell its runs."""
    if not (baseline.measured_runs and target.measured_runs) or _has_places(baseline) or _has_places(target):
        return None
    return (baseline, target) if baseline.measured_runs == target.measured_runs == 1 else (_one(baseline), _one(target))


def _has_places(profile: Profile) -> bool:
    """Also where the rows name no run."""
    resources = profile.table("resources")
    roles = {each.role for each in resources.columns} if resources is not None else set()
    return has_stacks(profile.tables) or not {"dimension", "benchmark"}.isdisjoint(roles) or "order" not in roles


def _one(profile: Profile) -> Profile:
    values, resources = run_values.of_profile(profile), profile.table("resources")
    if resources is None or not values:
        return profile
    columns = [
        column(
            metric.name,
            [median(amounts) if (amounts := values[metric.name].values) else None],
            dtype="f64",
            unit=metric.unit,
            role="value",
            better=metric.spec.better,
        )
        for metric in resources.columns
        if metric.name in values
    ]
    return profile.replace_tables(resources=table("resources", columns))


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
