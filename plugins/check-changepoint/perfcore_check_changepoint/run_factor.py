"""The part of a suite's noise that all benchmarks of a process share.

The benchmarks of a suite are measured in one process for each run, and other work on the machine makes a process slow
as a whole. In every version, run by run,

    log amount = level of the version + share * factor of the run + noise,

where the level is the median of the version's runs, or of those of a session where several measured the version. So no
change between versions is in the factor, neither of one benchmark nor of all, and nothing of what sessions differ by:
they are in the levels. The factor of a run is a mean over the *other* benchmarks in which outlying ones count little
(Huber, 1964), and the share is the slope of a benchmark's residuals over it. The slope is less than 1 by as much as the
factor is noise of those few that it was estimated from, and 0 where nothing is shared: then the amounts stay as they
are.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, TypeAlias

import msgspec
import numpy as np

from perfcore.model.record import replace
from perfcore_check_changepoint import machine
from perfcore_check_changepoint.partition import Floats
from perfcore_check_changepoint.runs import Indexes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from perfcore.model import Series

_Parts: TypeAlias = tuple[int, ...]

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
    """A series, its place among others, and its runs, all of them one after the other. `parts` are how many runs each
    session has of a version that several measured, or else the version has. `starts` are where the runs of each version
    begin, and where the last ones end."""

    index: int
    series: Series
    amounts: Floats
    parts: tuple[_Parts, ...]
    starts: Indexes

    @classmethod
    def of(cls, index: int, series: Series) -> _Benchmark:
        known = len(series.sessions) == len(series.values)
        sessions = series.sessions if known else ((),) * len(series.values)
        parts = tuple(map(_parts, series.values, sessions))
        amounts = np.fromiter(itertools.chain.from_iterable(series.values), dtype=float)
        return cls(index, series, amounts, parts, _starts(map(len, series.values)))


def _parts(runs: Sequence[float], sessions: Sequence[tuple[str, int]]) -> _Parts:
    if len(sessions) > 1:
        counts = tuple([count for _, count in sessions])
        if min(counts) > 1 and sum(counts) == len(runs):
            return counts
    return (len(runs),) if runs else ()


class _Layout(msgspec.Struct, frozen=True, eq=False):
    """How the runs of most benchmarks of a suite are divided: `parts` by version, where the runs of each begin
    (`starts`), `counts` those of each part, and `version` the one that it is of."""

    parts: tuple[_Parts, ...]
    starts: Indexes
    counts: Indexes
    version: Indexes

    @classmethod
    def of(cls, suite: Sequence[_Benchmark]) -> _Layout:
        parts = suite[0].parts
        if any(member.parts != parts for member in suite):
            parts = tuple(map(_usual, zip(*(member.parts for member in suite), strict=True)))
        counts = np.array(list(itertools.chain.from_iterable(parts)), dtype=np.int64)
        version = np.repeat(np.arange(len(parts)), list(map(len, parts)))
        return cls(parts, _starts(map(sum, parts)), counts, version)

    def is_of(self, benchmark: _Benchmark) -> NDArray[np.bool_]:
        """The versions in which a benchmark has these parts. Runs are told by their order only, so that it has no part
        in others."""
        if benchmark.parts == self.parts:  # as nearly always
            return np.ones(len(self.parts), dtype=bool)
        return np.array([own == usual for own, usual in zip(benchmark.parts, self.parts, strict=True)], dtype=bool)


def _of_suite(suite: Sequence[_Benchmark]) -> list[Series]:
    layout = _Layout.of(suite)
    if layout.counts.sum() - len(layout.counts) < _FEWEST:
        return [member.series for member in suite]
    residuals = np.array([_residuals(member, layout) for member in suite])
    shared = shared_parts(residuals)
    return [
        replace(member.series, values=_values_without(member, parts, layout)) if parts.any() else member.series
        for member, parts in zip(suite, shared, strict=True)
    ]


def _values_without(benchmark: _Benchmark, shared: Floats, layout: _Layout) -> tuple[tuple[float, ...], ...]:
    """The runs without what they share; those of a version with other parts as they are. All at once, as a call of
    NumPy for each version takes longer."""
    usual = layout.is_of(benchmark)
    adjusted = benchmark.amounts.copy()
    adjusted[np.repeat(usual, np.diff(benchmark.starts))] *= np.exp(-shared[np.repeat(usual, np.diff(layout.starts))])
    runs, bounds = adjusted.tolist(), itertools.pairwise(benchmark.starts.tolist())
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


def _starts(counts: Iterable[int]) -> Indexes:
    """Where the runs of each version begin if it has so many, and where the last ones end."""
    return np.array([0, *itertools.accumulate(counts)], dtype=np.int64)


def _usual(parts: Sequence[_Parts]) -> _Parts:
    """Those that most benchmarks have in a version."""
    ((most, _),) = Counter(filter(None, parts)).most_common(1) or [((), 0)]
    return most


def _residuals(benchmark: _Benchmark, layout: _Layout) -> Floats:
    """The logarithms of the runs beside the median of their part."""
    residuals, logarithms = np.full(layout.counts.sum(), np.nan), np.log(benchmark.amounts)
    starts = layout.counts.cumsum() - layout.counts
    own_starts = starts + (benchmark.starts - layout.starts)[layout.version]
    usual = layout.is_of(benchmark)[layout.version]
    # Parts with as many runs at once: a call of NumPy for each takes longer.
    for count in set(layout.counts.tolist()) - {1}:
        chosen = np.flatnonzero((layout.counts == count) & usual)
        within = np.arange(count)
        runs = logarithms[own_starts[chosen][:, None] + within]
        ordered = np.sort(runs, axis=1)
        medians = (ordered[:, (count - 1) // 2] + ordered[:, count // 2]) / 2
        residuals[starts[chosen][:, None] + within] = runs - medians[:, None]
    return residuals
