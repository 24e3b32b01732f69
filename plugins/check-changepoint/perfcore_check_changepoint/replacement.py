"""A machine that replaced another continues its history, where several versions were measured on both; machines that
take turns, as those of a pool do, have one history.

The factor between two is the mean ratio of the versions that both measured, or of their turns. Divided by it, the
amounts of the new machine are as those of the old one, and both are one history: the step of the machine is out of it,
and a change of the code at the same time is in it. The factor is only estimated, so its variance counts against every
change that has more of one machine before it than after it (`Doubt`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import NormalDist

import msgspec
import numpy as np
from msgspec.structs import replace

from perfcore.model import Series
from perfcore_check_changepoint import sessions, turns
from perfcore_check_changepoint.doubt import Doubt, Factors
from perfcore_check_changepoint.located import LocatedChange, MeasuredVersions
from perfcore_check_changepoint.partition import Floats
from perfcore_check_changepoint.points import ChangePoint
from perfcore_check_changepoint.runs import Indexes, Runs
from perfcore_check_changepoint.series import NORMAL, as_floats, distinct, median, medians
from perfcore_check_changepoint.sizes import student

FEWEST = 3  # versions measured on both machines: two tell hardly how much their ratios vary
_NOISE_MOVES = 3  # versions that a change of the noise may be away from the replacement that it belongs to
_CLEARLY = 3.0  # times the variance of the noise: three ratios exceed it by chance in 5 of 100 cases (F of 2, many)
_ENOUGH = 8  # versions whose differences tell the noise
_HISTORIES = 8  # that a machine may join: those of hundreds of machines would be looked at by each
_SEVERAL = 8  # ratios from which on one that is far off counts less
_FAR = 3.0  # spreads from their middle
_LEVEL = 0.95  # at which the interval of few ratios is right
_DIGITS = 9  # of the logarithm of a factor; further digits are rounding errors
_UNKNOWN = 1e6  # times its variance, a factor is as good as unknown
_MOST = 1.7e308  # below the largest float
_LARGEST = 700.0  # logarithm of a ratio: exp(709) is the largest float


class Continuation(msgspec.Struct, frozen=True, kw_only=True):
    """The machine `after` continues the history of `before` from the version at `position` on, `base` being the last
    that `before` measured; where both take turns, it is where the second of them begins. `rise` is the logarithm of its
    amounts over those of `before`, as `count` versions tell that were measured on both, or turns if `by_turns`."""

    before: str
    after: str
    base: int
    position: int
    rise: float
    variance: float
    count: int
    in_turns: bool = False
    by_turns: bool = False

    def interval(self, confidence: float) -> tuple[float, float, float]:
        """The factor with its interval."""
        half = NormalDist().inv_cdf((1 + confidence) / 2) * math.sqrt(self.variance)
        factor, low, high = (_exp(self.rise + by) for by in (0.0, -half, half))
        return factor, low, high


class Joined(msgspec.Struct, frozen=True, eq=False):
    """A series in which machines that continue others have the name of the first and amounts as it would have
    measured them. Of a version that several of them measured, the first entry has all runs, the others none."""

    series: Series
    continuations: tuple[Continuation, ...]
    environments: tuple[str, ...]
    factors: Mapping[str, float]
    doubts: Mapping[str, Doubt]
    machines: Mapping[str, Indexes]
    aligned: frozenset[str]

    def doubted(self, history: MeasuredVersions) -> MeasuredVersions:
        """The history with the machine of each run, and what is not known of the factors."""
        name = history.environment
        if name not in self.doubts:
            return history
        numbers = None if name in self.aligned else history.runs.sessions
        runs = replace(history.runs, sessions=numbers, doubt=self.doubts[name], machines=self.machines[name])
        return replace(history, runs=runs)

    def placed(self, located: LocatedChange) -> LocatedChange:
        """The change in the amounts of the machine that measured its first version."""
        environment = self.environments[located.position]
        factor = self.factors.get(environment, 1.0) if located.history in self.doubts else 1.0
        return replace(located, environment=environment, change=_times(located.change, factor))

    def is_of_machine(self, located: LocatedChange) -> bool:
        """Whether a change of the noise is where the machine was replaced: another machine has another noise."""
        if located.change.kind != "noise" or located.history not in self.doubts:
            return False
        borders = np.searchsorted(located.positions, [step.position for step in self.continuations])
        first, last = located.change.earliest - _NOISE_MOVES, located.change.latest + _NOISE_MOVES
        return bool(((first <= borders) & (borders <= last)).any())


def _times(change: ChangePoint, factor: float) -> ChangePoint:
    if factor == 1:
        return change
    amounts = {name: getattr(change, name) * factor for name in ("before", "after", "low", "high")}
    return replace(change, **amounts) if all(map(math.isfinite, amounts.values())) else change


def joined(series: Series, measured: Sequence[MeasuredVersions]) -> Joined | None:
    """The series with one history for all machines that continue one another; None where none does."""
    if len(measured) < 2:
        return None
    machines = _machines(series, measured)
    continuations = _continuations(series, machines)
    if not continuations:
        return None
    writer, factors, doubts = _Writer.of(series), dict[str, float](), dict[str, Doubt]()
    machines_of_runs, aligned = dict[str, Indexes](), set[str]()
    for chain in _chains(continuations):
        members = [machines[name] for name in (chain[0].before, *(step.after for step in chain))]
        rises = np.cumsum([0.0, *(step.rise for step in chain)])
        factors |= {member.name: _exp(rise) for member, rise in zip(members, rises.tolist(), strict=True)}
        writer.join(members, factors)
        doubts[members[0].name], machines_of_runs[members[0].name] = _doubt(members, chain), _of_runs(members)
        aligned |= {members[0].name} if any(member.doubt is not None for member in members) else set()
    return Joined(
        series=writer.written(),
        continuations=tuple(continuations),
        environments=series.environments,
        factors=factors,
        doubts=doubts,
        machines=machines_of_runs,
        aligned=frozenset(aligned),
    )


class _Machine(msgspec.Struct, frozen=True, eq=False):
    """What one machine measured, without the offsets of its sessions: `ordinals` number the versions of the series."""

    name: str
    positions: Indexes
    ordinals: Indexes
    runs: Runs
    centers: Floats
    doubt: Doubt | None


class _History(msgspec.Struct, eq=False):
    """Machines that take turns, with all amounts as the newest of them would have measured them."""

    newest: _Machine
    centers: turns.Centers
    positions: Indexes
    noises: list[float]

    @classmethod
    def of(cls, machine: _Machine) -> _History:
        noise = _noise(machine)
        centers = turns.Centers(machine.ordinals, machine.centers)
        return cls(machine, centers, machine.positions, [] if noise is None else [noise])

    def joined_by(self, other: _History) -> Continuation | None:
        """None where the two do not take turns, or with another ratio in each; else this one has the machine of the
        other, which is the newest from now on."""
        noises = self.noises + other.noises
        ratio = turns.ratio(self.centers, other.centers, sum(noises) / len(noises)) if noises else None
        if ratio is None:
            return None
        base, position = _second(self.positions, other.positions)
        step = Continuation(
            before=self.newest.name,
            after=other.newest.name,
            base=base,
            position=position,
            rise=round(ratio.rise, _DIGITS),
            variance=ratio.variance,
            count=ratio.turns,
            in_turns=True,
            by_turns=True,
        )
        positions = np.concatenate([self.positions, other.positions])
        centers = self.centers.times(step.rise).together(other.centers)
        self.newest, self.centers, self.positions, self.noises = other.newest, centers, positions, noises
        return step


def _machines(series: Series, measured: Sequence[MeasuredVersions]) -> dict[str, _Machine]:
    """The machines that are known, measured some versions, and whose amounts have ratios: those above 0."""
    numbers: dict[str, int] = {}
    ordinals = np.array([numbers.setdefault(version, len(numbers)) for version in series.versions], dtype=np.int64)
    machines = {}
    for history in measured:
        amounts = as_floats(history.runs.amounts)
        if not history.environment or len(history.positions) < FEWEST or amounts.min() <= 0:
            continue
        runs = replace(history.runs, amounts=amounts)
        aligned = sessions.align(runs, 0, by_links=False)  # links lead from one machine to another
        if aligned is not None:
            runs = aligned.runs
        machines[history.environment] = _Machine(
            name=history.environment,
            positions=history.positions,
            ordinals=ordinals[history.positions],
            runs=runs,
            centers=np.log(medians(np.asarray(runs.amounts), runs.ends[:-1], runs.points)),
            doubt=aligned.doubt if aligned is not None else None,
        )
    return machines


def _continuations(series: Series, machines: Mapping[str, _Machine]) -> list[Continuation]:
    """A machine continues that which measured until last before it, was not continued yet, and shares versions. One
    that shares too few with any joins a history with which it takes turns."""
    ends: list[_Machine] = []
    continuations: list[Continuation] = []
    is_shared = len(set(series.versions)) <= len(series.versions) - FEWEST
    by_end = sorted(machines.values(), key=lambda machine: int(machine.ordinals[-1])) if is_shared else []
    for machine in by_end:
        for candidate in reversed(ends):
            continuation = _continuation(series, candidate, machine)
            if continuation is not None:
                ends.remove(candidate)
                continuations.append(continuation)
                break
        ends.append(machine)
    alone = machines.keys() - {name for step in continuations for name in (step.before, step.after)}
    histories = [_History.of(end) for end in ends if end.name not in alone]
    for own in (_History.of(machine) for machine in machines.values() if machine.name in alone):
        for history in reversed(histories[-_HISTORIES:]):
            step = history.joined_by(own)
            if step is not None:
                continuations.append(step)
                break
        else:
            histories.append(own)
    return continuations


def _continuation(series: Series, before: _Machine, after: _Machine) -> Continuation | None:
    """None where too few versions were measured on both, or one of the two measured all that the other did."""
    _, old, new = np.intersect1d(before.ordinals, after.ordinals, assume_unique=True, return_indices=True)
    first = int(np.searchsorted(after.ordinals, before.ordinals[-1], side="right"))
    if len(old) < FEWEST or len(old) == len(before.ordinals) or first == len(after.ordinals):
        return None
    rises = _without_outliers(after.centers[new] - before.centers[old])
    shared = (before, before.positions[old]), (after, after.positions[new])
    independent = min(_independent(series, machine.positions, positions.tolist()) for machine, positions in shared)
    base, position = int(before.positions[-1]), int(after.positions[first])
    in_turns = first - len(old) >= FEWEST
    if in_turns:
        base, position = _second(before.positions, after.positions)
    return Continuation(
        before=before.name,
        after=after.name,
        base=base,
        position=position,
        rise=round(float(rises.mean()), _DIGITS),
        variance=_variance(rises, (_noise(before) or 0.0) + (_noise(after) or 0.0)) / independent,
        count=len(rises),
        in_turns=in_turns,
    )


def _second(one: Indexes, other: Indexes) -> tuple[int, int]:
    """Where the second of two machines begins, and the place before it."""
    positions = np.sort(np.concatenate([one, other]))
    first = int(np.searchsorted(positions, max(one.min(), other.min())))
    return int(positions[first - 1]), int(positions[first])


def _variance(rises: Floats, noise: float) -> float:
    """That of one ratio. Few tell little of how they vary, so it is at least what the `noise` of both histories makes
    it; if they clearly vary by more, it is as large as that of a normal estimate with the interval of Student's."""
    own = float(rises.var(ddof=1))
    if own <= _CLEARLY * noise:
        return max(own, noise)
    return own * (student(_LEVEL, len(rises) - 1) / NormalDist().inv_cdf((1 + _LEVEL) / 2)) ** 2


