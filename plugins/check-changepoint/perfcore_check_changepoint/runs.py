"""The runs of all points of a series in one array, from which a window of a long series is cut without a copy."""

from __future__ import annotations

import functools
import hashlib
import itertools
import math
import operator
import struct
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec
import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from perfcore_check_changepoint.doubt import Doubt

Point: TypeAlias = float | Sequence[float]
Indexes: TypeAlias = "NDArray[np.int64]"
Sessions: TypeAlias = Sequence[Sequence[tuple[str, int]]]

_DIGEST = 16  # bytes: 128 bits, so that no two windows share one by chance


class Runs(msgspec.Struct, frozen=True, eq=False):
    """`amounts` are the runs that are finite numbers, an array where all of them are floats; `ends[i]` says how many of
    them the first `i` points have. `sessions`, where any are known, are those of the amounts, by number, and -1 for
    one that no other point shares. `doubt` says which of the points were made comparable by factors that are only
    estimated. `machines`, where there are several, are those of the amounts, by number."""

    amounts: Sequence[float]
    ends: Indexes
    sessions: Indexes | None = None
    doubt: Doubt | None = None
    machines: Indexes | None = None

    @classmethod
    def of(cls, values: Sequence[Point], sessions: Sessions = ()) -> Runs:
        """Of points that are values, or the values of several runs; values that are not finite are left out. `sessions`
        are those of every point's runs in order, each with how many of them it has."""
        flat, lengths = _flat(values)
        if operator.countOf(map(type, flat), float) == len(flat):
            shared = _shared(tuple(sessions), lengths.tobytes()) if len(sessions) else None
            return cls.of_floats(_floats(flat), lengths, shared)
        points = [[run for run in _runs(value) if is_finite(run)] for value in values]
        return cls(list(chain.from_iterable(points)), _sums(_lengths(points)))

    @classmethod
    def of_floats(cls, amounts: NDArray[np.float64], counts: Indexes, sessions: Indexes | None = None) -> Runs:
        """The same of the runs of all points one after the other, of which each has so many."""
        finite = np.isfinite(amounts)
        if sessions is None and np.count_nonzero(finite) == len(finite):
            return cls(amounts, _sums(counts))  # type: ignore[arg-type]  # an array of floats is used as a sequence of them
        return cls(
            amounts[finite],  # type: ignore[arg-type]  # an array of floats is used as a sequence of them
            _sums(finite)[_sums(counts)],
            sessions[finite] if sessions is not None else None,
        )

    def __len__(self) -> int:
        return len(self.ends) - 1

    @property
    def counts(self) -> Indexes:
        """How many runs each point has."""
        counts: Indexes = self.ends[1:] - self.ends[:-1]
        return counts

    @property
    def points(self) -> Indexes:
        """The point of each run."""
        return np.repeat(np.arange(len(self)), self.counts)

    def part(self, start: int, end: int) -> Runs:
        """The points from `start` on that come before `end`."""
        ends = self.ends[start : end + 1]
        sessions = self.sessions[ends[0] : ends[-1]] if self.sessions is not None else None
        machines = self.machines[ends[0] : ends[-1]] if self.machines is not None else None
        doubt = self.doubt.part(start, end) if self.doubt is not None else None
        return Runs(self.amounts[ends[0] : ends[-1]], ends - ends[0], sessions, doubt, machines)

    def chosen(self, places: Indexes) -> Runs:
        """These points alone, of which the others have no runs."""
        return Runs(self.amounts, np.concatenate([[0], self.ends[places + 1]]), self.sessions)

    def groups(self, numbers: Indexes, count: int) -> list[tuple[Indexes, Runs]]:
        """The points of each number below `count`: their places, and they as a series of their own."""
        if count == 1:
            return [(np.arange(len(self)), self)]
        owners, lengths = np.repeat(numbers, self.counts), self.counts
        order, bounds = numbers.argsort(kind="stable"), _sums(np.bincount(numbers, minlength=count))
        places = owners.argsort(kind="stable")
        sessions = self.sessions[places] if self.sessions is not None else None
        ordered = Runs(self._taken(places), _sums(lengths[order]), sessions)
        return [
            (order[start:end], ordered.part(start, end))
            for start, end in zip(bounds.tolist(), bounds[1:].tolist(), strict=False)
        ]

    def digest(self, start: int, end: int) -> str:
        """The same for the same runs of the points from `start` on that come before `end`."""
        window = self.part(start, end)
        amounts = window.amounts.tobytes() if isinstance(window.amounts, np.ndarray) else repr(window.amounts).encode()
        sessions = window.sessions.tobytes() if window.sessions is not None and (window.sessions >= 0).any() else b""
        machines = window.machines.tobytes() if window.machines is not None else b""
        doubt = window.doubt.factors.covariance.tobytes() if window.doubt is not None else b""
        data = window.ends.tobytes() + amounts + sessions + machines + doubt
        return hashlib.blake2b(data, digest_size=_DIGEST).hexdigest()

    def _taken(self, places: Indexes) -> Sequence[float]:
        if isinstance(self.amounts, np.ndarray):
            selected: Sequence[float] = self.amounts[places]
            return selected
        return [self.amounts[position] for position in places]


