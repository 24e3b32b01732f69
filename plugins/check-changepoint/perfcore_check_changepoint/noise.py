"""What the noise of a series looks like, and what a value costs that is so far from its level.

The cost of a value is its negative log likelihood under a density that is estimated from the series itself: normal
where that explains the residuals, else a kernel estimate, which also fits skewed noise and noise with two modes.
"""

from __future__ import annotations

import math

import attrs
import numpy as np

from perfcore_check_changepoint.partition import Floats
from perfcore_check_changepoint.series import NORMAL, distinct, median

_STRAY = 0.03  # share of values that may come from anywhere
_REACH = 12.0  # half the width of the table, in spreads
_FINE = 16  # cells per spread
_BANDWIDTHS = (0.12, 0.2, 0.35, 0.55)  # in spreads
_PREFERENCE = 3.0  # nats by which a kernel estimate must beat the normal density
_HALF = int(_REACH * _FINE)
_CELLS = np.arange(-_HALF, _HALF + 1) / _FINE  # distances in spreads
_KERNELS = [np.exp(-0.5 * (np.arange(-_HALF, _HALF + 1) / (_FINE * width)) ** 2) for width in _BANDWIDTHS]


@attrs.frozen(eq=False)
class Density:
    """Costs in a table over distances from the level, in cells of `step`. `excess` is above the cheapest and bounded;
    `floor` is the cheapest; `resolution` is how fine levels have to be told apart, in cells.
    `deviation` is that of normal noise."""

    excess: Floats
    floor: float
    step: float
    resolution: int
    deviation: float | None = None

    def cost(self, values: Floats, levels: Floats, spread: Floats | None = None) -> Floats:
        """The excess of every value (rows) at every level (columns), where the noise of the value is that many times
        the typical one."""
        if spread is not None:
            scaled = (values[:, None] - levels) / (spread * self.step)[:, None]
            return self.excess.take(np.rint(np.clip(scaled, -_HALF, _HALF)).astype(np.intp) + _HALF)
        cells = np.rint(values / self.step).astype(np.intp)[:, None] - np.rint(levels / self.step).astype(np.intp)
        cells += _HALF
        costs: Floats = self.excess.take(cells, mode="clip")
        return costs

    def grid(self, centers: Floats) -> Floats:
        """The levels worth a look, where the centers of the series are."""
        width = self.resolution * self.step
        return distinct(np.rint(centers / width)) * width


def normal(spread: float, bound: float) -> Density:
    """Normal noise, with strays."""
    return _table(_normal(0.0, 1.0), spread, 0.3, bound)


def estimate(residuals: Floats, quantum: float, bound: float) -> Density:
    """The density of the residuals.

    The bandwidth is the one with the greatest likelihood when every residual is predicted from the others (Duin,
    1976, IEEE Transactions on Computers C-25(11)); it is never so small that single steps of the clock show.
    """
    spread = max(median(np.abs(residuals - median(residuals))) * NORMAL, 0.05, 0.3 * quantum)
    scaled = residuals / spread
    cells = np.rint(scaled[np.abs(scaled) < _REACH] * _FINE).astype(np.intp) + _HALF
    counts = np.bincount(cells, minlength=len(_CELLS)).astype(float)
    tried = [*_normals(scaled, counts), *_smoothed(counts, len(scaled), quantum / spread)]
    best = max(tried, key=lambda attempt: attempt.likelihood)
    deviation = None if best.deviation is None else best.deviation * spread
    return attrs.evolve(_table(best.density, spread, best.width, bound), deviation=deviation)


@attrs.frozen(eq=False)
class _Attempt:
    """A density of noise with spread 1, how finely it is drawn, and the deviation of a normal one."""

    likelihood: float
    density: Floats
    width: float
    deviation: float | None = None


def _normals(scaled: Floats, counts: Floats) -> list[_Attempt]:
    """The normal densities of the middle, and of all but the far ones."""
    clipped = np.clip(scaled, -3, 3)
    mean = float(clipped.sum()) / len(clipped)
    deviation = max(math.sqrt(float(((clipped - mean) ** 2).sum()) / len(clipped)), 0.05)
    return [_normal_attempt(counts, median(scaled), 1.0), _normal_attempt(counts, mean, deviation)]


def _normal_attempt(counts: Floats, center: float, deviation: float) -> _Attempt:
    density = _normal(center, deviation)
    return _Attempt(_likelihood(counts, density) + _PREFERENCE, density, 0.3 * deviation, deviation)


def _smoothed(counts: Floats, size: int, quantum: float) -> list[_Attempt]:
    tried = []
    for bandwidth, kernel in zip(_BANDWIDTHS, _KERNELS, strict=True):
        width = max(bandwidth, 0.4 * quantum)
        shape = kernel if width == bandwidth else np.exp(-0.5 * (_CELLS / width) ** 2)
        reach = min(int(4 * width * _FINE) + 1, _HALF)
        near = shape[_HALF - reach : _HALF + reach + 1]
        near = near * (_FINE / near.sum())
        density = np.convolve(counts, near, "same") / size
        others = np.maximum(density * size - near[reach], 0.0) / max(size - 1, 1)
        tried.append(_Attempt(_likelihood(counts, others), density, width))
    return tried


def _normal(center: float, deviation: float) -> Floats:
    density: Floats = np.exp(-0.5 * ((_CELLS - center) / deviation) ** 2) / (deviation * math.sqrt(2 * math.pi))
    return density


def _mixed(density: Floats) -> Floats:
    mixed: Floats = density * (1 - _STRAY) + _STRAY / (2 * _REACH)
    return mixed


def _likelihood(counts: Floats, density: Floats) -> float:
    return float(counts @ np.log(_mixed(density)))


def _table(density: Floats, spread: float, width: float, bound: float) -> Density:
    """The density of noise with this spread from that of noise with spread 1."""
    cost = -np.log(_mixed(density))
    floor = float(cost.min())
    resolution = max(round(0.6 * width * _FINE), _FINE // 8)
    return Density(np.minimum(cost - floor, bound), floor + math.log(spread), spread / _FINE, resolution)
