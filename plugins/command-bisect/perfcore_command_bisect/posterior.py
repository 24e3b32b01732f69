"""The posterior of a bisection: how likely each version is to have made the change, given all runs.

Every run counts for every hypothesis: runs before the change are of one level, runs after it of the other, and neither
the levels nor the noise are known beforehand (`noise`). So a run in the middle also teaches what the ends are like, and
few runs of the ends suffice. Levels lie on a grid, and the likelihood is summed over all pairs of levels, scales and
shapes (Bayes' rule with a uniform prior over them).
"""

from __future__ import annotations

import functools
import itertools
import math
import statistics
from collections.abc import Sequence

import attrs

from perfcore_command_bisect import effect as gaps
from perfcore_command_bisect import noise
from perfcore_command_bisect.drift import Group, Settled
from perfcore_command_bisect.effect import LEVEL, EndDifference
from perfcore_command_bisect.search import Belief, Question, cases_of

# The prior that the ends do not differ at all: whoever bisects has seen a difference, but one in twenty sightings may
# be noise.
PRIOR_NOTHING = 0.05
# nats below the best explanation of the noise: e^-12 is 6e-6, far less than any stated probability is exact to
_NEGLIGIBLE = 12.0
# scales in a step beyond which noise is not looked at any finer: at 40 scales no run is on the wrong side, and a finer
# grid would cost time only
_FINEST = 40.0
LEAST = 1e-9  # of a logarithm: below the rounding of the amounts
_SAME = 20 * LEAST  # no smaller difference is one

Row = Sequence[float]


@attrs.frozen
class Levels:
    """Where the two levels may be."""

    good: noise.Grid
    bad: noise.Grid
    rising: bool
    scale: float
    centres: tuple[float, float]

    @classmethod
    def of(cls, groups: Sequence[Group], sides: dict[int, float]) -> Levels:
        """From the amounts of versions that are believed to be on one side."""
        sides_of_levels: tuple[list[float], list[float]] = [], []
        for group in groups:
            if group.place in sides:
                sides_of_levels[sides[group.place] > 0.5].extend(group.amounts)
        middles = statistics.median(sides_of_levels[0]), statistics.median(sides_of_levels[1])
        step = abs(middles[1] - middles[0])
        residuals = [amount - middle for side, middle in zip(sides_of_levels, middles, strict=True) for amount in side]
        scale = noise.scale_of(residuals, step, max(LEAST, step / _FINEST))
        half = noise.half_steps(scale)
        good, bad = (noise.grid(half, middle, len(side)) for side, middle in zip(sides_of_levels, middles, strict=True))
        return cls(good, bad, middles[1] >= middles[0], scale, middles)


@attrs.frozen
class _Kind:
    """One kind of noise (a scale and a shape): for each case, the log likelihood of all runs of good versions at every
    good level, and of all runs of bad ones at every bad level; `alone` of all runs at both."""

    number: int
    good: tuple[Row, ...]
    bad: tuple[Row, ...]
    alone: tuple[Row, Row]

    def best(self) -> float:
        return max(max(good) + max(bad) for good, bad in zip(self.good, self.bad, strict=True))


