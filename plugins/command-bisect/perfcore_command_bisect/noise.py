"""How likely an amount is at a level, for noise that is skewed or heavy-tailed and has spikes.

Amounts are taken as logarithms where all are positive, so that a level is a factor. The noise around a level is a
shifted log-normal, `scale * (exp(skew * z) - 1) / skew` with a normal z: symmetric for a skew of 0, and the more
skewed to the right the greater it is. Or it is Student's t, whose tails on both sides are the heavier the fewer its
degrees of freedom: runs far from a level are common then, and say little. A share of the runs, SPIKES, is something
else: mostly far above, now and then below, with tails so heavy that no single run outweighs many others. Neither scale
nor shape is known: they are summed over, which is why few runs claim little.
"""

from __future__ import annotations

import functools
import math
import statistics
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, TypeAlias

import attrs

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]


@attrs.frozen
class Shape:
    """The shape of the noise: a shifted log-normal of a `skew`, or Student's t with so many degrees of `freedom`."""

    skew: float = 0.0
    freedom: float = math.inf


NORMAL = Shape()
# The shifted log-normal from symmetric to a skewness of about five, beyond which spikes explain a run better; and
# Student's t between the normal distribution and tails as heavy as those of spikes (2 degrees).
SHAPES = (*map(Shape, (0.0, 0.3, 0.6, 0.9)), Shape(freedom=2.0), Shape(freedom=4.0))
# Factors of a first guess of the scale: eight runs leave an uncertainty of about a factor of two to each side
SCALES = tuple(2.0 ** (step / 2) for step in range(-3, 4))
# The share of runs that are disturbed: generous, so that one run never outweighs many (benchmarks/bisection.py has 5 %)
SPIKES = 0.08
# Spikes: their share above the level, and the median of their distance above and below it, in scales. Density
# 1 / (F (1 + u / F)^2) (K. S. Lomax, 1954) falls off so slowly that ten times as far costs 4.6 nats at most.
_ABOVE, _FAR_ABOVE, _FAR_BELOW = 0.85, 5.0, 2.0
_NORMAL = math.sqrt(2 * math.pi)
FINE = 4  # levels per scale: a quarter of the scale is less than the standard error of sixteen runs
# Where most amounts are equal: the least scale, as a part of how far the others are away. About 1 / sqrt(12), the
# standard deviation of rounding to steps of 1.
_TIED = 0.3
# The tables reach from 40 scales below a level to 160 above it, where only spikes are left. 32 cells per scale are
# eight for each of the levels: a compromise between exactness and the time that it takes to fill the tables.
_REACH, _CELLS = 40, 32


@attrs.frozen
class Grid:
    """The levels that are looked at, `first / FINE` to `last / FINE` of a scale `2 ** (half / 2)`."""

    half: int
    first: int
    last: int

    @property
    def scale(self) -> float:
        return math.pow(2.0, self.half / 2)

    @property
    def levels(self) -> tuple[float, ...]:
        return tuple(position * self.scale / FINE for position in range(self.first, self.last + 1))


def grid(half: int, centre: float, runs: float) -> Grid:
    """The levels that are possible around a centre that so many runs suggest."""
    step = math.pow(2.0, half / 2) / FINE
    # 3.2 standard errors of a mean, 2.6 of a median, and one scale for a centre that is a guess.
    reach = FINE * (1 + 3.2 / math.sqrt(max(1.0, runs)))
    return Grid(half, math.floor(centre / step - reach), math.ceil(centre / step + reach))


def half_steps(scale: float) -> int:
    """The scale as a whole number of half powers of two, so that little changes from run to run."""
    return round(2 * math.log2(scale))


def scale_of(residuals: Sequence[float], step: float, least: float) -> float:
    """A first guess of the scale: from the median of how far amounts are from their level. Where most are the same
    number, as those of a coarse clock, the others tell that there is noise: those that are no further away than twice
    the step, of which the nearest is a tick, and of the rest those that are too many to be spikes."""
    if not residuals:
        return least
    # Residuals from the median of their own few runs are too small: of two times four normal runs the estimate comes to
    # 0.68 of the truth without this factor and 0.81 with it, of two times sixteen to 0.93 and 0.97.
    few = 1 + 1.6 / len(residuals)
    sizes = sorted(map(abs, residuals))
    middle = statistics.median(sizes)
    if middle > least:
        # 1 / 0.6745, the quartile of the normal distribution: the usual scaling of the median absolute deviation.
        return 1.4826 * few * middle
    outer = sizes[max(0, len(sizes) - 1 - math.ceil(SPIKES * len(sizes)))]
    near = [size for size in sizes if least < size <= 2 * step]
    return max(least, 1.4826 * few * middle, _TIED * max((outer, *near)), min(near, default=0.0))


@functools.lru_cache(maxsize=8192)
def likelihoods(amounts: tuple[float, ...], levels: Grid, share: float) -> Floats:
    """The log likelihood of all the amounts at every level, each counting as that share of a run: a row for each scale
    and shape, shapes in turn."""
    import numpy as np

    distances = np.subtract.outer(amounts, levels.levels)
    rows = []
    for factor in SCALES:
        scale = levels.scale * factor
        cells = np.clip(distances * (_CELLS / scale) + _REACH * _CELLS, 0, 5 * _REACH * _CELLS).astype(int)
        # The tables are for a scale of 1; the density at another scale is divided by it.
        rows.append(_tables()[:, cells].sum(axis=1) - math.log(scale) * len(amounts))
    likelihoods_of_kinds: Floats = share * np.concatenate(rows)
    likelihoods_of_kinds.flags.writeable = False
    return likelihoods_of_kinds


@functools.cache
def _tables() -> Floats:
    """The log density for each shape at distances so many scales from the level: it is asked for so often."""
    import numpy as np

    cells = range(5 * _REACH * _CELLS + 1)
    return np.array([[log_density((cell + 0.5) / _CELLS - _REACH, 1.0, shape) for cell in cells] for shape in SHAPES])


def log_density(distance: float, scale: float, shape: Shape) -> float:
    """Of an amount so far from its level."""
    u = distance / scale
    if u >= 0:
        spike = SPIKES * _ABOVE / _FAR_ABOVE / (1 + u / _FAR_ABOVE) ** 2
    else:
        spike = SPIKES * (1 - _ABOVE) / _FAR_BELOW / (1 - u / _FAR_BELOW) ** 2
    core = _log_normal(u, shape.skew) if math.isinf(shape.freedom) else _student(u, shape.freedom)
    return math.log(((1 - SPIKES) * core + spike) / scale)


def _log_normal(u: float, skew: float) -> float:
    """The density of a shifted log-normal of scale 1."""
    slope, z = 0.0, u
    if skew:
        grown = 1 + skew * u
        # It ends at -1 / skew.
        if grown <= 1e-9:
            return 0.0
        slope = math.log(grown)
        z = slope / skew
    exponent = 0.5 * z * z + slope
    # exp(-745) is the last float above zero; the spikes outweigh it long before.
    return math.exp(-exponent) / _NORMAL if exponent < 700 else 0.0


def _student(u: float, freedom: float) -> float:
    """The density of Student's t (1908)."""
    norm = math.gamma((freedom + 1) / 2) / math.gamma(freedom / 2) / math.sqrt(freedom * math.pi)
    return norm * math.pow(1 + u * u / freedom, -(freedom + 1) / 2)


def logarithms(amounts: Iterable[float]) -> tuple[float, ...] | None:
    """None where one is not positive: there a level is no factor."""
    values = tuple(amounts)
    return tuple(map(math.log, values)) if all(value > 0 for value in values) else None
