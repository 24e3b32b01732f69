"""What is left of a change when its values were divided by factors that are only estimated: those of sessions, and of
machines."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

import msgspec
import numpy as np
from msgspec.structs import replace

from perfcore_check_changepoint.partition import Floats
from perfcore_check_changepoint.points import ChangePoint
from perfcore_check_changepoint.sizes import p_value

_PLACES = 16  # of a change that are tried, at most, so that the time is bounded
_NEAR = 256  # points of a level that are looked at, from the change on


class Factors(msgspec.Struct, frozen=True, eq=False):
    """`share[i, s]` is the part of the runs of point i that was divided by factor s, and `covariance` that of the
    logarithms of the factors. `noise` is the variance that point i has beside that of all points."""

    share: Floats
    covariance: Floats
    noise: Floats | float = 0.0

    @classmethod
    def together(cls, several: Sequence[Factors]) -> Factors:
        """Several independent kinds of factors on the same points, with the noise of the first."""
        covariance = np.zeros((width := sum(len(factors.covariance) for factors in several), width))
        start = 0
        for factors in several:
            end = start + len(factors.covariance)
            covariance[start:end, start:end] = factors.covariance
            start = end
        return cls(np.hstack([factors.share for factors in several]), covariance, several[0].noise)

    def part(self, start: int, end: int) -> Factors:
        noise = self.noise[start:end] if isinstance(self.noise, np.ndarray) else self.noise
        share = self.share[start:end]
        used = share.any(axis=0)
        if used.all():
            return Factors(share, self.covariance, noise)
        return Factors(share[:, used], self.covariance[np.ix_(used, used)], noise)

    def certain(self, of_one: float, places: Sequence[int]) -> Floats:
        """The variance of a step at each of these points with known factors as a part of that without, where the values
        of all points have the variance `of_one`, by generalised least squares (A. C. Aitken, 1935): the values have the
        covariance V = D + Z C Z', and its inverse is W - W Z (I + C Z'WZ)^-1 C Z'W with W = D^-1 (M. A. Woodbury,
        1950)."""
        weight = 1 / (of_one + self.noise * np.ones(len(self.share)))
        weighted = self.share * weight[:, None]
        inner = np.eye(len(self.covariance)) + self.covariance @ (weighted.T @ self.share)
        taken = np.linalg.solve(inner, self.covariance)
        sums, weights = weighted.cumsum(axis=0), weight.cumsum()
        parts = []
        for place in places:
            sides = np.stack([sums[place - 1], sums[-1] - sums[place - 1]])
            own = np.diag([weights[place - 1], weights[-1] - weights[place - 1]])
            (before, both), (_, after) = (own - sides @ taken @ sides.T).tolist()
            known = of_one * (1 / place + 1 / (len(weight) - place))
            # Their ratio is the inverse of the variance of the step. By rounding, both may be 0 or less.
            determinant, total = before * after - both * both, before + after + 2 * both
            parts.append(min(max(known * determinant / total, 0.0), 1.0) if total > 0 else 0.0)
        return np.array(parts)


class Doubt(msgspec.Struct, frozen=True, eq=False):
    """The factors that points were divided by. `views` are ways to see the points that use no value twice, as a point
    and for a factor: each tells a change by itself, and the best of them counts. `trust` is the part that counts of the
    evidence that they leave."""

    factors: Factors
    views: tuple[Factors, ...]
    trust: float = 1.0

    def part(self, start: int, end: int) -> Doubt:
        """That of the points from `start` on that come before `end`."""
        return Doubt(self.factors.part(start, end), tuple(view.part(start, end) for view in self.views), self.trust)

    def believed(self, found: Sequence[ChangePoint], penalty: float, confidence: float) -> list[ChangePoint]:
        """The changes, with as much evidence and as wide an interval as is left when the factors are not quite known.
        Those that may as well be the machine are left out."""
        levels = [change for change in found if change.kind == "level"]
        drifts = [change for change in found if change.until is not None]
        bounds = [0, *(change.index for change in levels), len(self.factors.share)]
        widened = {
            change: self._doubted(change, start, end, confidence)
            for change, start, end in zip(levels, bounds, bounds[2:], strict=False)
        }
        widened |= {change: self._doubted_drift(change, confidence) for change in drifts}
        doubted = (widened.get(change, change) for change in found)
        return [c for c in doubted if c.gain >= penalty and (c.kind == "noise" or not c.low <= 0 <= c.high)]

    def _doubted_drift(self, drift: ChangePoint, confidence: float) -> ChangePoint:
        """A drift is doubted as a step from its first half to its second would be."""
        assert drift.until is not None
        middle = (drift.index + drift.until) // 2 + 1
        step = replace(drift, index=middle)
        return replace(self._doubted(step, drift.index - 1, drift.until + 1, confidence), index=drift.index)

    def _doubted(self, change: ChangePoint, start: int, end: int, confidence: float) -> ChangePoint:
        """The interval is as wide as the levels of all points on both sides vary with the factors. The evidence is what
        is left of it when the points whose factor is less certain count for less: those that share their factor with
        points on the other side tell the change by themselves. It has to be there wherever the change may be."""
        start, end = max(start, change.index - _NEAR), min(end, change.index + _NEAR)
        half, middle = (change.high - change.low) / 2, (change.high + change.low) / 2
        variance = (
            (half / change.before / NormalDist().inv_cdf((1 + confidence) / 2)) ** 2 if change.before > 0 else 0.0
        )
        share = self.factors.share
        apart = share[change.index : end].mean(axis=0) - share[start : change.index].mean(axis=0)
        doubt = float(apart @ self.factors.covariance @ apart)
        if not (doubt > 0 and variance > 0 and math.isfinite(variance)):
            return change
        first, last = max(change.earliest, start + 1), min(change.latest, end - 1)
        places = {change.index, *np.linspace(first, last, min(max(last - first + 1, 1), _PLACES)).astype(int).tolist()}
        of_one = variance / (1 / (change.index - start) + 1 / (end - change.index))
        views = [view.part(start, end) for view in self.views]
        within = [place - start for place in sorted(places)]
        # The gain is bounded, as two points may be strays, where the evidence of normal noise is not: of that is taken.
        certain = float(np.max([view.certain(of_one, within) for view in views], axis=0).min())
        evidence = (middle / change.before) ** 2 / variance / 2
        gain = min(change.gain, self.trust * certain * max(evidence, change.gain))
        wider = half * math.sqrt(1 + doubt / variance)
        return replace(
            change, gain=gain, p_value=p_value(gain, len(self.factors.share)), low=middle - wider, high=middle + wider
        )
