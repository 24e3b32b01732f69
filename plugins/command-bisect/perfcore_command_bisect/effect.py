"""By how much the two ends of a bisection differ, whether that matters, and whether more runs of them would tell.

Only the ends' own runs count here: versions between them would be put on the side that suits them best, and so make a
difference out of noise.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import NormalDist

import attrs

LEVEL = 0.95  # of the interval, as everywhere in perfcore
_WITHIN = 1e-9  # nobody's arithmetic is more exact
_KEPT = 12.0  # nats below the best explanation of the noise: e^-12 is 6e-6, which moves no quantile
_HOPE = 1.3  # standard errors by which the difference may be larger than it seems: once in ten it is

Row = Sequence[float]


@attrs.frozen
class EndDifference:
    """The bad end's level less the good one's, with its interval, whichever sign it has. `p_exceeds_threshold` is the
    probability that the ends differ by more than `smallest`, in the likelier direction."""

    value: float
    low: float
    high: float
    smallest: float
    p_exceeds_threshold: float

    @property
    def negligible(self) -> bool:
        """Whether the whole interval is of differences that do not matter."""
        return max(-self.low, self.high) <= self.smallest * (1 + _WITHIN)

    def scaled(self, unit: float) -> EndDifference:
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


def of_ends(kinds: Iterable[tuple[Row, Row]], offset: int, width: float, smallest: float) -> EndDifference:
    """From the log likelihoods of the good end's runs at its levels, and of the bad end's at its own, for each kind of
    noise. Levels are `width` apart; the first good one is `offset` of them above the first bad one."""
    kind_values = [(max(good) + max(bad), good, bad) for good, bad in kinds]
    best = max(top for top, _, _ in kind_values)
    steps: dict[int, float] = {}
    for top, good, bad in kind_values:
        if top < best - _KEPT:
            continue
        ones = [math.exp(value - max(good) + top - best) for value in good]
        others = [math.exp(value - max(bad)) for value in bad]
        # The distribution of a difference is a convolution; with some dozen levels a side no transform is worth while.
        for a, bad_density in enumerate(ones):
            for b, good_density in enumerate(others, -a - offset):
                steps[b] = steps.get(b, 0.0) + bad_density * good_density
    middle, low, high = (width * quantile(steps, share) for share in (0.5, (1 - LEVEL) / 2, (1 + LEVEL) / 2))
    p_exceeds_threshold = max(
        _above(steps, smallest / width), _above({-b: p for b, p in steps.items()}, smallest / width)
    )
    return EndDifference(middle, low, high, smallest, p_exceeds_threshold)


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
