"""Offsets of the machine between sessions, separated from changes of the code where sessions are interleaved.

All that was measured in one session shares a state of the machine, so every session has an offset. Where sessions take
turns along a history, or share versions, they meet again and again, and each time the versions on both sides say by how
much the two differ. At a few meetings the code changed as well: these are far off, and count for little (Huber, 1964,
Annals of Mathematical Statistics 35(1)). The offsets are what fits all meetings best.

Two sessions that meet once, as those of two days do, are not aligned: one meeting cannot separate the machine from the
code. Many sessions of which each shares a version with the next are `linked_sessions`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import msgspec
import numpy as np
from msgspec.structs import replace

from perfcore.model import Series
from perfcore_check_changepoint import linked_sessions
from perfcore_check_changepoint.doubt import Doubt, Factors
from perfcore_check_changepoint.linked_sessions import Links, Prediction
from perfcore_check_changepoint.partition import Floats
from perfcore_check_changepoint.runs import Indexes, Runs
from perfcore_check_changepoint.series import NORMAL, distinct, median
from perfcore_check_changepoint.sparse import Sparse, normal, ridge

_MEETINGS = 4  # that a session needs, so that one at which the code changed is outvoted
_NEAR = 8  # versions on either side of a meeting from which its rise is estimated
_HUBER = 1.345  # spreads from which on a meeting counts less: 95 % efficient for normal noise
_ROUNDS = 8  # of reweighting, a fixed number so that the time is bounded
_DIGITS = 9  # of an offset; further digits are rounding errors
_EXACT = 1e-10  # noise below which amounts are exact
# The part of the evidence that counts beside predicted offsets, which leave more that versions of a session share than
# is known of them: with all of it, 4.5 % of histories without a change show one, with this 3.3 %. These are 1,200 with
# offsets of 2 and 5 % (benchmarks/few_links.py).
_PREDICTED = 0.85
# Three standard deviations of chi-squared: 0.1 % where it is close to normal.
_CLEAR = 3.0  # standard deviations by which offsets are more than noise would make them


class Aligned(msgspec.Struct, frozen=True, eq=False):
    """A series as if all of it had been measured in one session. `column` is the number of each run's session among the
    estimated ones, -1 of another."""

    runs: Runs
    estimate: _Estimate | Prediction
    column: Indexes

    @property
    def doubt(self) -> Doubt:
        """How well that is known. It takes a matrix of all pairs of sessions, so it is made for a window."""
        share, known = np.zeros((len(self.runs), len(self.estimate.offsets))), self.column >= 0
        np.add.at(share, (self.runs.points[known], self.column[known]), 1.0)
        factors = Factors(share / self.runs.counts[:, None].clip(min=1), self.estimate.covariance)
        return Doubt(factors, (factors,), _PREDICTED if isinstance(self.estimate, Prediction) else 1.0)


def shared(many: Sequence[Series], before: int, after: int) -> bool:
    """Whether a session measured both versions: then the machine was the same, however many series moved."""
    sides = ((series.sessions[before], series.sessions[after]) for series in many if series.sessions)
    return any({name for name, _ in old if name} & {name for name, _ in new} for old, new in sides)


def align(given: Runs, start: int, *, by_links: bool = True) -> Aligned | None:
    """The points from `start` on without the offsets of their sessions; earlier points contribute to the estimates.
    None where the offsets cannot be estimated. Sessions that only share versions are left as they are unless
    `by_links`."""
    if given.sessions is None or not isinstance(given.amounts, np.ndarray) or given.amounts.min(initial=1.0) <= 0:
        return None
    observations = _Observations.of(given)
    meeting = observations.meeting_often()
    names = distinct((meeting or observations).session)
    estimate: _Estimate | Prediction | None = None
    if meeting is not None:
        estimate = _estimated(_Meetings.of(meeting, names))
    elif by_links:
        estimate = _predicted(observations, names)
    if estimate is None:
        return None
    tail = given.part(start, len(given))
    assert tail.sessions is not None
    column = np.searchsorted(names, tail.sessions).clip(max=len(names) - 1)
    has_session = names[column] == tail.sessions
    with np.errstate(over="ignore"):
        amounts = tail.amounts / np.where(has_session, np.exp(estimate.offsets)[column], 1.0)
    if not np.isfinite(amounts).all():
        return None
    return Aligned(replace(tail, amounts=amounts), estimate, np.where(has_session, column, -1))


class _Observations(msgspec.Struct, frozen=True, eq=False):
    """One entry for each session and version in the order of the history: the logarithm of the median value."""

    point: Indexes
    session: Indexes
    amount: Floats

    @classmethod
    def of(cls, given: Runs) -> _Observations:
        assert given.sessions is not None
        shared = np.flatnonzero(given.sessions >= 0)
        count = int(given.sessions.max(initial=0)) + 1
        pairs, owner = np.unique(given.points[shared] * count + given.sessions[shared], return_inverse=True)
        point, session = np.divmod(pairs, count)
        amount = _medians(np.log(np.asarray(given.amounts, dtype=float)[shared]), owner, len(pairs))
        order = np.lexsort((session, -_last(point, session), point))
        return cls(point[order], session[order], amount[order])

    @property
    def starts(self) -> Indexes:
        """Where the session is another than before, from the first on."""
        return np.flatnonzero(np.diff(self.session, prepend=-1))

    def meeting_often(self) -> _Observations | None:
        """Those of the sessions that meet others often enough; None where there are none."""
        chosen = self
        while len(chosen.session):
            of = chosen.session[chosen.starts]
            sessions, meetings = np.unique(np.concatenate([of[1:], of[:-1]]), return_counts=True)
            enough = np.isin(chosen.session, sessions[meetings >= _MEETINGS])
            if enough.all():
                return chosen
            chosen = _Observations(chosen.point[enough], chosen.session[enough], chosen.amount[enough])
        return None


def _predicted(seen: _Observations, names: Indexes) -> Prediction | None:
    """The offsets of sessions that are linked by versions; None where these are too few, or no session differs."""
    links = Links.of(seen.point, np.searchsorted(names, seen.session), seen.amount, len(names))
    return linked_sessions.predicted(links) if links is not None else None


def _last(point: Indexes, session: Indexes) -> Indexes:
    """The point that each session was seen in before, so that of several at one point that comes first which was seen
    last, and no session is left and met again for nothing."""
    order = np.lexsort((point, session))
    before = np.where(np.diff(session[order], prepend=-1) == 0, np.roll(point[order], 1), -1)
    last = np.empty_like(before)
    last[order] = before
    return last


def _medians(values: Floats, owner: Indexes, count: int) -> Floats:
    ordered = values[np.lexsort((values, owner))]
    ends = np.bincount(owner, minlength=count).cumsum()
    starts = np.concatenate([[0], ends[:-1]])
    medians: Floats = (ordered[(starts + ends - 1) // 2] + ordered[(starts + ends) // 2]) / 2
    return medians


class _Meetings(msgspec.Struct, frozen=True, eq=False):
    """Where one session is followed by another: by how much the amount rises, the session that comes and the one that
    goes, by number, and how many versions on each side tell. Meeting m is between the pieces m and m + 1."""

    rise: Floats
    pieces: Indexes
    sizes: Floats
    count: int

    @classmethod
    def of(cls, seen: _Observations, names: Indexes) -> _Meetings:
        starts = seen.starts
        bounds = [*starts.tolist(), len(seen.amount)]
        pieces = [seen.amount[start:end] for start, end in pairwise(bounds)]
        rise = np.array([median(after[:_NEAR]) - median(before[-_NEAR:]) for before, after in pairwise(pieces)])
        sessions = np.searchsorted(names, seen.session[starts])
        return cls(rise, sessions, np.minimum(np.diff(bounds), _NEAR).astype(float), len(names))

    @property
    def variance(self) -> Floats:
        """That of each rise, where that of a version is 1."""
        variance: Floats = 1 / self.sizes[1:] + 1 / self.sizes[:-1]
        return variance

    @property
    def design(self) -> Sparse:
        """The session that comes to each meeting (1), and the one that goes (-1)."""
        signs = np.ones((len(self.rise), 2))
        signs[:, 1] = -1.0
        return Sparse(np.stack([self.pieces[1:], self.pieces[:-1]], axis=1), signs, self.count)

    def noise(self, weight: Floats) -> Sparse:
        """What the noise of each piece adds to the weighted rises of the sessions: it is in the meetings on both sides
        of it, with other signs."""
        near = np.concatenate([[0.0], weight, [0.0]])
        middle = np.arange(len(self.pieces))
        columns = self.pieces[np.stack([np.maximum(middle - 1, 0), middle, np.minimum(middle + 1, len(middle) - 1)], 1)]
        parts = np.stack([-near[:-1], near[:-1] + near[1:], -near[1:]], axis=1)
        return Sparse(columns, parts / np.sqrt(self.sizes)[:, None], self.count)

    def spread(self, offsets: Floats) -> tuple[Floats, float]:
        """How far off each meeting is, and the noise of a version."""
        off = np.abs(self.rise - self.design.times(offsets)) / np.sqrt(self.variance)
        free = max(len(off) - len(offsets) + 1, 1)
        return off, NORMAL * median(off) * math.sqrt(len(off) / free)


class _Estimate(msgspec.Struct, frozen=True, eq=False):
    """The offsets of the sessions, the weights of the meetings that tell them, and the noise of a version."""

    meetings: _Meetings
    offsets: Floats
    weight: Floats
    spread: float

    @property
    def covariance(self) -> Floats:
        """That of the offsets."""
        design = self.meetings.design.dense
        weighted = design.T * self.weight
        solve = _inverse(weighted @ design) @ weighted
        pieces = np.zeros((len(self.offsets), len(self.meetings.sizes)))  # the noise of a piece is in two meetings
        pieces[:, 1:] += solve
        pieces[:, :-1] -= solve
        covariance: Floats = self.spread**2 * (pieces / self.meetings.sizes) @ pieces.T
        return covariance

    @property
    def is_clear(self) -> bool:
        """Whether the offsets are more than noise would make them: x'C^-1 x, where C = s^2 K^-1 M K^-1, K being the
        normal matrix and M that of its noise."""
        if not self.spread:
            return bool(self.offsets.any())
        moved = normal(self.meetings.design, self.weight).times(self.offsets)
        noise = normal(self.meetings.noise(self.weight), np.ones(len(self.meetings.sizes)))
        freedom = len(self.offsets) - 1
        clear = float(moved @ noise.solve(moved)) / self.spread**2
        return clear > freedom + _CLEAR * math.sqrt(2 * freedom)


def _estimated(meetings: _Meetings) -> _Estimate:
    """By weighted least squares over all meetings. Offsets that are no more than noise would make them are none."""
    offsets, design = np.zeros(meetings.count), meetings.design
    for _ in range(_ROUNDS):
        off, spread = meetings.spread(offsets)
        weight = np.minimum(1.0, max(_HUBER * spread, _EXACT) / np.maximum(off, _EXACT)) / meetings.variance
        offsets = np.round(normal(design, weight).solve(design.transposed(weight * meetings.rise)), _DIGITS)
    spread = meetings.spread(offsets)[1]
    estimate = _Estimate(meetings, offsets, weight, spread if spread > _EXACT else 0.0)
    return estimate if estimate.is_clear else replace(estimate, offsets=np.zeros(len(offsets)))


def _inverse(matrix: Floats) -> Floats:
    """The inverse of a singular matrix: differences of sessions leave their mean open, so a tiny ridge sets it to 0."""
    return np.asarray(np.linalg.inv(matrix + ridge(float(matrix.max())) * np.eye(len(matrix))), dtype=np.float64)
