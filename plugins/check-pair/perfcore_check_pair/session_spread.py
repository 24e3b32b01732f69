"""How much sessions of one machine differ, estimated from the history of a configuration.

All runs of a session share a state of the machine: its clock rate, its neighbours, the layout of its memory. No test on
runs sees that, since all runs of one side may share one session. So the logarithm of an amount is taken as the level of
the code, plus the offset of its session with a standard deviation `sigma`, plus the noise of the run.

The differences that tell sigma are those of one version between its sessions, and those of neighbouring versions that
share no session. A code change makes a few of the latter large: one in fifty may be wider by 20 % (a contaminated
normal distribution: J. W. Tukey, A survey of sampling from contaminated distributions, 1960). The posterior of sigma
over a grid begins with a prior: two sessions differ by less than the setting `session_drift` in 95 % of cases, or than
two runs of one session do, if these differ by more: what makes runs differ on a busy machine outlasts a session.
"""

from __future__ import annotations

import functools
import math
from itertools import accumulate, chain, pairwise
from statistics import NormalDist, median
from typing import TYPE_CHECKING, TypeAlias

import msgspec
import numpy as np
from msgspec.structs import replace
from perfcore_check_kit import machine_speed

from perfcore.named_tuple import NamedTuple
from perfcore_check_pair.inference import midmean, midmeans

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from perfcore.model import Series

Array: TypeAlias = "NDArray[np.float64]"
Shares: TypeAlias = "Mapping[object, float]"
Sessions: TypeAlias = frozenset[object]

# 0.01 % is less than any machine varies by; 64 values are 14 % apart, a third of what 30 differences tell apart.
_SIGMAS = np.geomspace(1e-4, 0.5, 64)
# The logarithm of sigma has this standard deviation in the prior: two thirds of machines are within a factor of 3.
# With 0.7, intervals of 1 % offsets held the truth in 99 % of comparisons (benchmarks/across_sessions.py).
_PRIOR_SPREAD = 1.0
# The share of neighbouring versions that a code change separates, and how large it is. With 0.1, large offsets pass for
# code changes: at 8 %, intervals from 32 sessions held the truth in 92 %, with 0.02 in 94 to 95 %.
_CHANGED, _CHANGE = 0.02, 0.2
# Neighbouring differences share a session, so that n of them tell as much as 2n/3 independent ones (J. von Neumann and
# others, The mean square successive difference, 1941).
_INDEPENDENT = 2 / 3
# The variance of a midmean of n normal values is 1.19 times that of their mean.
_MIDMEAN = 1.19
_MAD = 1.4826  # standard deviations of a normal distribution in a median absolute deviation
_TWO_RUNS = 1.96 * math.sqrt(2)  # standard deviations by which two runs differ in 95 % of cases
_MOST_APART = 1.0  # of logarithms: beyond, sigma would be above the grid in more than one of twenty cases
_HALVINGS = 50  # of a bracket, after which a prior is exact to 15 digits
_STEPS = 60  # of Newton's method at most; some six are taken
_EXACT = 1e-14  # share of a bound by which its last step moves it
_SLOPE = 2 / math.sqrt(math.pi)  # of erfc at 0
# Where most runs wait for a CPU, it shares its core with others, and may be slower for minutes: on 2 virtual CPUs at a
# load of 11 to 16, 35 sessions of programs of 17 and 40 ms took up to 1.6 and 1.9 times the least CPU time, with
# standard deviations of 0.165 and 0.213 of the logarithm, some of them with runs that agreed within 5 %. 0.6 stands for
# 0.17.
BUSY_DRIFT = 0.6
_BUSY_SHARE = 0.5  # of the runs disturbed
# Differences from which on the history says more than the prior: their standard deviation is known to within 40 %.
FEW = 4


class Difference(msgspec.Struct, frozen=True):
    """The logarithm of a ratio of two measurements that share no session. Its variance is `sessions` times that of a
    session's offset, plus `noise` of the runs. `pair` are their sessions, and `same_code` those of one version."""

    size: float
    sessions: float
    noise: float
    pair: tuple[Sessions, Sessions]
    same_code: bool


