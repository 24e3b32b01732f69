"""The expected information of a run, in bits: which version is worth the next measurement, and how many runs of it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from perfcore_command_bisect import noise
from perfcore_command_bisect.search import Belief, Question

# Runs of a version in one session. More than eight tell nearly the same as eight, while another version may tell more.
_TIMES = (1, 2, 3, 4, 6, 8)
# Points of the grids for probabilities and values: the version chosen and the runs change with no finer grid
_POINTS = 32


def most_informative(question: Question, belief: Belief) -> int | None:
    """The version whose run is expected to tell most. Next to broken versions others are likely to be broken too: the
    more of them stand in a row, the less a neighbour is worth."""
    information = _information(belief)
    sums = question.sums(belief.probabilities)
    # A millionth of a bit is rounding: nothing more can be learnt.
    best, most = None, 1e-6
    for index in range(1, question.places - 1):
        if index in question.broken:
            continue
        worth = _interpolated(information, sums[index]) * _chance(index, question.broken)
        if worth > most:
            best, most = index, worth
    return best


def _chance(place: int, broken: frozenset[int]) -> float:
    chance = 1.0
    for side in (-1, 1):
        distances = [(broken_index - place) * side for broken_index in broken if (broken_index - place) * side > 0]
        if not distances:
            continue
        distance = min(distances)
        row = 0
        while place + side * (distance + row) in broken:
            row += 1
        # A guess with the right limits: 1 next to a single broken version or far away, little next to a long row.
        chance = min(chance, distance / (distance + 0.5 * (row - 1)))
    return chance


def _information(belief: Belief) -> list[float]:
    """What a run is expected to tell, in bits, where the version is bad with probability 0, 1/_POINTS, … 1."""
    good, bad = _densities(belief)
    return [_mutual(good, bad, point / _POINTS) for point in range(_POINTS + 1)]


def _densities(belief: Belief) -> tuple[list[float], list[float]]:
    """The likeliest noise around both levels, as shares of steps that cover them."""
    # Twice as far above as below, for the noise is skewed to the right.
    low, high = min(0.0, belief.step) - 3 * belief.scale, max(0.0, belief.step) + 6 * belief.scale
    places = [low + (high - low) * (i + 0.5) / (2 * _POINTS) for i in range(2 * _POINTS)]
    densities = []
    for level in (0.0, belief.step):
        values = [math.exp(noise.log_density(position - level, belief.scale, belief.shape)) for position in places]
        total = sum(values)
        densities.append([value / total for value in values])
    return densities[0], densities[1]


def _mutual(good: Sequence[float], bad: Sequence[float], share: float) -> float:
    """What an amount tells about its side, in bits."""
    # The mutual information of the side and an amount: D. V. Lindley, On a Measure of the Information Provided by an
    # Experiment, 1956.
    total = 0.0
    for g, b in zip(good, bad, strict=True):
        mixed = (1 - share) * g + share * b
        if g > 0 and share < 1:
            total += (1 - share) * g * math.log2(g / mixed)
        if b > 0 and share > 0:
            total += share * b * math.log2(b / mixed)
    return total


def _interpolated(values: Sequence[float], share: float) -> float:
    position = min(max(share, 0.0), 1.0) * (len(values) - 1)
    low = min(int(position), len(values) - 2)
    return values[low] + (values[low + 1] - values[low]) * (position - low)


def best_runs(belief: Belief, share: float, setup: float, *, paired: bool = True) -> int:
    """How often the version is run: so that most is learnt for the runs it takes, with those of an end if `paired`."""
    good, bad = _densities(belief)
    # The symmetric divergence of H. Jeffreys (1946). For two normal distributions it is the square of their distance in
    # standard deviations; it adds up over independent runs, so the mean of n runs is sqrt(n * apart) deviations away.
    apart = sum((b - g) * math.log(b / g) for g, b in zip(good, bad, strict=True) if g > 0 and b > 0)

    def worth(times: int) -> float:
        runs = times + runs_of_end(times, belief.drifts) * paired
        return _normal_information(math.sqrt(apart * times), share) / (runs + setup)

    # Of equal worth the fewest runs: the next choice knows more.
    return max(_TIMES, key=lambda times: (worth(times), -times))


def _normal_information(distance: float, share: float) -> float:
    """What a normal amount tells about its side, the sides being so many standard deviations apart."""
    # Beyond four standard deviations lie 6e-5 of a normal distribution.
    low, high = -4.0, distance + 4.0
    places = [low + (high - low) * (i + 0.5) / _POINTS for i in range(_POINTS)]
    good = [math.exp(-0.5 * position * position) for position in places]
    bad = [math.exp(-0.5 * (position - distance) ** 2) for position in places]
    return _mutual([g / sum(good) for g in good], [b / sum(bad) for b in bad], share)


def runs_of_end(times: int, drifts: bool) -> int:
    # Where sessions drift, the end's error counts as much as the version's. Otherwise earlier runs of the end help,
    # and one more is a check that the machine stands still.
    return times if drifts or times > 2 else 1
