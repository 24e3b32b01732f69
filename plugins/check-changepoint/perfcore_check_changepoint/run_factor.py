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

import attrs
import numpy as np

from perfcore_check_changepoint import machine
from perfcore_check_changepoint.partition import Floats

if TYPE_CHECKING:
    from perfcore.model import Series

_ROUNDS = 2  # of factor and noise in turn; a third one moves the factor by less than a tenth of its error
_SURE = 2.0  # standard errors of a slope: without a shared factor, 2.3 % of benchmarks exceed it
_LARGEST_SHARE = 3.0  # as of the machine in a version
_FEWEST = 10  # runs beyond the medians of their versions: fewer do not tell a slope


def without(many: Sequence[Series]) -> list[Series]:
    """The series without what the benchmarks of a suite share in each run; other series as they are."""
    suites: dict[str, list[int]] = {}
    for index, series in enumerate(many):
        if series.resource and all(run > 0 for runs in series.values for run in runs):
            suites.setdefault(series.config_id, []).append(index)
    adjusted = list(many)
    for indexes in suites.values():
        if len(indexes) >= machine.FEWEST:
            for index, series in zip(indexes, _of_suite([many[index] for index in indexes]), strict=True):
                adjusted[index] = series
    return adjusted


def _of_suite(suite: Sequence[Series]) -> list[Series]:
    counts = [_usual(list(map(len, column))) for column in zip(*(series.values for series in suite), strict=True)]
    if sum(counts) - sum(map(bool, counts)) < _FEWEST:
        return list(suite)
    residuals = np.array([_residuals(series, counts) for series in suite])
    shared = shared_parts(residuals)
    return [
        attrs.evolve(series, values=_values_without(series, parts, counts)) if parts.any() else series
        for series, parts in zip(suite, shared, strict=True)
    ]


def _values_without(series: Series, parts: Floats, counts: Sequence[int]) -> tuple[tuple[float, ...], ...]:
    """The runs without their parts; those of a version with another number of runs as they are. All at once, as a call
    of NumPy for each version takes longer."""
    bounds = list(itertools.accumulate(counts, initial=0))
    usual = [len(runs) == count for runs, count in zip(series.values, counts, strict=True)]
    amounts = itertools.chain.from_iterable(
        runs if is_usual else (0.0,) * count for runs, count, is_usual in zip(series.values, counts, usual, strict=True)
    )
    adjusted = (np.fromiter(amounts, dtype=float, count=bounds[-1]) * np.exp(-parts)).tolist()
    spans = zip(series.values, usual, itertools.pairwise(bounds), strict=True)
    return tuple(tuple(adjusted[start:end]) if is_usual else runs for runs, is_usual, (start, end) in spans)


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


def _usual(counts: Sequence[int]) -> int:
    """How many runs most benchmarks have in a version. Runs are told by their order only, so that a benchmark with
    another number of them has no part in that version."""
    ((count, _),) = Counter(filter(None, counts)).most_common(1) or [(0, 0)]
    return count


def _residuals(series: Series, counts: Sequence[int]) -> Floats:
    """The logarithms of the runs beside the median of their version."""
    residuals = np.full(sum(counts), np.nan)
    starts = list(itertools.accumulate(counts, initial=0))
    for count in set(counts) - {0, 1}:  # versions with as many runs at once: a call of NumPy for each takes longer
        versions = [at for at, runs in enumerate(series.values) if counts[at] == count == len(runs)]
        if versions:
            logarithms = np.log([series.values[at] for at in versions])
            columns = np.array([starts[at] for at in versions])[:, None] + np.arange(count)
            residuals[columns] = logarithms - np.median(logarithms, axis=1, keepdims=True)
    return residuals
