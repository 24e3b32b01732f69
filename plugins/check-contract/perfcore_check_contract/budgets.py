"""Verdicts on budgets: whether the values of a command are within them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import attrs
from perfcore_check_kit.version_history import MeasuredCommand

from perfcore.errors import PerfError
from perfcore.model import Change, ChangeKind
from perfcore.text import plural, quantity
from perfcore_check_contract.context import verdict
from perfcore_check_contract.contract import Budget

ALPHA = 0.05  # significance level of the binomial test, the same as that of the check `pair`


@attrs.frozen
class _Hidden:
    """Runs of which only this is known: they took no more than `most`."""

    runs: int
    most: float


def of_budget(command: MeasuredCommand, budget: Budget, metric: str) -> Change:
    """A budget is broken where more runs are beyond it than its quantile lets pass, by more than chance (binomial
    test at 5 %); where only the estimate is beyond it, the verdict is inconclusive."""
    series = command.series.get(metric)
    if series is None:
        return verdict("cannot tell", "it was not measured")
    limit, values = budget.limit(series.unit), list(series.values[0])
    hidden = _hidden(command, metric, len(values))
    # Runs whose value is hidden took at most the floor of the collector: below such a limit they are surely within it.
    if hidden is not None and not budget.least and hidden.most <= limit:
        values += [hidden.most] * hidden.runs
    elif hidden is not None and not values:
        bound = quantity(hidden.most, series.unit)
        return verdict("cannot tell", f"it was not measured: up to {bound} it may be that of perf's own helper")
    if not values:
        return verdict("cannot tell", "it was not measured")
    estimate = _quantile(sorted(values), budget.quantile)
    # With hidden runs in it, an estimate at the floor is only an upper bound.
    exact = hidden is None or estimate > hidden.most
    beyond = sum(value < limit if budget.least else value > limit for value in values)
    # The sign test for a quantile: were the budget kept, each run would be beyond it with 1 minus the quantile
    # (W. J. Conover, Practical Nonparametric Statistics). No assumption about the noise is needed.
    chance = _at_least(beyond, len(values), budget.quantile if budget.least else 1 - budget.quantile)
    within = estimate >= limit if budget.least else estimate <= limit
    evidence = (
        f"{'' if exact else 'at most '}{quantity(estimate, series.unit)} of {quantity(limit, series.unit)}; "
        f"{beyond} of {plural(len(values), 'run')} beyond it"
    )
    # The estimate decides for "kept": a promise is not broken for want of runs that would prove it.
    kind: ChangeKind = "same" if within else "degradation" if chance < ALPHA else "cannot tell"
    return verdict(
        kind,
        evidence,
        unit=series.unit,
        baseline_value=limit,
        target_value=estimate if exact else None,
        ratio=estimate / limit if exact and limit > 0 and estimate >= 0 else None,
        p_value=chance,
    )


def _hidden(command: MeasuredCommand, metric: str, measured: int) -> _Hidden | None:
    """The runs whose value a collector hides because it may be its own, where the profiles have its upper bound."""
    runs = max(len(series.values[0]) for series in command.series.values())
    if measured >= runs:
        return None
    try:
        profiles = [command.repository.store.load(id) for id in command.line.versions[0].profiles]
    except PerfError:  # a damaged profile was reported when the series was read
        return None
    bounds = [profile.collector.sampling.get(f"{metric}_floor") for profile in profiles]
    finite_bounds = [bound for bound in bounds if isinstance(bound, int | float) and math.isfinite(bound)]
    return _Hidden(runs - measured, max(finite_bounds)) if finite_bounds and len(finite_bounds) == len(bounds) else None


def _quantile(ordered: Sequence[float], share: float) -> float:
    """The amount that this share of the runs is at or below; where that is so between two amounts, their mean."""
    rank = round(share * len(ordered), 9)  # 0.07 * 100 is 7.000000000000001 in binary, whose ceiling is 8
    low, high = ordered[math.ceil(rank) - 1], ordered[min(math.floor(rank), len(ordered) - 1)]
    return low if low == high else low / 2 + high / 2


def _at_least(count: int, runs: int, chance: float) -> float:
    """The probability that at least so many of the runs are beyond a limit that each exceeds with this chance."""
    return min(1.0, sum(math.comb(runs, k) * chance**k * (1 - chance) ** (runs - k) for k in range(count, runs + 1)))
