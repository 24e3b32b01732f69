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

    def near(self, first: int, last: int) -> _Observations:
        chosen = (self.version >= first) & (self.version < last)
        return _Observations(self.version[chosen], self.session[chosen], self.amount[chosen])

    def moves(self) -> Floats:
        """By how much versions differ from the one before them in the same session."""
        order = np.lexsort((self.version, self.session))
        session, version, amount = self.session[order], self.version[order], self.amount[order]
        follows = (np.diff(session) == 0) & (np.diff(version) == 1)
        moves: Floats = np.diff(amount)[follows]
        return moves

    def gain(self, sides: Sequence[Floats], covariance: Floats) -> float:
        """The log likelihood of the best of steps, of which each has 1 after it and 0 before it."""
        factor = np.linalg.cholesky(covariance)
        level, amount = (np.linalg.solve(factor, of) for of in (np.ones(len(self.amount)), self.amount))
        amount = amount - level * (level @ amount) / (level @ level)
        best = -math.inf
        for side in sides:
            step = np.linalg.solve(factor, side)
            step = step - level * (level @ step) / (level @ level)
            best = max(best, float((step @ amount) ** 2 / (2 * (step @ step))) if step @ step > 0 else -math.inf)
        return best


def is_linked(series: Series, positions: Indexes, start: int, end: int) -> bool:
    """Whether sessions that share a version with the next lead from the versions before `start` to those from `end` on,
    in a history of so many that it shows by how much sessions differ."""
    first, last = np.searchsorted(positions, [start, end]).tolist()
    near = positions[max(first - _SPREADS, 0) : last + _SPREADS].tolist()
    names = {position: {name for name, _ in series.sessions[position] if name} for position in near}
    links = sum(max(len(of_version) - 1, 0) for of_version in names.values())
    crossed = positions[max(first - 1, 0) : last + 1].tolist()
    return links >= linked_sessions.FEWEST and all(names[old] & names[new] for old, new in pairwise(crossed))


def is_of_code(series: Series, positions: Indexes, start: int, end: int) -> bool:
    """Whether a step between the versions before `start` and those from `end` on is likelier one of the code."""
    first, last = np.searchsorted(positions, [start, end]).tolist()
    base = max(first - _SPREADS, 0)
    observations = _Observations.of(series, positions[base : last + _SPREADS].tolist())
    if observations is None:
        return True
    links = Links.of(
        observations.version, observations.session, observations.amount, int(observations.session.max(initial=0)) + 1
    )
    prediction = linked_sessions.predicted(links) if links is not None else None
    moves = observations.moves()
    if prediction is None or not len(moves):
        return True
    of_version = max(
        (NORMAL * median(np.abs(moves))) ** 2 / 2 - prediction.noise, 0.0
    )  # what a version differs by in all sessions
    near = observations.near(first - base - _NEAR, last - base + _NEAR)
    versions, sessions = (of[:, None] == of for of in (near.version, near.session))
    covariance = (
        prediction.between * sessions + of_version * versions + max(prediction.noise, _LEAST) * np.eye(len(near.amount))
    )
    crossing = near.session[(near.version >= first - base - 1) & (near.version <= last - base)]
    of_code, of_machine = (
        near.gain(
            [(of >= begin).astype(float) for begin in range(low - _MOVES, high + _MOVES + 1)],
            covariance,
        )
        for of, low, high in (
            (near.version, first - base, last - base),
            (near.session, int(crossing.min()), int(crossing.max())),
        )
    )
    return of_code > of_machine
