"""Whether a step is the code's or the machine's, where sessions share a version with the next.

A step of the code is between versions, whichever session measured them; one of the machine is between sessions,
whatever they measured. Both are fitted to the versions near it by generalised least squares (A. C. Aitken, 1935), each
at the place where it fits best, and their likelihoods are compared.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from statistics import median as median_of

import msgspec
import numpy as np

from perfcore.model import Series
from perfcore_check_changepoint import linked_sessions
from perfcore_check_changepoint.linked_sessions import Links
from perfcore_check_changepoint.partition import Floats
from perfcore_check_changepoint.runs import Indexes
from perfcore_check_changepoint.series import NORMAL, median

_SPREADS = 96  # versions on either side that tell how much versions and sessions differ: as many as a window holds
_NEAR = 16  # versions on either side that a step is fitted to
_MOVES = 2  # versions and sessions around the place of a step at which it may be as well
_LEAST = 1e-18  # variance of amounts that are the same
_MOST = 10.0  # nats that one of several series tells
_ASKED = 16  # series of a suite


class _Observations(msgspec.Struct, frozen=True, eq=False):
    """The logarithm of the median that a session measured of a version, both by number in their order."""

    version: Indexes
    session: Indexes
    amount: Floats

    @classmethod
    def of(cls, series: Series, positions: Sequence[int]) -> _Observations | None:
        """Of the versions at these positions; None where an amount has no logarithm."""
        numbers: dict[str, int] = {}
        rows = []
        for at, position in enumerate(positions):
            start = 0
            for name, runs in series.sessions[position]:
                values = series.values[position][start : start + runs]
                start += runs
                if name and values:
                    if not 0 < min(values) <= max(values) < math.inf:
                        return None
                    rows.append((at, numbers.setdefault(name, len(numbers)), math.log(median_of(values))))
        version, session, amount = zip(*rows, strict=True) if rows else ((), (), ())
        return cls(np.array(version, dtype=np.int64), np.array(session, dtype=np.int64), np.array(amount, dtype=float))

    def between(self, first: int, last: int) -> _Observations:
        chosen = (self.version >= first) & (self.version < last)
        return _Observations(self.version[chosen], self.session[chosen], self.amount[chosen])

    def prediction(self) -> linked_sessions.Prediction | None:
        """What is known of the sessions; None where they do not differ."""
        links = Links.of(self.version, self.session, self.amount, int(self.session.max(initial=0)) + 1)
        return linked_sessions.predicted(links) if links is not None else None

    def moves(self) -> Floats:
        """By how much versions differ from the one before them in the same session."""
        order = np.lexsort((self.version, self.session))
        session, version, amount = self.session[order], self.version[order], self.amount[order]
        moves: Floats = np.diff(amount)[(np.diff(session) == 0) & (np.diff(version) == 1)]
        return moves

    def covariance(self, prediction: linked_sessions.Prediction, moves: Floats) -> Floats:
        """That of the amounts, if the code and the machine stay what they are: of offsets, of what a version differs by
        in all sessions, and of noise."""
        of_version = max((NORMAL * median(np.abs(moves))) ** 2 / 2 - prediction.noise, 0.0) if len(moves) else 0.0
        same_session, same_version = (numbers[:, None] == numbers for numbers in (self.session, self.version))
        noise = max(prediction.noise, _LEAST) * np.eye(len(self.amount))
        covariance: Floats = prediction.between * same_session + of_version * same_version + noise
        return covariance

    def gain(self, numbers: Indexes, low: int, high: int, covariance: Floats) -> float:
        """The log likelihood of the best step that begins with one of these numbers, or near them."""
        factor = np.linalg.cholesky(covariance)
        level, amount = (np.linalg.solve(factor, column) for column in (np.ones(len(self.amount)), self.amount))
        best = -math.inf
        for begin in range(low - _MOVES, high + _MOVES + 1):
            step = np.linalg.solve(factor, (numbers >= begin).astype(float))
            step -= level * (level @ step) / (level @ level)
            if 0 < np.count_nonzero(numbers >= begin) < len(numbers):
                best = max(best, float((step @ amount) ** 2 / (2 * (step @ step))))
        return best


def is_linked(series: Series, positions: Indexes, start: int, end: int) -> bool:
    """Whether sessions that share a version with the next lead from the versions before `start` to those from `end` on,
    in a history that shows by how much sessions differ."""
    first, last = np.searchsorted(positions, [start, end]).tolist()
    near = positions[max(first - _SPREADS, 0) : last + _SPREADS].tolist()
    names = {position: {name for name, _ in series.sessions[position] if name} for position in near}
    crossed = positions[max(first - 1, 0) : last + 1].tolist()
    if not all(names[old] & names[new] for old, new in pairwise(crossed)):
        return False
    links = [of_version for of_version in names.values() if 1 < len(of_version) <= linked_sessions.MOST]
    linked, every = (len(set[str]().union(*some)) for some in (links, names.values()))
    return linked_sessions.tell_enough(sum(map(len, links)) - len(links), linked, every)


def is_of_code(series: Series, positions: Indexes, span: tuple[int, int], bounds: tuple[int, int | None]) -> bool:
    """Whether a step between the versions before a span and those from its end on is likelier one of the code. `bounds`
    are those of the levels on both sides."""
    return _evidence_of_machine(series, positions, span, bounds) <= 0


def came_with_session(many: Sequence[Series], positions: Sequence[int], span: tuple[int, int]) -> bool:
    """Whether a step that series share is likelier one of the machine, as those with linked sessions tell together.
    None tells more than `_MOST`, since it may have a step of its own, and of many series some tell enough."""
    evidence = 0.0
    for series in many[:: math.ceil(len(many) / _ASKED)]:
        measured = np.array([position for position in positions if series.values[position]], dtype=np.int64)
        if len(series.sessions) == len(series.versions) and is_linked(series, measured, *span):
            evidence += min(max(_evidence_of_machine(series, measured, span, (0, None)), -_MOST), _MOST)
    return evidence > 0


def _evidence_of_machine(
    series: Series, positions: Indexes, span: tuple[int, int], bounds: tuple[int, int | None]
) -> float:
    """By how much a step is likelier one of the machine than of the code, in nats."""
    begin, end = bounds[0], len(series.versions) if bounds[1] is None else bounds[1]
    first, last, begin, end = np.searchsorted(positions, [*span, begin, end]).tolist()
    base = max(first - _SPREADS, 0)
    observations = _Observations.of(series, positions[base : last + _SPREADS].tolist())
    prediction = observations.prediction() if observations is not None else None
    if observations is None or prediction is None:
        return 0.0
    begin, end = max(min(begin, first - 1), first - _NEAR), min(max(end, last + 1), last + _NEAR)
    near = observations.between(begin - base, end - base)
    crossing = observations.between(first - 1 - base, last + 1 - base).session
    covariance = near.covariance(prediction, observations.moves())
    of_code = near.gain(near.version, first - base, last - base, covariance)
    of_machine = near.gain(near.session, int(crossing.min()), int(crossing.max()), covariance)
    return of_machine - of_code
