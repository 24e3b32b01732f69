"""The part of the differences of pairs that the benchmarks of a suite share.

The benchmarks of a suite are measured in one process for each run. Other work on the machine makes a process slow as a
whole, so that in pair k

    log ratio = change of the benchmark + share * factor of the pair + noise.

The factor of a pair is estimated for each benchmark from the *others*. Its movement over the pairs comes from their
residuals, in which no change is: a mean in which outlying ones count little (P. Huber, 1964). Its middle comes from
their changes: a mean in which those that changed themselves count nothing (J. Tukey's biweight; A. Beaton and J. Tukey,
1974). The error of the middle is that of a mean of residuals, and these are in the pairs that the test sees: so its
interval includes it. The share is the slope of a benchmark's residuals over the factor, which is as much below 1 as the
factor is noise.

If the factor differs from 0 by the test of pairs, the suite changed as a whole, and nothing is taken out: the runs were
taken in turn, so that the machine disturbed both sides alike.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, TypeAlias

import msgspec
import numpy as np

from perfcore_check_pair import samples
from perfcore_check_pair.inference import compare_pairs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from perfcore.model import Pairing
    from perfcore_check_pair.samples import Array, Flags, Indexes, Runs

PairKey: TypeAlias = tuple[object, int]

# Of few benchmarks the one that changes moves the middle of the others. Of three, 16 to 48 % of suites had a false
# verdict on those that did not change, of six 9 to 11 %, of twelve 3 to 5 % (benchmarks/suites.py).
FEWEST = 10  # benchmarks from which on the factor is estimated
_NORMAL = 1.4826  # standard deviations in a median absolute deviation of normal noise
_HUBER = 1.345  # spreads from which on a residual counts less: 95 % efficient for normal noise
_BIWEIGHT = 4.685  # standard errors beyond which a change counts nothing: 95 % efficient, too
_ROUNDS = 4  # of estimate and weights in turn; later ones move neither by a hundredth of their errors
_SHARES = 0.3  # standard deviation of the shares of benchmarks, as the check `changepoint` assumes of series
# Standard errors of the common slope from which on there is something to take out. If nothing is shared, the sum over
# the pairs is that of squares of normal noise less their means: of 10 of them, 1 % are beyond 3 standard errors.
_SURE = 3.0


class Part(msgspec.Struct, frozen=True, eq=False):
    """The logarithms of what the pairs of a benchmark have of the factor, estimated from so many benchmarks."""

    logarithms: Array
    benchmarks: int


class Shared(msgspec.Struct, frozen=True, eq=False):
    """What each benchmark of a suite has of the factor of each pair, by its name, and of how many benchmarks."""

    parts: Mapping[str, Mapping[PairKey, float]]
    benchmarks: int

    def part(self, benchmark: str, keys: Sequence[PairKey], kept: Flags) -> Part | None:
        """That of a benchmark, in those of its pairs that are kept."""
        parts = self.parts.get(benchmark)
        if not parts:
            return None
        return Part(np.array([parts.get(key, 0.0) for key in keys])[kept], self.benchmarks)


def sides(pairing: Pairing) -> tuple[Runs, Runs]:
    """The runs of both sides, those of a benchmark read once for all metrics and for what its suite shares."""
    read = _sides_of_suite(pairing.suite) if pairing.benchmark else {}
    if pairing.benchmark in read:
        compared, baseline, target = read[pairing.benchmark]
        if compared.baseline is pairing.baseline and compared.target is pairing.target:
            return baseline, target
    return samples.read(pairing.baseline), samples.read(pairing.target)


@functools.lru_cache(maxsize=1)  # the benchmarks of a suite are compared one after the other
def _sides_of_suite(suite: Callable[[], Sequence[Pairing]]) -> Mapping[str, tuple[Pairing, Runs, Runs]]:
    return {
        pairing.benchmark: (pairing, samples.read(pairing.baseline), samples.read(pairing.target))
        for pairing in suite()
    }


@functools.lru_cache(maxsize=8)  # as many metrics of a suite as usually decide or stand beside
def of_suite(suite: Callable[[], Sequence[Pairing]], metric: str, alpha: float) -> Shared:
    """The shared parts of a metric in the pairs of all benchmarks. They are cached by the identity of `suite`, as every
    benchmark asks for them."""
    differences = {
        benchmark: _differences(baseline, target, pairing.interleaved, metric)
        for benchmark, (pairing, baseline, target) in _sides_of_suite(suite).items()
    }
    measured = {benchmark: by_pair for benchmark, by_pair in differences.items() if by_pair}
    keys = list(dict.fromkeys(key for by_pair in measured.values() for key in by_pair))
    if len(measured) < FEWEST:
        return Shared({}, len(measured))
    rows = np.array([[by_pair.get(key, np.nan) for key in keys] for by_pair in measured.values()])
    parts = shared_parts(rows, alpha)
    return Shared(
        {
            benchmark: dict(zip(keys, row.tolist(), strict=True))
            for benchmark, row in zip(measured, parts, strict=True)
            if row.any()
        },
        len(measured),
    )


def keys_of(baseline: Runs, partners: tuple[Indexes, Indexes]) -> list[PairKey]:
    """The session and block of each pair, and which of their pairs it is: the same for all benchmarks."""
    seen: dict[object, int] = {}
    keys: list[PairKey] = []
    for index in partners[0]:
        key = baseline.runs[index].key or index
        seen[key] = seen.get(key, -1) + 1
        keys.append((key, seen[key]))
    return keys


def shared_parts(differences: Array, alpha: float) -> Array:
    """What each benchmark (row) has of the factor of each pair (column): logarithms, 0 where nothing is taken out."""
    nothing = np.zeros(differences.shape)
    counts = np.isfinite(differences).sum(axis=1)
    if min(counts, default=0) < 2:
        return nothing
    residuals = differences - _medians(differences)[:, None]
    factor, others, spreads = _movement(residuals)
    slopes = _slopes(residuals, others, spreads)
    if slopes is None:
        return nothing
    changes = _medians(differences - slopes[:, None] * others)
    errors = spreads * np.sqrt(np.pi / 2 / counts)
    middle = _middle(changes, errors)
    if compare_pairs(factor + middle, 1 - alpha, resamples=200).p_value < alpha:
        return nothing
    parts = nothing.copy()
    for row in range(len(differences)):
        rest = np.arange(len(differences)) != row
        middle = _middle(changes[rest], errors[rest])
        parts[row] = slopes[row] * (others[row] + middle)
    return np.where(np.isfinite(parts), parts, 0.0)


def _differences(baseline: Runs, target: Runs, interleaved: bool, metric: str) -> dict[PairKey, float]:
    """The logarithms of the ratios of the pairs; none where they are not of amounts above zero."""
    partners = samples.pairs(baseline, target, interleaved)
    if partners is None or metric not in baseline.metrics or metric not in target.metrics:
        return {}
    before, after = baseline.metrics[metric].amounts[partners[0]], target.metrics[metric].amounts[partners[1]]
    is_usable = (before > 0) & (after > 0)
    if not is_usable.any() or np.nanmin(before) == np.nanmax(before) == np.nanmin(after) == np.nanmax(after):
        return {}
    logarithms = np.log(after[is_usable]) - np.log(before[is_usable])
    keys = [key for key, usable in zip(keys_of(baseline, partners), is_usable, strict=True) if usable]
    return dict(zip(keys, logarithms.tolist(), strict=True))


def _movement(residuals: Array) -> tuple[Array, Array, Array]:
    """The factor of each pair but for its middle, its estimates from the other benchmarks, and the noise of each."""
    is_finite = np.isfinite(residuals)
    known = np.where(is_finite, residuals, 0.0)
    factor = _medians(residuals.T)
    others = np.broadcast_to(factor, residuals.shape)
    for _ in range(_ROUNDS):
        spreads = _medians(np.abs(residuals - others)) * _NORMAL
        spreads = np.maximum(spreads, max(0.5 * float(_medians(spreads[None])[0]), 1e-9))
        distances = np.abs(known - factor) / spreads[:, None]
        weights = is_finite * np.minimum(1.0, _HUBER / np.maximum(distances, 1e-9)) / spreads[:, None] ** 2
        total, sums = weights.sum(axis=0), (weights * known).sum(axis=0)
        factor = sums / total
        rest = total - weights
        others = np.where(rest > 0, (sums - weights * known) / np.maximum(rest, 1e-300), 0.0)
    return factor, others, spreads


def _slopes(residuals: Array, others: Array, spreads: Array) -> Array | None:
    """How much each benchmark has of the factor; None where they share nothing that is larger than its error."""
    limits = 3 * spreads[:, None]
    calm = np.clip(np.where(np.isfinite(residuals), residuals, others), others - limits, others + limits)
    powers = (others**2).sum(axis=1) / spreads**2
    products = (calm * others).sum(axis=1) / spreads**2
    if products.sum() <= _SURE * math.sqrt(2 * powers.sum()):
        return None
    common = min(products.sum() / powers.sum(), 1.0)
    prior = 1 / _SHARES**2
    slopes: Array = np.clip((products + prior * common) / (powers + prior), 0.0, 3.0)
    return slopes


def _medians(rows: Array) -> Array:
    """The medians of rows without their NaNs, as NumPy's, which import masked arrays; NaN of a row of nothing else."""
    ordered = np.sort(rows, axis=1)  # with NaNs last
    counts = (~np.isnan(rows)).sum(axis=1)
    which = np.arange(len(rows))
    medians: Array = (ordered[which, (counts - 1).clip(min=0) // 2] + ordered[which, counts // 2]) / 2
    return medians


def _middle(changes: Array, errors: Array) -> float:
    """The change of those benchmarks that did not change by themselves."""
    middle = float(_medians(changes[None])[0])
    for _ in range(_ROUNDS):
        distances = (changes - middle) / (_BIWEIGHT * errors)
        weights = np.where(np.abs(distances) < 1, (1 - distances**2) ** 2, 0.0) / errors**2
        if weights.sum() > 0:
            middle = float((weights * changes).sum() / weights.sum())
    return middle