class Posterior:
    """The likelihood of every hypothesis. A case is a set of measured versions that are bad: versions which make the
    same ones bad are equally likely to have made the change, but for the prior."""

    def __init__(
        self,
        levels: Levels,
        ends: Sequence[tuple[Row, Row]],
        cases: Sequence[int],
        kinds: Sequence[_Kind],
        top: float,
    ) -> None:
        self.levels = levels
        self.ends = ends
        self.cases = cases
        self.kinds = kinds
        self.top = top

    @classmethod
    def of(cls, settled: Settled, levels: Levels, question: Question) -> Posterior:
        measured = sorted({group.place for group in settled.groups})
        cases = cases_of(question, measured)
        every = (1 << len(measured)) - 1
        different = sorted(set(cases[1:]))
        good = [_sums(settled, index, levels.good) for index in measured]
        bad = [_sums(settled, index, levels.bad) for index in measured]
        kinds = []
        for column in range(len(good[0])):
            low = _Subsets([rows[column] for rows in good], from_end=True)
            high = _Subsets([rows[column] for rows in bad], from_end=False)
            apart = tuple(low.sum(every & ~case) for case in different), tuple(map(high.sum, different))
            kinds.append(_Kind(column, *apart, (low.sum(every), high.sum(every))))
        bests = [kind.best() for kind in kinds]
        likely_kinds = [kind for kind, best in zip(kinds, bests, strict=True) if best > max(bests) - _NEGLIGIBLE]
        places = {case: column for column, case in enumerate(different)}
        ends = list(zip(good[0], bad[-1], strict=True))
        return cls(levels, ends, [places.get(case, 0) for case in cases], likely_kinds, max(bests))

    def probabilities(self, shares: Sequence[float]) -> tuple[list[float], float]:
        """(of each version that it made the change, that nothing did)."""
        change = [sum(of_kinds) for of_kinds in self._likelihoods]
        pairs, all_levels = self._pairs(), self._union()
        weights = [share * change[case] for share, case in zip(shares, self.cases, strict=True)]
        weights = [(1 - PRIOR_NOTHING) * weight / pairs for weight in weights]
        none = PRIOR_NOTHING * sum(self._same(kind) for kind in self.kinds) / all_levels
        total = sum(weights) + none
        if not total:
            return [(1 - PRIOR_NOTHING) * share for share in shares], PRIOR_NOTHING
        return [weight / total for weight in weights], none / total

    def gap(self, smallest: float, logarithmic: bool) -> EndDifference:
        """By how much the ends differ, by their own runs."""
        # Without logarithms a relative change is one of the larger level; that of an end may be zero.
        threshold = math.log1p(smallest) if logarithmic else smallest * max(map(abs, self.levels.centres))
        return gaps.of_ends(self.ends, self._offset, self.levels.good.scale / 4, max(threshold, _SAME))

    def belief(self, shares: Sequence[float]) -> Belief:
        probabilities, nothing = self.probabilities(shares)
        case = self.cases[probabilities.index(max(probabilities))]
        of_kinds = self._likelihoods[case]
        kind = self.kinds[of_kinds.index(max(of_kinds))]
        good, step, low, high = self._sizes(case)
        factor, shape = divmod(kind.number, len(noise.SHAPES))
        return Belief(
            probabilities=tuple(probabilities),
            nothing=nothing,
            good=good,
            step=step,
            low=low,
            high=high,
            scale=self.levels.good.scale * noise.SCALES[factor],
            shape=noise.SHAPES[shape],
        )

    @functools.cached_property
    def _likelihoods(self) -> list[list[float]]:
        """For each case and kind of noise."""
        return [[self._likelihood(kind, case) for kind in self.kinds] for case in range(len(self.kinds[0].good))]

    def _likelihood(self, kind: _Kind, case: int) -> float:
        """Of a case, over all pairs of levels in the right order."""
        before, after = kind.good[case], kind.bad[case]
        most_before, most = max(before), max(after)
        top = most_before + most - self.top
        # Wider than for kinds: a sum over some thousand pairs of levels is above its best pair by 7 nats or so.
        if top < -_NEGLIGIBLE * 3:
            return 0.0
        sums = _behind([math.exp(value - most) for value in after], len(before), self._offset, self.levels.rising)
        total = sum(math.exp(value - most_before) * likelihood for value, likelihood in zip(before, sums, strict=True))
        return total * math.exp(top)

    @property
    def _offset(self) -> int:
        """How far the bad levels begin behind the good ones."""
        return self.levels.good.first - self.levels.bad.first

    def _same(self, kind: _Kind) -> float:
        """The likelihood that all runs are of one level."""
        good, bad = self.levels.good, self.levels.bad
        unshared = [
            value for column, value in enumerate(kind.alone[1]) if not good.first <= bad.first + column <= good.last
        ]
        return sum(math.exp(min(0.0, value - self.top)) for value in (*kind.alone[0], *unshared))

    def _pairs(self) -> float:
        good, bad = self.levels.good, self.levels.bad
        levels = good.last - good.first + 1
        return max(1.0, sum(_behind([1.0] * (bad.last - bad.first + 1), levels, self._offset, self.levels.rising)))

    def _union(self) -> int:
        good, bad = self.levels.good, self.levels.bad
        return len({*range(good.first, good.last + 1), *range(bad.first, bad.last + 1)})

    def _sizes(self, case: int) -> tuple[float, float, float, float]:
        """(good level, step, lowest and highest step that is believed) in a case."""
        width = self.levels.good.scale / 4
        steps: dict[int, float] = {}
        levels: dict[int, float] = {}
        for kind in self.kinds:
            before, after = kind.good[case], kind.bad[case]
            top = max(before) + max(after) - self.top
            # Four nats, 2 %: sizes are shown with two digits, and few kinds make them quick.
            if top < -_NEGLIGIBLE / 3:
                continue
            ones = [math.exp(value - max(before) + top) for value in before]
            others = [math.exp(value - max(after)) for value in after]
            for a, bad_weight in enumerate(ones):
                for b, good_weight in enumerate(others, -a - self._offset):
                    if (b > 0) == self.levels.rising and b:
                        steps[b] = steps.get(b, 0.0) + bad_weight * good_weight
                        levels[a] = levels.get(a, 0.0) + bad_weight * good_weight
        if not steps:
            middle = self.levels.centres
            return middle[0], middle[1] - middle[0], middle[1] - middle[0], middle[1] - middle[0]
        good = self.levels.good.levels[0] + width * gaps.quantile(levels, 0.5)
        step, low, high = (width * gaps.quantile(steps, share) for share in (0.5, (1 - LEVEL) / 2, (1 + LEVEL) / 2))
        return good, step, low, high


