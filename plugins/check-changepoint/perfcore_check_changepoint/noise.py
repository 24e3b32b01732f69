"""The noise of a series: its density, and the cost of a value by its distance from the level.

The cost of a value is its negative log likelihood under a density that is estimated from the series itself: normal
where that explains the residuals, else a kernel estimate, which also fits skewed noise and noise with two modes.
"""

from __future__ import annotations

import functools
import math

import msgspec
import numpy as np

from perfcore_check_changepoint.partition import Floats
from perfcore_check_changepoint.series import NORMAL, distinct, median, middle_of_ordered, within

_STRAY = 0.03  # share of values that may come from anywhere
# 16 cells in a spread are half as wide as the smallest bandwidth.
_REACH = 12.0  # half the width of the table, in spreads
_FINE = 16  # cells per spread
_BANDWIDTHS = (0.12, 0.2, 0.35, 0.55)  # in spreads
_CALM = 5.0  # times by which the noise of a quarter is larger where the rest is no noise
_BEYOND = 4.0  # deviations at which a residual counts no more for skewness and kurtosis
_UNREMARKABLE = 4.0  # of chi-squared with two degrees of freedom, which normal noise exceeds in 14 %
_ENOUGH = 30  # residuals whose skewness and kurtosis tell
_ALIKE = 0.25  # by which the deviation differs from the spread at most
_PREFERENCE = 3.0  # nats by which a kernel estimate must beat the normal density
# What is farther than the table has nothing to do with the level, and chance puts two such values near to each other
# more seldom than it makes two values stray. Of steps by half of the level (of 2.2 % of noise, 20 versions) 186 of 200
# were found after two versions without this, and are all; F1 (benchmarks/generated.py, 5,520 histories) is the same.
_FARTHER = 1.27  # times the bound, so that one such value at the end still costs less than a change
_HALF = int(_REACH * _FINE)
_CELLS = np.arange(-_HALF, _HALF + 1) / _FINE  # distances in spreads
_WIDTHS = np.array(_BANDWIDTHS)
_PADDED = 600  # cells for a convolution: no kernel reaches around


def _kernels(widths: Floats) -> Floats:
    """The kernels of these bandwidths around cell 0, in densities for noise of spread 1."""
    distances = np.minimum(np.arange(_PADDED), _PADDED - np.arange(_PADDED)) / _FINE
    shapes = np.exp(-0.5 * (distances / widths[:, None]) ** 2)
    shapes[:, distances > _REACH] = 0.0
    kernels: Floats = shapes * (_FINE / shapes.sum(axis=1, keepdims=True))
    return kernels


_STANDARD = _kernels(_WIDTHS)
_TRANSFORMED = np.fft.rfft(_STANDARD)


class Density(msgspec.Struct, frozen=True, eq=False):
    """Costs in a table over distances from the level, in cells of `step`. `excess` is above the cheapest and bounded;
    `floor` is the cheapest; `resolution` is the distance of neighbouring levels, in cells.
    `deviation` is that of normal noise."""

    excess: Floats
    floor: float
    step: float
    resolution: int
    deviation: float | None = None

    def cost(self, values: Floats, levels: Floats, spread: Floats | None = None) -> Floats:
        """The excess of every value (rows) at every level (columns), where the noise of the value is that many times
        the typical one. Several series, which are rows themselves, have levels of their own."""
        if spread is not None:
            scaled = (values[:, None] - levels) / (spread * self.step)[:, None]
            return self.excess.take(np.rint(np.clip(scaled, -_HALF, _HALF)).astype(np.intp) + _HALF)
        cells = np.rint(values / self.step).astype(np.intp)
        cells += _HALF
        apart = cells[..., None] - np.rint(levels / self.step).astype(np.intp)[..., None, :]
        costs: Floats = self.excess.take(apart, mode="clip")
        return costs

    def grid(self, centers: Floats, spread: Floats | None) -> Floats:
        """The levels worth a look, where the centers of the series are."""
        width = self.resolution * self.step * (1.0 if spread is None else min(float(spread.min()), 1.0))
        return distinct(np.rint(centers / width)) * width


@functools.lru_cache(maxsize=16)
def normal(spread: float, bound: float) -> Density:
    """Normal noise, with strays."""
    return _table(_normal(_CELLS, 0.0, 1.0), spread, 0.3, bound)


