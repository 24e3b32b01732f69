"""The effect of one version, by the runs of the versions around it.

The search assumes one change between the ends. If later versions made the program slower once more, the bad end shows
the sum of both changes. So the level before a version is estimated from the versions before it, nearest first, up to
the next change, and the level after it in the same way. Where another change may be is not known either: all ways to
divide a side into segments of one level count, each as much as it explains the runs (the product partition model:
D. Barry and J. A. Hartigan, 1993).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING

from perfcore_command_bisect import effect, noise
from perfcore_command_bisect.drift import Settled
from perfcore_command_bisect.effect import Difference
from perfcore_command_bisect.posterior import sums
from perfcore_command_bisect.search import Candidates, Question

if TYPE_CHECKING:
    from perfcore_command_bisect.noise import Floats

# The prior that a side has another change: most bisections are of one step, but those of long ranges are not.
_ANOTHER = 0.1
# Levels of a side. With more, those are coarser: of a side with several changes only the nearest level has to be exact.
_MOST_LEVELS = 200
_LEAST = 1e-9  # of a logarithm: below the rounding of the amounts


def effect_of(settled: Settled, question: Question, candidates: Candidates, threshold: float) -> Difference:
    """By how much the level changes with these versions, which no measurement tells apart. `threshold` is the smallest
    difference that matters."""
    measured = sorted({group.place for group in settled.groups})
    after = [place for place in measured if question.inside(place) >> candidates.places[0] & 1]
    before = [place for place in reversed(measured) if place not in after]
    half = noise.half_steps(max(_scale(settled), *(_spread(settled, side) / _MOST_LEVELS for side in (before, after))))
    good, bad = (_Side.of(settled, places, half) for places in (before, after))
    return effect.between(
        good.nearest(),
        bad.nearest(),
        good.levels.first - bad.levels.first,
        good.levels.scale / noise.FINE,
        threshold,
    )


class _Side:
    """The versions of one side, nearest first: for each the log likelihoods of its runs at all levels (last axis), for
    each kind of noise."""

    def __init__(self, levels: noise.Grid, rows: Floats) -> None:
        self.levels = levels
        self._rows = rows

    @classmethod
    def of(cls, settled: Settled, places: Sequence[int], half: int) -> _Side:
        import numpy as np

        medians = [_median(settled, place) for place in places]
        low, high = (noise.grid(half, level, 1) for level in (min(medians), max(medians)))
        levels = noise.Grid(half, low.first, high.last)
        return cls(levels, np.array([sums(settled, place, levels) for place in places]))

    def nearest(self) -> Floats:
        """The log likelihood of each level next to the change, given all runs of the side, for each kind of noise."""
        count = len(self._rows)
        change = _ANOTHER / max(1, count - 1)

        def prior(versions: int, end: int) -> float:
            """The logarithm of the prior that a segment of so many versions ends before `end`."""
            return (versions - 1) * math.log1p(-change) + (math.log(change) if end < count else 0.0)

        # From the farthest version on: the log likelihood of all versions from `start` on, over all their divisions
        # into segments and the levels of these.
        evidence = [self._rows[0, :, 0] * 0.0]
        for start in reversed(range(1, count)):
            segments = self._rows[start:].cumsum(axis=0)
            levels = _log_sum(segments) - math.log(segments.shape[2])
            terms = [
                level + prior(versions, start + versions) + evidence[-versions]
                for versions, level in enumerate(levels, 1)
            ]
            evidence.append(_log_sum_of(terms))
        segments = self._rows.cumsum(axis=0)
        nearest = [
            row + (prior(versions, versions) + evidence[-versions])[:, None] for versions, row in enumerate(segments, 1)
        ]
        return _log_sum_of(nearest)


def _amounts(settled: Settled, place: int) -> list[float]:
    return [amount for group in settled.groups if group.place == place for amount in group.amounts]


def _median(settled: Settled, place: int) -> float:
    return statistics.median(_amounts(settled, place))


def _spread(settled: Settled, places: Sequence[int]) -> float:
    """How far the levels of versions are from each other, in steps of the grid of a scale of 1."""
    medians = [_median(settled, place) for place in places]
    return (max(medians) - min(medians)) * noise.FINE


def _scale(settled: Settled) -> float:
    """A first guess of the noise, from runs and the medians of their own versions: a further change is no noise."""
    residuals = []
    for place in {group.place for group in settled.groups}:
        amounts = _amounts(settled, place)
        if len(amounts) > 1:
            middle = statistics.median(amounts)
            residuals += [amount - middle for amount in amounts]
    return noise.scale_of(residuals, 0.0, _LEAST)


def _log_sum(logarithms: Floats) -> Floats:
    """The logarithms of sums over the last axis, of numbers that are given by their logarithms."""
    import numpy as np

    most = logarithms.max(axis=-1)
    logarithms_of_sums: Floats = most + np.log(np.exp(logarithms - most[..., None]).sum(axis=-1))
    return logarithms_of_sums


def _log_sum_of(terms: Sequence[Floats]) -> Floats:
    import numpy as np

    return _log_sum(np.stack(terms, axis=-1))
