"""How likely it is that a level began at each point of a series, from all ways to cut it into stretches of one level.

Levels are taken from a finite grid, so that the cost of a point at a level may be any number: bounded, skewed, with
two valleys. A level stays, or with the probability `h` every other one follows it, each as likely. With `A_t(k)` the
probability of the first `t` points if the last of them is at level `k` of `K`,

    A_t(k) = ((1 - h) A_{t-1}(k) stay_t(k) + h / K move_t(k) sum_j A_{t-1}(j)),

where `stay` is the likelihood of a point at the level of its predecessor and `move` that of the first one at a new
level. It is the forward recursion of a hidden Markov model (L. Rabiner, 1989, Proceedings of the IEEE 77(2)), and with
the backward one it gives the probability of a change at every point (P. Fearnhead, 2006, Statistics and Computing
16(2), does the same with levels that are integrated out). It takes time in proportion to points times levels, whatever
the number of changes. The cheapest cut alone would name one place of a small step out of many that are as good, and
ask as much evidence for it as if the others did not exist.
"""

from __future__ import annotations

import math
from typing import TypeAlias

import attrs
import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]

# Where a change has to explain 6.5 nats, one in 110 versions changes (e^-4.7): the rest is what the choice among some
# tens of levels costs, less what a step of one spread, whose place is not certain, gains over a single place.
_PLACE = 1.8  # nats
_RAREST = 1e-100  # probability of a change, whatever the penalty: it keeps the sums within the range of floats
_REACH = 3  # points on either side of a place within which it is the same change
_EDGE = 0.5  # weight of a place that far away when the middle of several is chosen
# As likely as not; slightly less, since some of the probability of a change lies beyond `_REACH`.
_LIKELY = 0.49
# 16 points that cost 4.6 nats each at most stay far within the range of floats.
_BLOCK = 16  # points whose recursion is solved at once, a power of two
_AROUND = np.ones(2 * _REACH + 1)
_MIDDLE = 1 - (1 - _EDGE) * np.abs(np.arange(-_REACH, _REACH + 1)) / _REACH
_NEAREST = np.argsort(np.abs(np.arange(-_REACH, _REACH + 1)), kind="stable")
_LATER = np.tri(_BLOCK, k=-1, dtype=bool)


@attrs.frozen(eq=False)
class Account:
    """The costs of every point (rows) at every level (columns) under one model, in nats: where it stays, and where it
    is the first of a stretch, if that differs."""

    stay: Floats
    move: Floats | None = None

    @property
    def first(self) -> Floats:
        return self.stay if self.move is None else self.move


@attrs.frozen(eq=False)
class Passage:
    """The forward recursion through one account, in blocks of points: `stayed` is the likelihood that a level has kept
    from the start of the block up to each point (before it: `reached`), `entered` what multiplies it where the level
    began within the block. `paths` leads from the sums that would be without changes within the block to `sums`, those
    before each point. `starts` and `ends` are the probabilities of the levels around each block.

    `cost` is the negative log likelihood of the series, `quiet` the probability that nothing changed at all.
    """

    count: int
    stayed: Floats
    reached: Floats
    entered: Floats
    paths: Floats
    sums: Floats
    starts: Floats
    ends: Floats
    cost: float
    quiet: float

    def probabilities(self) -> Floats:
        """That a level begins at each point."""
        begun = np.empty_like(self.sums)
        after = np.ones(self.starts.shape[1])
        for number in range(len(begun) - 1, -1, -1):
            kept = self.stayed[number, -1] * after
            begins = self.entered[number].dot(kept).dot(self.paths[number])
            begun[number] = self.sums[number] * begins / self.ends[number].dot(after)
            after = kept + begins.dot(self.reached[number])
            after /= after.max()
        probabilities: Floats = begun.reshape(-1)[: self.count] * (1 - self.quiet)
        return probabilities

    def levels(self, grid: Floats) -> Floats:
        """The mean level at each point as far as the points up to it tell."""
        began = (self.entered * self.sums[:, :, None]).cumsum(axis=1)
        ahead = (self.stayed * (self.starts[:, None] + began)).reshape(-1, len(grid))[: self.count]
        means: Floats = ahead @ grid / ahead.sum(axis=1)
        return means


