"""By how much two levels differ, whether that matters, and whether more runs would tell.

Of the ends only their own runs count here: versions between them would be put on the side that suits them best, and so
make a difference out of noise.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from perfcore_command_bisect.noise import Floats

LEVEL = 0.95  # of the interval, as everywhere in perfcore
_WITHIN = 1e-9  # nobody's arithmetic is more exact
_KEPT = 12.0  # nats below the best explanation of the noise: e^-12 is 6e-6, which moves no quantile
_HOPE = 1.3  # standard errors by which the difference may be larger than it seems: once in ten it is


@attrs.frozen
class Difference:
    """The bad level less the good one, with its interval, whichever sign it has. `p_exceeds_threshold` is the
    probability that they differ by more than `smallest`, in the likelier direction."""

    value: float
    low: float
    high: float
    smallest: float
    p_exceeds_threshold: float

    @property
    def negligible(self) -> bool:
        """Whether the whole interval is of differences that do not matter."""
        return max(-self.low, self.high) <= self.smallest * (1 + _WITHIN)

    def scaled(self, unit: float) -> Difference:
        return attrs.evolve(
            self, value=self.value * unit, low=self.low * unit, high=self.high * unit, smallest=self.smallest * unit
        )

    def hopeless(self, runs: int, most: int, sure: float) -> bool:
        """Whether so many runs of each end will not do either, though the difference may be larger than it seems."""
        if runs >= most:
            return True
        # The standard error if the interval were normal; with more runs it shrinks with the root of their number.
        error = (self.high - self.low) / 2 / NormalDist().inv_cdf((1 + LEVEL) / 2)
        required = self.smallest + NormalDist().inv_cdf(sure) * error * math.sqrt(runs / most)
        return abs(self.value) + _HOPE * error < required


def between(good: Floats, bad: Floats, offset: int, width: float, smallest: float) -> Difference:
    """From the log likelihoods of the good runs at their levels, and of the bad ones at their own, a row for each kind
    of noise. Levels are `width` apart; the first good one is `offset` of them above the first bad one."""
    import numpy as np

    tops = good.max(axis=1) + bad.max(axis=1)
    likely = tops > tops.max() - _KEPT
    good, bad, tops = good[likely], bad[likely], tops[likely] - tops.max()
    ones = np.exp(good - good.max(axis=1, keepdims=True) + tops[:, None])
    others = np.exp(bad - bad.max(axis=1, keepdims=True))
    steps = weights_of_steps(ones.T @ others, offset)
    middle, low, high = (width * quantile(steps, share) for share in (0.5, (1 - LEVEL) / 2, (1 + LEVEL) / 2))
    p_exceeds_threshold = max(
        _above(steps, smallest / width), _above({-b: p for b, p in steps.items()}, smallest / width)
    )
    return Difference(middle, low, high, smallest, p_exceeds_threshold)


def weights_of_steps(weights: Floats, offset: int) -> dict[int, float]:
    """The weights of pairs of a good level (rows) and a bad one, by how far the bad level is above the good one."""
    import numpy as np

    goods, bads = weights.shape
    steps = np.arange(bads) - np.arange(goods)[:, None] + (goods - 1)
    sums = np.bincount(steps.ravel(), weights.ravel())
    return {step - (goods - 1) - offset: weight for step, weight in enumerate(sums.tolist())}


def quantile(weights: dict[int, float], share: float) -> float:
    """Between the cells of a histogram, whose cells are one wide."""
    target, cumulative = share * sum(weights.values()), 0.0
    for cell in sorted(weights):
        if cumulative + weights[cell] >= target:
            # Within the cell as if its weight were spread evenly.
            return cell - 0.5 + (target - cumulative) / weights[cell]
        cumulative += weights[cell]
    return float(max(weights))


def _above(weights: dict[int, float], place: float) -> float:
    """The share of such a histogram that lies above a place."""
    parts = (weight * min(1.0, max(0.0, cell + 0.5 - place)) for cell, weight in weights.items())
    return math.fsum(parts) / math.fsum(weights.values())