def _noise(machine: _Machine) -> float | None:
    """The variance of a version, from differences of neighbours; None where too few were measured to tell."""
    if len(machine.centers) < _ENOUGH:
        return None
    return (NORMAL * median(np.abs(np.diff(machine.centers)))) ** 2 / 2


def _without_outliers(rises: Floats) -> Floats:
    """One disturbed version of several does not decide."""
    if len(rises) < _SEVERAL:
        return rises
    middle = median(rises)
    reach = _FAR * NORMAL * median(np.abs(rises - middle))
    bounded: Floats = np.clip(rises, middle - reach, middle + reach)
    return bounded


def _independent(series: Series, positions: Indexes, shared: Sequence[int]) -> int:
    """How many times the machine's state was another for the shared versions. All versions of a session have its
    offset; if it measured nothing else, it is in the factor and in nothing that the factor is used for."""
    if len(series.sessions) != len(series.versions):
        return len(shared)
    names = {position: [name for name, _ in series.sessions[position] if name] for position in positions.tolist()}
    elsewhere = {name for position in set(names).difference(shared) for name in names[position]}
    states = {
        names[position][0] if names[position] and elsewhere.isdisjoint(names[position]) else position
        for position in shared
    }
    return len(states)


def _chains(continuations: Sequence[Continuation]) -> list[list[Continuation]]:
    """The continuations of each history in their order."""
    chains: dict[str, list[Continuation]] = {}  # by the machine that each ends with
    for step in continuations:
        chains[step.after] = [*chains.pop(step.before, []), step]
    return list(chains.values())