class SessionSpread(msgspec.Struct, frozen=True, eq=False):
    """The posterior of sigma: the weight of each value of the grid. `differences` told it, of so many `sessions`."""

    weights: Array
    sessions: int = 0
    differences: int = 0

    @property
    def sigma(self) -> float:
        """Its median."""
        return float(_SIGMAS[min(int(np.searchsorted(self.weights.cumsum(), 0.5)), len(_SIGMAS) - 1)])

    def half_width(self, sessions: float, noise: float, confidence: float) -> float:
        """Within this of the estimate the truth lies with this confidence; `sessions` is how often the variance of a
        session's offset is in the estimate, `noise` the variance of the runs."""
        deviations = self._deviations(sessions, noise)
        # The tail is convex above 0, so that from a size below the root each step of Newton's method ends below it,
        # and nearer: quadratically, where halving a bracket takes fifty steps for the same digits. The size of the mean
        # variance is near the root; where it is beyond, the first step leads below the root, or to 0 at least.
        mean = math.sqrt(float(self.weights @ deviations**2) / 2)
        size = mean * NormalDist().inv_cdf((1 + confidence) / 2)
        for _ in range(_STEPS):
            density = float(self.weights @ (np.exp(-((size / deviations) ** 2)) / deviations)) * _SLOPE
            step = (self._tail(size, deviations) - (1 - confidence)) / density if density else -size
            step = max(step, -size)
            size += step
            if abs(step) <= _EXACT * size:
                break
        return size

    def tail(self, size: float, sessions: float, noise: float) -> float:
        """The chance of a difference of this size or more, in either direction, if the code is the same."""
        return min(self._tail(abs(size), self._deviations(sessions, noise)), 1.0)  # weights may sum to a little more

    def _tail(self, size: float, deviations: Array) -> float:
        return float(self.weights @ np.array([math.erfc(scaled) for scaled in (size / deviations).tolist()]))

    @staticmethod
    def _deviations(sessions: float, noise: float) -> Array:
        deviations: Array = np.sqrt(2 * (sessions * _SIGMAS**2 + noise))
        return deviations


def assumed_drift(measurements: Iterable[Sequence[float]], session_drift: float) -> float:
    """How much two sessions are taken to differ, as a share, where the runs of measurements have these amounts (above
    0): by `session_drift`, or by as much as two runs of one measurement do, if that is more."""
    if session_drift == 0:
        return 0.0
    # Most measurements have as many runs as others, so that NumPy takes a few steps for all of them.
    by_count: dict[int, list[Sequence[float]]] = {}
    for runs in measurements:
        by_count.setdefault(len(runs), []).append(runs)
    alike = [_absolute_deviations(np.log(np.array(group))) for count, group in by_count.items() if count > 1]
    deviations = _MAD * np.concatenate([np.zeros(0), *alike])
    apart = _TWO_RUNS * math.hypot(*deviations.tolist()) / math.sqrt(max(1, len(deviations)))
    return max(session_drift, round(math.expm1(min(apart, _MOST_APART)), 2))


def busy_variance(disturbed: Iterable[float], slowness: Iterable[float]) -> float:
    """What a busy machine adds to the variance of a difference of logarithms of time. Of each side counts the share of
    the runs that it disturbed: as if two busy sessions differed by less than `BUSY_DRIFT` in 95 % of cases; or the
    logarithm by which it was slower than it can be, if that is more."""
    waited = math.log1p(BUSY_DRIFT) / _TWO_RUNS
    deviations = [
        max(waited * (share >= _BUSY_SHARE), slow * (slow >= machine_speed.SLOW))
        for share, slow in zip(disturbed, slowness, strict=True)
    ]
    return sum(deviation**2 for deviation in deviations)


def _absolute_deviations(rows: Array) -> Array:
    """The median absolute deviation of each row."""
    return _medians(np.abs(rows - _medians(rows)[:, None]))


