"""Which functions of a difference changed by no more than noise.

Replicates, other profiles of the same configuration and version, decide by Welch's t-test of what each function took
with all that it called (B. L. Welch, Biometrika 34, 1947); numbers of samples without replicates by the variance of
counting, which is their number (Poisson). Of many functions some differ by chance: the procedure of Benjamini and
Hochberg (J. R. Statist. Soc. B 57, 1995) bounds the share of false ones among those that are coloured.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from perfcore_table_kit.functions import by_function

from perfcore.model import Profile

RATE = 0.05
"""The share of coloured functions that may be noise."""
_LEAST = 2  # replicates of a side: one has no spread
_TERMS = 300  # of the continued fraction, which needs fewer than 100 for three digits
_TINY = 1e-300

Function: TypeAlias = tuple[str, str]  # name and file


def by_replicates(
    baseline: Sequence[Profile], target: Sequence[Profile], metric: str, factor: float = 1.0
) -> dict[Function, float] | None:
    """The p-value of each function; None where a side has fewer than two replicates. `factor` scales the target."""
    if min(len(baseline), len(target)) < _LEAST:
        return None
    sides = [[_totals(profile, metric, scale) for profile in side] for side, scale in ((baseline, 1), (target, factor))]
    functions = {function for side in sides for totals in side for function in totals}
    return {
        function: welch(*([totals.get(function, 0.0) for totals in side] for side in sides)) for function in functions
    }


def by_counting(baseline: Profile, target: Profile, metric: str, scales: tuple[float, float]) -> dict[Function, float]:
    """The p-value of each function from numbers of samples, of which `scales` make the amounts that are compared."""
    before, after = (_totals(profile, metric, 1) for profile in (baseline, target))
    values = {}
    for function in {*before, *after}:
        counts = before.get(function, 0), after.get(function, 0)
        amounts = [count * scale for count, scale in zip(counts, scales, strict=True)]
        variance = sum(count * scale**2 for count, scale in zip(counts, scales, strict=True))
        z = abs(amounts[1] - amounts[0]) / math.sqrt(variance) if variance > 0 else 0.0
        values[function] = math.erfc(z / math.sqrt(2))
    return values


def noise(p_values: Mapping[Function, float], rate: float = RATE) -> set[Function]:
    """The functions that are not told apart from noise."""
    ordered = sorted(p_values.items(), key=lambda item: (item[1], item[0]))
    significant = 0
    for rank, (_, p) in enumerate(ordered, 1):
        if p <= rate * rank / len(ordered):
            significant = rank
    return {function for function, _ in ordered[significant:]}


def welch(before: Sequence[float], after: Sequence[float]) -> float:
    """The two-sided p-value of Welch's t-test."""
    (mean, square), (other_mean, other_square) = map(_mean_and_error, (before, after))
    error = square + other_square
    if error == 0:
        return 1.0 if mean == other_mean else 0.0
    t = (other_mean - mean) / math.sqrt(error)
    freedom = error**2 / (square**2 / (len(before) - 1) + other_square**2 / (len(after) - 1))
    return _incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t))


def _mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    """The mean, and the square of its standard error."""
    mean = math.fsum(values) / len(values)
    return mean, math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1) / len(values)


def _incomplete_beta(a: float, b: float, x: float) -> float:
    """The regularized incomplete beta function by its continued fraction (DLMF 8.17.22), evaluated as by Lentz."""
    if x <= 0 or x >= 1:
        return min(1.0, max(0.0, x))
    if x > (a + 1) / (a + b + 2):
        return 1 - _incomplete_beta(b, a, 1 - x)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)) / a
    value, c, d = 1.0, 1.0, 0.0
    for term in range(_TERMS):
        half, odd = divmod(term, 2)
        if term == 0:
            numerator = 1.0
        elif odd:
            numerator = -(a + half) * (a + b + half) * x / ((a + 2 * half) * (a + 2 * half + 1))
        else:
            numerator = half * (b - half) * x / ((a + 2 * half - 1) * (a + 2 * half))
        d = 1 / (1 + numerator * d or _TINY)
        c = 1 + numerator / c or _TINY
        value *= c * d
        if abs(1 - c * d) < 1e-10:
            break
    return front * (value - 1)


def _totals(profile: Profile, metric: str, factor: float) -> dict[Function, float]:
    return {(each.name, each.file): each.total * factor for each in by_function(profile.tables, metric)}