class _Writer(msgspec.Struct, frozen=True, eq=False):
    """The entries of a series, changed in place."""

    series: Series
    environments: list[str]
    values: list[tuple[float, ...]]
    sessions: list[tuple[tuple[str, int], ...]]

    @classmethod
    def of(cls, series: Series) -> _Writer:
        return cls(series, list(series.environments), list(series.values), list(series.sessions))

    def join(self, members: Sequence[_Machine], factors: Mapping[str, float]) -> None:
        entries: dict[int, int] = {}
        for member in members:
            for position, ordinal in zip(member.positions.tolist(), member.ordinals.tolist(), strict=True):
                entries[ordinal] = min(position, entries.get(ordinal, position))
                self.environments[position], self.values[position] = members[0].name, ()
                if self.sessions:
                    self.sessions[position] = ()
        for member in members:
            factor = factors[member.name]
            near = np.minimum(np.asarray(member.runs.amounts), _MOST * min(factor, 1.0))  # so that all stay finite
            amounts = np.split(near / factor, member.runs.ends[1:-1])
            for position, ordinal, runs in zip(
                member.positions.tolist(), member.ordinals.tolist(), amounts, strict=True
            ):
                entry = entries[ordinal]
                self.values[entry] += tuple(runs.tolist())
                if self.sessions:
                    self.sessions[entry] += self.series.sessions[position]

    def written(self) -> Series:
        return replace(
            self.series,
            environments=tuple(self.environments),
            values=tuple(self.values),
            sessions=tuple(self.sessions),
        )