def _medians(rows: Array) -> Array:
    ordered, half = np.sort(rows, axis=1), rows.shape[1] // 2
    medians: Array = (ordered[:, half] + ordered[:, (rows.shape[1] - 1) // 2]) / 2
    return medians


def estimate(differences: Sequence[Difference], session_drift: float) -> SessionSpread:
    """What these differences tell of sigma, with a prior by which two sessions differ by up to `session_drift`."""
    prior = _prior(session_drift)
    joint = list(_joined(differences))
    sessions = {session for difference in joint for side in difference.pair for session in side}
    if not joint:
        return SessionSpread(prior)
    sizes, counts, noises = (
        np.array([getattr(difference, name) for difference in joint]) for name in ("size", "sessions", "noise")
    )
    changed = np.array([0.0 if difference.same_code else _CHANGED for difference in joint])
    variances = counts * _SIGMAS[:, None] ** 2 + noises
    likelihoods = np.log(
        (1 - changed) * _density(sizes, variances) + changed * _density(sizes, variances + _CHANGE**2) + 1e-300
    )
    independent = min(_INDEPENDENT * len(joint), len(sessions) - 1) if len(joint) > 1 else 1
    logarithms = np.log(prior + 1e-300) + independent / len(joint) * likelihoods.sum(axis=1)
    weights = np.exp(logarithms - logarithms.max())
    return SessionSpread(weights / weights.sum(), len(sessions), len(joint))


def differences(series: Series, environment: str, target: str | None) -> Iterator[Difference]:
    """The differences between sessions of a series in one environment. The target of a comparison is compared with no
    neighbour: what is to be explained is no evidence."""
    positions = [
        position
        for position, own in enumerate(series.environments)
        if environment in ("", own) and min(series.values[position], default=0) > 0
    ]
    amounts = _logarithms([series.values[position] for position in positions])
    levels = _of_each(midmeans, amounts)
    measured = [
        _Measured(series.versions[position], _by_session(series, position, runs), len(runs), level)
        for position, runs, level in zip(positions, amounts, levels, strict=True)
    ]
    if any(len(version.sessions) > 1 for version in measured):
        noise = _noise([runs for version in measured for runs in version.sessions.values()])
    else:  # as nearly always
        noise = _noise(amounts)
    for version in measured:
        if len(version.sessions) > 1:
            parts = [
                _Measured(version.version, {name: runs}, len(runs), midmean(runs))
                for name, runs in version.sessions.items()
            ]
            yield from (_difference(*pair, noise, same_code=True) for pair in pairwise(parts))
    for before, after in pairwise(measured):
        if target not in (before.version, after.version) and before.sessions.keys().isdisjoint(after.sessions):
            yield _difference(before, after, noise, same_code=False)


def shares(sessions: Sequence[object]) -> dict[object, float]:
    """The part of the runs that each session has."""
    return {session: sessions.count(session) / len(sessions) for session in dict.fromkeys(sessions)}


def variance_of_sessions(baseline: Shares, target: Shares) -> float:
    """How often the variance of a session's offset is in the difference of two measurements: 2 where each has a session
    of its own, 0 where they share theirs."""
    names = {**baseline, **target}
    return sum((target.get(name, 0.0) - baseline.get(name, 0.0)) ** 2 for name in names)


class _Measured(NamedTuple):
    """A version, or what one session measured of it: the logarithms of its runs by session, how many these
    are, and their midmean."""

    version: str
    sessions: Mapping[object, Array]
    size: int
    level: float


def _logarithms(values: Sequence[Sequence[float]]) -> Sequence[Array] | Array:
    """Those of each measurement, as rows where all have as many runs."""
    lengths = list(map(len, values))
    every = np.log(np.fromiter(chain.from_iterable(values), dtype=np.float64, count=sum(lengths)))
    if lengths and lengths.count(lengths[0]) == len(lengths):
        return every.reshape(len(lengths), -1)
    ends = list(accumulate(lengths, initial=0))
    return [every[start:end] for start, end in pairwise(ends)]


def _of_each(of_rows: Callable[[Array], Array], measurements: Sequence[Array] | Array) -> list[float]:
    """A figure of each measurement. Most have as many runs as others, so that NumPy takes a few steps for all."""
    if isinstance(measurements, np.ndarray):
        listed: list[float] = of_rows(measurements).tolist()
        return listed
    by_count: dict[int, list[int]] = {}
    for index, runs in enumerate(measurements):
        by_count.setdefault(len(runs), []).append(index)
    figures = [0.0] * len(measurements)
    for indexes in by_count.values():
        rows = np.array([measurements[index] for index in indexes])
        for index, figure in zip(indexes, of_rows(rows).tolist(), strict=True):
            figures[index] = figure
    return figures


def _by_session(series: Series, position: int, amounts: Array) -> Mapping[object, Array]:
    """The runs of a version by session. Those of no known session share one of their own."""
    sessions = series.sessions[position] if series.sessions else ()
    if len(sessions) == 1 and sessions[0][1] == len(amounts):  # as nearly always
        return {sessions[0][0] or position: amounts}
    if sum(count for _, count in sessions) != len(amounts):
        return {position: amounts}
    names = [name or position for name, count in sessions for _ in range(count)]
    return {name: amounts[[other == name for other in names]] for name in dict.fromkeys(names)}


def _noise(measurements: Sequence[Array] | Array) -> float:
    """The variance of a run within its session: the median of all measurements."""
    if not isinstance(measurements, np.ndarray) or measurements.shape[1] < 2:
        measurements = [runs for runs in measurements if len(runs) > 1]
    variances = _of_each(lambda rows: rows.var(axis=1, ddof=1), measurements)
    return median(variances) if variances else 0.0


def _difference(before: _Measured, after: _Measured, noise: float, *, same_code: bool) -> Difference:
    """Of two that share no session."""
    sides = before, after
    sessions = 2.0  # of one each, as nearly always
    if len(before.sessions) > 1 or len(after.sessions) > 1:
        portions = [{name: len(runs) / side.size for name, runs in side.sessions.items()} for side in sides]
        sessions = variance_of_sessions(*portions)
    return Difference(
        size=after.level - before.level,
        sessions=sessions,
        noise=noise * (_MIDMEAN / before.size + _MIDMEAN / after.size),
        pair=(frozenset(before.sessions), frozenset(after.sessions)),
        same_code=same_code,
    )


def _joined(differences: Sequence[Difference]) -> Iterator[Difference]:
    """Sessions that meet several times, as those that alternate do, tell their difference once: as the mean."""
    groups: dict[tuple[frozenset[Sessions], bool], list[Difference]] = {}
    for difference in differences:
        groups.setdefault((frozenset(difference.pair), difference.same_code), []).append(difference)
    for meetings in groups.values():
        first, count = meetings[0], len(meetings)
        if count == 1:  # as nearly always
            yield first
            continue
        sizes = [meeting.size if meeting.pair == first.pair else -meeting.size for meeting in meetings]
        noise = sum(meeting.noise for meeting in meetings) / count**2
        yield replace(first, size=sum(sizes) / count, noise=noise)


def _density(sizes: Array, variances: Array) -> Array:
    # The factor 1 / sqrt(2 pi) is the same for every sigma.
    density: Array = np.exp(-(sizes**2) / (2 * variances)) / np.sqrt(variances)
    return density


@functools.lru_cache(maxsize=8)
def _prior(session_drift: float) -> Array:
    """Log-normal weights under which two sessions differ by at most `session_drift` in 95 % of cases."""
    low, high = math.log(_SIGMAS[0] / 10), math.log(_SIGMAS[-1] * 10)
    for _ in range(_HALVINGS):
        center = (low + high) / 2
        weights = np.exp(-((np.log(_SIGMAS) - center) ** 2) / (2 * _PRIOR_SPREAD**2))
        wide = SessionSpread(weights / weights.sum()).tail(math.log1p(session_drift), 2.0, 0.0) > 0.05
        low, high = (low, center) if wide else (center, high)
    prior: Array = weights / weights.sum()
    return prior