def _sums(settled: Settled, place: int, levels: noise.Grid) -> list[Row]:
    """For each kind of noise, the log likelihood of all runs of a place at every level."""
    groups = zip(settled.groups, settled.weights, strict=True)
    likelihoods = [noise.likelihoods(g.amounts, levels, weight) for g, weight in groups if g.place == place]
    total: list[Row] = list(likelihoods[0])
    for rows in likelihoods[1:]:
        total = [_plus(first, second) for first, second in zip(total, rows, strict=True)]
    return total


class _Subsets:
    """Sums of rows over sets of measured versions, each set from one that has a version less: in a history without
    branches the sets are nested, so that each takes one addition."""

    def __init__(self, rows: Sequence[Row], *, from_end: bool) -> None:
        self._rows = rows
        self._from_end = from_end
        self._known: dict[int, Row] = {0: [0.0] * len(rows[0])}

    def sum(self, bits: int) -> Row:
        missing = []
        while bits not in self._known:
            # Good sets lose their newest version and bad ones their oldest, so that each leads to one that is known.
            member = bits.bit_length() - 1 if self._from_end else (bits & -bits).bit_length() - 1
            missing.append(member)
            bits ^= 1 << member
        subset_sum = self._known[bits]
        for member in reversed(missing):
            bits |= 1 << member
            subset_sum = self._known[bits] = _plus(subset_sum, self._rows[member])
        return subset_sum


def _plus(one: Row, other: Row) -> Row:
    return [a + b for a, b in zip(one, other, strict=True)]


def _behind(values: Sequence[float], count: int, offset: int, rising: bool) -> list[float]:
    """For each of so many levels, the first being `offset` behind the first of the values, the sum of the values at
    levels above it, or below it."""
    sums = [0.0, *itertools.accumulate(values)]
    last = len(values)
    if rising:
        return [sums[last] - sums[min(max(column + offset + 1, 0), last)] for column in range(count)]
    return [sums[min(max(column + offset, 0), last)] for column in range(count)]
