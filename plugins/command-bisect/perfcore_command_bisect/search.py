"""The contract of a search: what it gets, what it believes, which version it measures next and when it ends.

Versions stand in an order from the good end, position 0, to the bad end, parents before children. The question is with
which of them the level changes from that of the good end to that of the bad one: that version and all that contain it
are bad, the others good.
"""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Sequence
from typing import Literal, Protocol

import attrs

from perfcore_command_bisect.effect import Difference
from perfcore_command_bisect.noise import NORMAL, Shape

# Runs of an end, or of the answer, before they are believed. Of fewer, the scale of the noise was learnt too small, and
# a stated 98 % was right less often.
FIRST_RUNS = 4


@attrs.frozen
class Observation:
    """Amounts of the version at a place. What was measured in turn shares a session; `apart` says that no end was
    measured in it, as in profiles that were there before."""

    place: int
    amounts: tuple[float, ...]
    session: str
    apart: bool = False


@attrs.frozen(kw_only=True)
class Question:
    """`places` versions, the first good, the last bad. `prior[i]` says how likely version i is to have made the change
    (nothing: all alike; `prior[0]` does not count). `broken` places cannot be measured. Of the pairs in `alike`, both
    versions are the same program, so no version made the change that only one of them contains. `contains[i]` has a bit
    for every place that version i contains, itself too (nothing: all before it, a history without branches)."""

    places: int
    prior: tuple[float, ...] = ()
    broken: frozenset[int] = frozenset()
    alike: frozenset[tuple[int, int]] = frozenset()
    contains: tuple[int, ...] = ()

    def inside(self, place: int) -> int:
        """The bits of the places that a version contains."""
        return self.contains[place] if self.contains else (2 << place) - 1

    def shares(self) -> list[float]:
        """The prior of each place, of the whole 1; all 0 where nothing can have made the change."""
        shares = list(self.prior) if self.prior else [1.0] * self.places
        innocent = 1
        for first, second in self.alike:
            innocent |= self.inside(first) ^ self.inside(second)
        shares = [_positive(share) if not innocent >> index & 1 else 0.0 for index, share in enumerate(shares)]
        total = sum(shares)
        return [share / total for share in shares] if total else shares

    def sums(self, probabilities: Sequence[float]) -> list[float]:
        """How likely each version is to be bad."""
        if not self.contains:
            return list(itertools.accumulate(probabilities))
        positive = [(index, p) for index, p in enumerate(probabilities) if p]
        return [sum(p for index, p in positive if bits >> index & 1) for bits in self.contains]


@attrs.frozen(kw_only=True)
class Belief:
    """`probabilities[i]`: that version i made the change; `nothing`: that the ends do not differ. `step` is the size of
    the change with its interval, `good` the level of the good end: a ratio and an amount where `logarithmic`, else
    differences. `scale` and `shape` are the likeliest noise. `drift` is the probability that sessions differ more than
    runs do. `runs` are those of the good end, of the bad end and of all versions, `sessions` those with an end and
    those without; profiles that were there before do not count. `gap` is what the ends' own runs say, as soon as both
    have some; `effect` is the change that the likeliest version made itself, as soon as it is likely enough."""

    probabilities: tuple[float, ...]
    nothing: float
    runs: tuple[int, int, int] = (0, 0, 0)
    sessions: tuple[int, int] = (0, 0)
    gap: Difference | None = None
    effect: Difference | None = None
    logarithmic: bool = True
    good: float = 0.0
    step: float = 0.0
    low: float = 0.0
    high: float = 0.0
    scale: float = 1.0
    shape: Shape = NORMAL
    drift: float = 0.0

    @property
    def change(self) -> tuple[float, float, float]:
        """The size of the change with its interval: of the likeliest version itself, or else of all that explain the
        difference of the ends."""
        effect = self.effect
        return (self.step, self.low, self.high) if effect is None else (effect.value, effect.low, effect.high)

    @property
    def drifts(self) -> bool:
        """Whether sessions differ more than runs do, more likely than not."""
        return self.drift > 0.5

    @property
    def entropy(self) -> float:
        """How much is not known yet, in bits."""
        return -sum(p * math.log2(p) for p in (*self.probabilities, self.nothing) if p > 0)


@attrs.frozen
class Candidates:
    """The change came with one of these versions, which no version that can be measured tells apart."""

    places: tuple[int, ...]
    probability: float


@attrs.frozen
class Measurement:
    """What to run in turn: a version so many times, and an end; for the first of all, both ends."""

    place: int
    times: int
    end: int
    end_times: int

    def within(self, runs: int) -> Measurement:
        """As much of it as takes so many runs, in the same proportion; at least one of each that it has."""
        total = self.times + self.end_times
        if total <= runs:
            return self
        end_times = max(1, runs * self.end_times // total) if self.end_times else 0
        return attrs.evolve(self, times=max(1, runs - end_times), end_times=end_times)


class Search(Protocol):
    """A method of searching. Every method is a pure function of its arguments, so that a bisection that was interrupted
    goes on from its journal."""

    def believe(self, question: Question, evidence: Sequence[Observation], smallest: float) -> Belief:
        """The belief after these observations, whatever their order; without any, that of the prior. `smallest` is the
        smallest relative change that matters."""
        ...

    def choose(self, question: Question, belief: Belief, setup: float, confidence: float) -> Measurement | None:
        """The next measurement; None if no further measurement can tell more. `setup` is the cost of preparing another
        version, in runs."""
        ...

    def verdict(
        self, question: Question, belief: Belief, max_runs: int, confidence: float
    ) -> Literal["found", "same"] | None:
        """`found` if the likeliest version is as sure as `confidence`, `same` if the ends do not differ enough for a
        search; None while neither is known."""
        ...


def answer(question: Question, belief: Belief) -> Candidates:
    """The likeliest version, or versions that cannot be told apart, and how likely they are."""
    groups: dict[int, list[int]] = {}
    for index, key in enumerate(_descendants(question)):
        if index:
            groups.setdefault(key, []).append(index)
    suspects = [
        Candidates(tuple(group), math.fsum(belief.probabilities[index] for index in group)) for group in groups.values()
    ]
    # Of equal ones the oldest, so that the answer does not depend on the order of the groups.
    return max(suspects, key=lambda one: (one.probability, -one.places[0]))


def credible(belief: Belief, level: float) -> tuple[int, int]:
    """The shortest row of versions that holds the change with this probability; all of them where none does."""
    sums = list(itertools.accumulate(belief.probabilities))
    best = 1, len(sums) - 1
    for first in range(1, len(sums)):
        last = bisect.bisect_left(sums, sums[first - 1] + level)
        if last >= len(sums):
            break
        if last - first < best[1] - best[0]:
            best = first, last
    return best


def cases_of(question: Question, measured: Sequence[int]) -> list[int]:
    """For each place, the bits of the measured versions that contain it."""
    inside = [question.inside(index) for index in measured]
    if not question.contains:
        every = (1 << len(measured)) - 1
        return [every >> (first := bisect.bisect_left(measured, index)) << first for index in range(question.places)]
    return [sum((bits >> index & 1) << case for case, bits in enumerate(inside)) for index in range(question.places)]


def _descendants(question: Question) -> list[int]:
    """For each place something that is the same for those which no version that can be measured tells apart."""
    working = [
        index for index in range(question.places) if index not in question.broken or index == question.places - 1
    ]
    return cases_of(question, working)


def _positive(share: float) -> float:
    return share if math.isfinite(share) and share > 0 else 0.0
