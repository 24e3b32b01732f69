"""The posterior of a bisection: how likely each version is to have made the change, given all runs.

Every run counts for every hypothesis: runs before the change are of one level, runs after it of the other, and neither
the levels nor the noise are known beforehand (`noise`). So a run in the middle also teaches what the ends are like, and
few runs of the ends suffice. Levels lie on a grid, and the likelihood is summed over all pairs of levels, scales and
shapes (Bayes' rule with a uniform prior over them).
"""

from __future__ import annotations

import functools
import math
import operator
import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING

import attrs

from perfcore_command_bisect import effect as gaps
from perfcore_command_bisect import noise
from perfcore_command_bisect.drift import Group, Settled
from perfcore_command_bisect.effect import LEVEL, Difference
from perfcore_command_bisect.search import Belief, Question, cases_of

if TYPE_CHECKING:
    from perfcore_command_bisect.noise import Floats

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


class Posterior:
    """The likelihood of every hypothesis. A case is a set of measured versions that are bad: versions which make the
    same ones bad are equally likely to have made the change, but for the prior. A kind of noise is a scale and a shape,
    by its number. `good` and `bad` hold for each case and kind the log likelihood of all runs of good versions at every
    good level, and of all runs of bad ones at every bad level; `alone` of all runs at both; `ends` of the ends' own."""

    def __init__(
        self,
        levels: Levels,
        cases: Sequence[int],
        kinds: Sequence[int],
        rows: tuple[Floats, Floats],
        alone: tuple[Floats, Floats],
        ends: tuple[Floats, Floats],
    ) -> None:
        self.levels = levels
        self.cases = cases
        self.kinds = kinds
        self.good, self.bad = rows
        self.alone = alone
        self.ends = ends
        self.top = float((self.good.max(axis=2) + self.bad.max(axis=2)).max())

    @classmethod
    def of(cls, settled: Settled, levels: Levels, question: Question) -> Posterior:
        import numpy as np

        measured = sorted({group.place for group in settled.groups})
        cases = cases_of(question, measured)
        different = sorted(set(cases[1:]))
        good = np.array([sums(settled, index, levels.good) for index in measured])
        bad = np.array([sums(settled, index, levels.bad) for index in measured])
        is_bad = np.array([[case >> index & 1 for index in range(len(measured))] for case in different], dtype=float)
        rows = np.tensordot(1 - is_bad, good, 1), np.tensordot(is_bad, bad, 1)
        bests = (rows[0].max(axis=2) + rows[1].max(axis=2)).max(axis=0)
        kinds = np.flatnonzero(bests > bests.max() - _NEGLIGIBLE)
        columns = {case: column for column, case in enumerate(different)}
        return cls(
            levels,
            [columns.get(case, 0) for case in cases],
            kinds.tolist(),
            (rows[0][:, kinds], rows[1][:, kinds]),
            (good.sum(axis=0)[kinds], bad.sum(axis=0)[kinds]),
            (good[0], bad[-1]),
        )

    def probabilities(self, shares: Sequence[float]) -> tuple[list[float], float]:
        """(of each version that it made the change, that nothing did)."""
        change = self._likelihoods.sum(axis=1).tolist()
        pairs, all_levels = self._pairs(), self._union()
        weights = [share * change[case] for share, case in zip(shares, self.cases, strict=True)]
        weights = [(1 - PRIOR_NOTHING) * weight / pairs for weight in weights]
        none = PRIOR_NOTHING * self._same() / all_levels
        total = sum(weights) + none
        if not total:
            return [(1 - PRIOR_NOTHING) * share for share in shares], PRIOR_NOTHING
        return [weight / total for weight in weights], none / total

    def gap(self, smallest: float, logarithmic: bool) -> Difference:
        """By how much the ends differ, by their own runs."""
        # Without logarithms a relative change is one of the larger level; that of an end may be zero.
        threshold = math.log1p(smallest) if logarithmic else smallest * max(map(abs, self.levels.centres))
        return gaps.between(*self.ends, self._offset, self._width, max(threshold, _SAME))

    def belief(self, shares: Sequence[float]) -> Belief:
        probabilities, nothing = self.probabilities(shares)
        case = self.cases[probabilities.index(max(probabilities))]
        kind = self.kinds[int(self._likelihoods[case].argmax())]
        good, step, low, high = self._sizes(case)
        factor, shape = divmod(kind, len(noise.SHAPES))
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
    def _likelihoods(self) -> Floats:
        """For each case and kind of noise, over all pairs of levels in the right order."""
        import numpy as np

        most_before, most_after = self.good.max(axis=2), self.bad.max(axis=2)
        before, after = np.exp(self.good - most_before[:, :, None]), np.exp(self.bad - most_after[:, :, None])
        behind = _behind(after, before.shape[2], self._offset, self.levels.rising)
        likelihoods: Floats = (before * behind).sum(axis=2) * np.exp(most_before + most_after - self.top)
        return likelihoods

    @property
    def _offset(self) -> int:
        """How far the bad levels begin behind the good ones."""
        return self.levels.good.first - self.levels.bad.first

    @property
    def _width(self) -> float:
        """How far levels are apart."""
        return self.levels.good.scale / noise.FINE

    def _same(self) -> float:
        """The likelihood that all runs are of one level."""
        import numpy as np

        good, bad = self.levels.good, self.levels.bad
        unshared = [
            column for column in range(bad.last - bad.first + 1) if not good.first <= bad.first + column <= good.last
        ]
        each = np.concatenate([self.alone[0], self.alone[1][:, unshared]], axis=1)
        return float(np.exp(np.minimum(0.0, each - self.top)).sum())

    def _pairs(self) -> float:
        import numpy as np

        good, bad = self.levels.good, self.levels.bad
        ones = np.ones(bad.last - bad.first + 1)
        pairs = _behind(ones, good.last - good.first + 1, self._offset, self.levels.rising)
        return max(1.0, float(pairs.sum()))

    def _union(self) -> int:
        good, bad = self.levels.good, self.levels.bad
        return len({*range(good.first, good.last + 1), *range(bad.first, bad.last + 1)})

    def _sizes(self, case: int) -> tuple[float, float, float, float]:
        """(good level, step, lowest and highest step that is believed) in a case."""
        import numpy as np

        before, after = self.good[case], self.bad[case]
        tops = before.max(axis=1) + after.max(axis=1) - self.top
        ones = np.exp(before - before.max(axis=1, keepdims=True) + tops[:, None])
        others = np.exp(after - after.max(axis=1, keepdims=True))
        weights = ones.T @ others
        steps = gaps.weights_of_steps(weights, self._offset)
        rising = {step: weight for step, weight in steps.items() if step and (step > 0) == self.levels.rising}
        if not any(rising.values()):
            middle = self.levels.centres
            return middle[0], middle[1] - middle[0], middle[1] - middle[0], middle[1] - middle[0]
        behind = _behind(others, ones.shape[1], self._offset, self.levels.rising)
        levels = dict(enumerate((ones * behind).sum(axis=0).tolist()))
        good = self.levels.good.levels[0] + self._width * gaps.quantile(levels, 0.5)
        shares = 0.5, (1 - LEVEL) / 2, (1 + LEVEL) / 2
        step, low, high = (self._width * gaps.quantile(rising, share) for share in shares)
        return good, step, low, high


def sums(settled: Settled, place: int, levels: noise.Grid) -> Floats:
    """For each kind of noise, the log likelihood of all runs of a place at every level."""
    groups = zip(settled.groups, settled.weights, strict=True)
    likelihoods = [noise.likelihoods(g.amounts, levels, weight) for g, weight in groups if g.place == place]
    total: Floats = functools.reduce(operator.add, likelihoods)
    return total


def _behind(values: Floats, count: int, offset: int, rising: bool) -> Floats:
    """For each of so many levels, the first being `offset` behind the first of the values (the last axis), the sum of
    the values at levels above it, or below it."""
    import numpy as np

    cumulative = np.concatenate([np.zeros((*values.shape[:-1], 1)), values.cumsum(axis=-1)], axis=-1)
    columns = np.arange(count) + offset
    if rising:
        columns = columns + 1
    below: Floats = cumulative[..., columns.clip(0, values.shape[-1])]
    return cumulative[..., -1:] - below if rising else below