def _of_runs(members: Sequence[_Machine]) -> Indexes:
    """The number of the machine of each run of a joined history."""
    versions = np.concatenate([member.ordinals[member.runs.points] for member in members])
    numbers = np.repeat(np.arange(len(members)), [len(member.runs.amounts) for member in members])
    return numbers[versions.argsort(kind="stable")]


def _doubt(members: Sequence[_Machine], chain: Sequence[Continuation]) -> Doubt:
    """What is not known of the points of a joined history. The factor of a machine is the product of all factors before
    it, so two machines have in common what is not known of the first of them. A version that several measured tells a
    factor; as a point, it is the old machine's then, or it is the new one's and the factor is unknown. All of those
    together tell the level no better than the factor."""
    variances = np.cumsum([0.0, *(step.variance for step in chain)])
    of_one = np.array([step.variance * step.count for step in chain])
    ordinals = distinct(np.concatenate([member.ordinals for member in members]))
    rows = [np.searchsorted(ordinals, member.ordinals) for member in members]
    counts = np.zeros((len(ordinals), len(members)))
    for number, (member, row) in enumerate(zip(members, rows, strict=True)):
        counts[row, number] = member.runs.counts
    share, covariance = counts / counts.sum(axis=1, keepdims=True), np.minimum.outer(variances, variances)
    of_sessions = []
    for number, (member, row) in enumerate(zip(members, rows, strict=True)):
        if member.doubt is not None:
            columns = np.zeros((len(ordinals), member.doubt.factors.share.shape[1]))
            columns[row] = member.doubt.factors.share * share[row, number, None]
            of_sessions.append(Factors(columns, member.doubt.factors.covariance))
    one = np.eye(len(members))
    old, new = one[(counts > 0).argmax(axis=1)], one[len(members) - 1 - (counts[:, ::-1] > 0).argmax(axis=1)]
    several = (counts > 0)[:, 1:] & (counts > 0)[:, :-1]
    machines = (
        Factors(share, covariance),
        Factors(old, covariance),
        Factors(new, covariance * _UNKNOWN, several @ of_one),
    )
    whole, *views = (Factors.together([factors, *of_sessions]) for factors in machines)
    return Doubt(whole, tuple(views))


def _exp(logarithm: float) -> float:
    return math.exp(max(-_LARGEST, min(logarithm, _LARGEST)))