def passage(account: Account, penalty: float) -> Passage:
    """The forward recursion. The sums s over all levels before each point of a block follow from those that a block
    without changes would have, s = r + N s, where N is strictly triangular; the inverse of 1 - N is a product of a few
    matrices without any negative number, so nothing cancels out. All blocks have theirs at once, and what is left to
    take in turn is one step for a block."""
    hazard = min(max(math.exp(_PLACE - penalty), _RAREST), 0.5)
    count, width = account.stay.shape
    blocks = -(-count // _BLOCK)
    least = account.stay.min(axis=1)
    logarithms = np.zeros((blocks * _BLOCK, width))
    logarithms[:count] = least[:, None] - account.stay + math.log1p(-hazard)
    entered = np.zeros_like(logarithms)
    rate = hazard / width / (1 - hazard)
    entered[1:count] = rate if account.move is None else rate * np.exp(account.stay[1:] - account.move[1:])
    shape = (blocks, _BLOCK, width)
    stayed = np.exp(logarithms.reshape(shape).cumsum(axis=1))
    reached = np.concatenate([np.ones((blocks, 1, width)), stayed[:, :-1]], axis=1)
    entered = entered.reshape(shape) / reached
    paths = _inverse(np.where(_LATER, reached @ entered.transpose(0, 2, 1), 0.0))
    sums, starts, ends = np.empty(shape[:2]), np.empty((blocks, width)), np.empty((blocks, width))
    level, ones = np.exp(account.stay[0] - account.first[0]) / (width * (1 - hazard)), np.ones(width)
    for number in range(blocks):
        starts[number] = level
        sums[number] = paths[number].dot(reached[number].dot(level))
        ends[number] = last = stayed[number, -1] * (level + sums[number].dot(entered[number]))
        level = last / last.dot(ones)
    unchanged = -account.stay[1:].sum(axis=0) - account.first[0]
    still = float(unchanged.max())
    still += math.log(float(np.exp(unchanged - still).mean()))
    total = float(np.logaddexp(still, np.log(ends.sum(axis=1)).sum() - least.sum()))
    return Passage(count, stayed, reached, entered, paths, sums, starts, ends, -total, math.exp(still - total))


def _inverse(triangles: Floats) -> Floats:
    """The inverse of 1 - N is (1 + N) (1 + N^2) (1 + N^4) ..., and N^_BLOCK is 0."""
    inverse, power = triangles + np.eye(_BLOCK), triangles
    for _ in range(_BLOCK.bit_length() - 2):
        power = power @ power
        inverse = inverse + inverse @ power
    return inverse


def places(probabilities: Floats) -> list[int]:
    """The points at which levels began more likely than not. A change is where most of its probability lies near: one
    place of a small step is seldom much likelier than the next."""
    rest, found = np.concatenate([np.zeros(_REACH), probabilities, np.zeros(_REACH)]), list[int]()
    while True:
        near = np.convolve(rest, _AROUND, "valid")
        near[found] = 0.0
        if near.max() < _LIKELY:
            return sorted(set(found) - {0})
        alone = rest[_REACH:-_REACH]
        middle = (
            alone if alone.max() >= _LIKELY else np.where(near >= _LIKELY, np.convolve(rest, _MIDDLE, "valid"), 0.0)
        )
        place = int(middle.argmax())
        found.append(place)
        window = rest[place : place + len(_AROUND)]
        taken = np.minimum(window[_NEAREST].cumsum(), 1.0)
        window[_NEAREST] -= np.diff(taken, prepend=0.0)


def stretch_means(values: Floats, starts: list[int]) -> Floats:
    """The mean of the stretch that each point is in."""
    bounds = np.array([0, *starts])
    lengths = np.diff([*bounds, len(values)])
    return np.repeat(np.add.reduceat(values, bounds) / lengths, lengths)
