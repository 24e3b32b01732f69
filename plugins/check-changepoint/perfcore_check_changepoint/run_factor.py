"""The part of a suite's noise that all benchmarks of a process share.

The benchmarks of a suite are measured in one process for each run, and other work on the machine makes a process slow
as a whole. In every version, run by run,

    log amount = level of the version + share * factor of the run + noise,

where the level is the median of the version's runs. So no change between versions is in the factor, neither of one
benchmark nor of all: they are in the levels. The factor of a run is a mean over the *other* benchmarks in which
outlying ones count little (Huber, 1964), and the share is the slope of a benchmark's residuals over it. The slope is
less than 1 by as much as the factor is noise of those few that it was estimated from, and 0 where nothing is shared:
then the amounts stay as they are.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from perfcore.model.record import replace
from perfcore_check_changepoint import machine
from perfcore_check_changepoint.partition import Floats
from perfcore_check_changepoint.runs import Indexes

if TYPE_CHECKING:
    from perfcore.model import Series

_ROUNDS = 2  # of factor and noise in turn; a third one moves the factor by less than a tenth of its error
_SURE = 2.0  # standard errors of a slope: without a shared factor, 2.3 % of benchmarks exceed it
_LARGEST_SHARE = 3.0  # as of the machine in a version
_FEWEST = 10  # runs beyond the medians of their versions: fewer do not tell a slope


def without(many: Sequence[Series]) -> list[Series]:
    """The series without what the benchmarks of a suite share in each run; other series as they are."""
    suites: dict[str, list[_Benchmark]] = {}
    for index, series in enumerate(many):
        if series.resource:
            benchmark = _Benchmark.of(index, series)
            if (benchmark.amounts > 0).all():
                suites.setdefault(series.config_id, []).append(benchmark)
    adjusted = list(many)
    for suite in suites.values():
        if len(suite) >= machine.FEWEST:
            for benchmark, series in zip(suite, _of_suite(suite), strict=True):
                adjusted[benchmark.index] = series
    return adjusted


class _Benchmark(msgspec.Struct, frozen=True, eq=False):
    """A series, its place among others, and its runs: all of them one after the other, and how many each version
    has."""

    index: int
    series: Series
    amounts: Floats
    counts: Indexes

    @classmethod
    def of(cls, index: int, series: Series) -> _Benchmark:
        counts = np.fromiter(map(len, series.values), dtype=np.int64, count=len(series.values))
        amounts = itertools.chain.from_iterable(series.values)
        return cls(index, series, np.fromiter(amounts, dtype=float, count=int(counts.sum())), counts)


def _of_suite(suite: Sequence[_Benchmark]) -> list[Series]:
    counts = suite[0].counts
    if any(not np.array_equal(member.counts, counts) for member in suite):
        columns = zip(*(member.counts.tolist() for member in suite), strict=True)
        counts = np.array(list(map(_usual, columns)))
    if counts.sum() - np.count_nonzero(counts) < _FEWEST:
        return [member.series for member in suite]
    residuals = np.array([_residuals(member, counts) for member in suite])
    shared = shared_parts(residuals)
    return [
        replace(member.series, values=_values_without(member, parts, counts)) if parts.any() else member.series
        for member, parts in zip(suite, shared, strict=True)
    ]


def _values_without(benchmark: _Benchmark, parts: Floats, counts: Indexes) -> tuple[tuple[float, ...], ...]:
    """The runs without their parts; those of a version with another number of runs as they are. All at once, as a call
    of NumPy for each version takes longer."""
    usual = benchmark.counts == counts
    adjusted = benchmark.amounts.copy()
    adjusted[np.repeat(usual, benchmark.counts)] *= np.exp(-parts[np.repeat(usual, counts)])
    runs, bounds = adjusted.tolist(), itertools.pairwise(_starts(benchmark.counts).tolist())
    return tuple(tuple(runs[start:end]) for start, end in bounds)


def shared_parts(residuals: Floats) -> Floats:
    """What each series (row) has of the factors of the runs (columns): logarithms, 0 where it has nothing of them."""
    measured = np.isfinite(residuals)
    spreads = machine.noise_of(residuals)
    for _ in range(_ROUNDS):
        factor, others = machine.shared_factor(residuals, np.ones(len(residuals)), spreads)
        spreads = machine.noise_of(residuals - factor)
    limits = machine.STRAY * spreads[:, None]
    calm = np.where(measured, np.clip(residuals, others - limits, others + limits), 0.0)
    others = np.where(measured, others, 0.0)
    counts = np.maximum(measured.sum(axis=1), 1)
    power = np.maximum((others**2).sum(axis=1), 1e-300)
    slopes = np.clip((calm * others).sum(axis=1) / power, 0.0, _LARGEST_SHARE)
    errors = np.sqrt(((calm - slopes[:, None] * others) ** 2).sum(axis=1) / counts / power)
    parts: Floats = np.where(slopes > _SURE * errors, slopes, 0.0)[:, None] * others
    return parts


def _starts(counts: Indexes) -> Indexes:
    """Where the runs of each version begin, and where the last ones end."""
    return np.concatenate([[0], counts.cumsum()])


def _usual(counts: Sequence[int]) -> int:
    """How many runs most benchmarks have in a version. Runs are told by their order only, so that a benchmark with
    another number of them has no part in that version."""
    ((count, _),) = Counter(filter(None, counts)).most_common(1) or [(0, 0)]
    return count


def _residuals(benchmark: _Benchmark, counts: Indexes) -> Floats:
    """The logarithms of the runs beside the median of their version."""
    residuals, logarithms = np.full(counts.sum(), np.nan), np.log(benchmark.amounts)
    starts, own_starts = _starts(counts), _starts(benchmark.counts)
    # Versions with as many runs at once: a call of NumPy for each takes longer.
    for count in set(counts.tolist()) - {0, 1}:
        versions = np.flatnonzero((counts == count) & (benchmark.counts == count))
        within = np.arange(count)
        runs = logarithms[own_starts[versions][:, None] + within]
        ordered = np.sort(runs, axis=1)
        medians = (ordered[:, (count - 1) // 2] + ordered[:, count // 2]) / 2
        residuals[starts[versions][:, None] + within] = runs - medians[:, None]
    return residuals