def estimate(residuals: Floats, quantum: float, bound: float) -> Density:
    """The density of the residuals.

    The bandwidth is the one with the greatest likelihood when every residual is predicted from the others (Duin,
    1976, IEEE Transactions on Computers C-25(11)); it is never so small that single steps of the clock show.
    """
    spread = _typical(residuals, quantum)
    scaled = residuals / spread
    middle = _middle(scaled)
    if _is_normal(scaled, *middle):
        return _of_normal(*middle, spread, bound)
    cells = np.rint(scaled[np.abs(scaled) < _REACH] * _FINE).astype(np.intp) + _HALF
    counts = np.bincount(cells, minlength=_PADDED).astype(float)
    widths, kernels, transformed = _WIDTHS, _STANDARD, _TRANSFORMED
    if 0.4 * quantum > widths[0] * spread:
        widths = np.maximum(widths, 0.4 * quantum / spread)
        kernels = _kernels(widths)
        transformed = np.fft.rfft(kernels)
    smooth = np.fft.irfft(np.fft.rfft(counts) * transformed, _PADDED)[:, : len(_CELLS)]
    # Every residual is left out of its own prediction; for a normal density the difference is negligible.
    occupied = counts.nonzero()[0]
    distances = _CELLS[occupied]
    normals = [(median(scaled), 1.0), middle]  # of the middle, and of all but the far ones
    predicted = np.empty((len(normals) + len(widths), len(occupied)))
    for row, (center, deviation) in zip(predicted, normals, strict=False):
        row[:] = _normal(distances, center, deviation)
    left_out = np.maximum(smooth[:, occupied] - kernels[:, :1], 0.0)
    np.divide(left_out, max(len(scaled) - 1, 1), out=predicted[len(normals) :])
    likelihoods = np.log(_mixed(predicted)) @ counts[occupied]
    likelihoods[: len(normals)] += _PREFERENCE
    best = int(likelihoods.argmax())
    if best >= len(normals):
        number = best - len(normals)
        return _table(smooth[number] / len(scaled), spread, float(widths[number]), bound)
    return _of_normal(*normals[best], spread, bound)


def _of_normal(center: float, deviation: float, spread: float, bound: float) -> Density:
    density = _normal(_CELLS, center, deviation)
    return _table(density, spread, 0.3 * deviation, bound, deviation=deviation * spread)


def _is_normal(scaled: Floats, mean: float, deviation: float) -> bool:
    """Whether skewness and kurtosis are those of normal noise (C. Jarque and A. Bera, 1987, International Statistical
    Review 55(2)), so that no other density need be tried."""
    if len(scaled) < _ENOUGH or abs(deviation - 1) > _ALIKE:
        return False
    standard = within((scaled - mean) / deviation, _BEYOND)
    squares = standard * standard
    skewness = float(squares.dot(standard)) / len(scaled)
    kurtosis = float(squares.dot(squares)) / len(scaled) - 3
    return len(scaled) * (skewness**2 / 6 + kurtosis**2 / 24) < _UNREMARKABLE


def _typical(residuals: Floats, quantum: float) -> float:
    """The spread of most residuals. Where half of a history hardly varies and the rest does, it is that of the rest:
    else all of that would be strays, which no level explains."""
    sizes = residuals - median(residuals)
    np.abs(sizes, sizes).sort()
    spread = max(middle_of_ordered(sizes) * NORMAL, 0.05, 0.3 * quantum)
    quarter_spread = float(sizes[3 * len(sizes) // 4]) / 2
    return quarter_spread if quarter_spread > _CALM * spread else spread


def _middle(scaled: Floats) -> tuple[float, float]:
    """Center and deviation of all but the far ones."""
    clipped = within(scaled, 3.0)
    mean = float(np.add.reduce(clipped)) / len(clipped)
    deviation = math.sqrt(max(float(clipped.dot(clipped)) / len(clipped) - mean * mean, 0.0))
    return mean, max(deviation, 0.05)


def _normal(cells: Floats, center: float, deviation: float) -> Floats:
    density: Floats = (cells - center) / deviation
    density *= density
    density *= -0.5
    np.exp(density, density)
    density /= deviation * math.sqrt(2 * math.pi)
    return density


def _mixed(density: Floats) -> Floats:
    mixed: Floats = density * (1 - _STRAY)
    mixed += _STRAY / (2 * _REACH)
    return mixed


def _table(density: Floats, spread: float, width: float, bound: float, deviation: float | None = None) -> Density:
    """The density of noise with this spread from that of noise with spread 1."""
    mixed = _mixed(density)
    cost = np.negative(np.log(mixed, mixed), mixed)
    floor = cost.item(cost.argmin())
    cost -= floor
    np.minimum(cost, bound, out=cost)
    cost[0] = cost[-1] = _FARTHER * bound
    resolution = max(round(0.6 * width * _FINE), _FINE // 8)
    return Density(cost, floor + math.log(spread), spread / _FINE, resolution, deviation)