def _flat(values: Sequence[Point]) -> tuple[Sequence[object], Indexes]:
    """The runs of all points, and the number of runs of each."""
    if set(map(type, values)) <= {tuple, list}:
        return list(chain.from_iterable(values)), _lengths(values)  # type: ignore[arg-type]  # none is a number
    return values, np.ones(len(values), dtype=np.int64)


def _floats(values: Sequence[Any]) -> NDArray[np.float64]:
    """The values, which are floats, in a tenth of the time of `np.array`, which looks at each for what it is."""
    return np.frombuffer(bytearray(struct.pack(f"{len(values)}d", *values)), dtype=np.float64)


@functools.lru_cache(maxsize=2)  # the benchmarks of a suite have the same ones
def _shared(sessions: tuple[Sequence[tuple[str, int]], ...], counts_of_runs: bytes) -> Indexes | None:
    """The number of each run's session; None where no session has several points, or they are not of these runs."""
    lengths = np.frombuffer(counts_of_runs, dtype=np.int64)
    if len(sessions) != len(lengths):
        return None
    parts = list(chain.from_iterable(sessions))
    points = np.repeat(np.arange(len(sessions)), _lengths(sessions))
    # A history has few sessions: what differs is looked at, and the rest is done without a loop of Python.
    different = dict(zip(dict.fromkeys(parts), itertools.count(), strict=False))
    which = np.fromiter(map(different.__getitem__, parts), dtype=np.int64, count=len(parts))
    counts = np.array([count for _, count in different], dtype=np.int64)[which]
    if not np.array_equal(np.bincount(points, counts, minlength=len(sessions)), lengths):
        return None
    names = {"": 0}
    owners = np.array([names.setdefault(name, len(names)) for name, _ in different], dtype=np.int64)[which]
    if len(names) == 1:
        return None
    met = np.sort(owners * len(sessions) + points)
    once = met[np.diff(met, prepend=-1) > 0] // max(1, len(sessions))
    shared = np.bincount(once, minlength=len(names)) > 1
    shared[0] = False
    numbers = np.repeat(np.where(shared, shared.cumsum() - 1, -1)[owners], counts) if shared.any() else None
    if numbers is not None:
        numbers.flags.writeable = False  # several series have it
    return numbers


def _lengths(points: Sequence[Sequence[object]]) -> Indexes:
    return np.fromiter(map(len, points), dtype=np.int64, count=len(points))


def _sums(counts: NDArray[np.int64] | NDArray[np.bool_]) -> Indexes:
    """How many there are before each place, and in all."""
    sums = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=sums[1:])
    return sums


def _runs(value: Point) -> Iterable[float]:
    return value if isinstance(value, Iterable) else (value,)


def is_finite(run: float) -> bool:
    """Also of integers that no float can hold."""
    return isinstance(run, int) or math.isfinite(run)
