"""A level that wanders: one that warms up, fills or grows, and has no parts that last.

A division into levels follows it by many steps, though it has none. So the division competes with a level that is a
random walk with noise, or whose slope is one (the local level and the local linear trend: A. Harvey, 1989,
*Forecasting, Structural Time Series Models and the Kalman Filter*), and with steps beside the walk. Each of these costs
as much as any change does, and the one that explains most is added first. Where that is the shorter account (minimum
description length), its steps are changes, and those that only follow the walk are none.

All are compared under normal noise. If the noise around the steps has another shape, such as two modes, what that
saves counts for the steps.
"""

from __future__ import annotations

import functools
import math

import numpy as np

from perfcore_check_changepoint import model
from perfcore_check_changepoint.cosines import cosines, frequencies, step_cosines
from perfcore_check_changepoint.model import Fit
from perfcore_check_changepoint.partition import Floats
from perfcore_check_changepoint.series import Points, within

# Variances of the steps of the level, in those of the noise, and of the steps of its slope.
_LEVELS = np.concatenate([[0.0], 10.0 ** np.arange(-4, 2.1)])
_SLOPES = 10.0 ** np.arange(-8, 2.1)
# About half the logarithm of n for the size of the steps, and what remains for the choice of what wanders. A trade:
# a cheaper walk takes a staircase of small steps for one. With 6 and 9 nats, 15.8 and 16.8 false changes are in 1,000
# versions of wandering levels (25.4 without all this: benchmarks/wandering.py --each 10 --seeds 81 82 83).
_PRICE = 7.5  # nats for a wandering level
_CLIP = 3.0  # spreads beyond which a residual counts no more
_LEAST = 0.01  # variance of noise in squared spreads; below it the series has none, and no sum can be its estimate
_PATIENCE = 2  # steps that are added though they explain too little: two may explain what none does
_MANY = 30  # points for every change, below which changes are many
_ALIKE = 1.0  # standard deviations of the autocorrelation that independent residuals seldom have (16 %)
_CLEAR = 2.0  # penalties that each change explains beyond a walk on average, above which all of them are steps
_DEPENDENT = 1e-9  # share of a step's squares that others do not explain, below which it says nothing of its own


def lasting(points: Points, fit: Fit, penalty: float) -> list[int]:
    """The starts of the fit that are changes, whether the level wanders or not."""
    if not fit.starts:
        return fit.starts
    innovations = within(_innovations(points, fit), _CLIP)
    squares = float(innovations.dot(innovations))
    if not _may_wander(fit, innovations, squares):
        return fit.starts
    total = _total(points, fit, penalty, squares)
    steps, other = _beside_a_walk(points, fit, penalty, total)
    return fit.starts if total <= other else steps


def _may_wander(fit: Fit, innovations: Floats, squares: float) -> bool:
    """Whether changes are many, or there is more than a few levels with independent noise."""
    if fit.memory or fit.slope or fit.ramps or fit.wave is not None or len(fit.starts) * _MANY > len(innovations):
        return True
    return float(innovations[1:] @ innovations[:-1]) * math.sqrt(len(innovations)) > _ALIKE * squares


def _total(points: Points, fit: Fit, penalty: float, squares: float) -> float:
    """The length of the account by steps, in nats, without what an account by a walk has as well: growth and wave.
    `squares` are those of the innovations."""
    count, memory = len(points), fit.memory
    fresh = math.log(1 - memory**2) / 2 * (len(fit.starts) + 1)  # of the first point of every stretch
    total = (count - 1) / 2 * math.log(max(squares / (count - 1), _LEAST)) - fresh
    total += penalty * len(fit.starts) + (model.MEMORY if memory else 0.0)
    if fit.growth is not None or fit.shifts:  # the noise of these is in units that change
        return total
    if not points.single:
        residuals = points.per_run(_innovations(points, fit) - fit.point_residuals(points))
        of_runs = within(fit.residuals + residuals, _CLIP)
        squares = float(points.weight @ (of_runs * of_runs))
    variance = max(squares / points.total_weight, _LEAST)
    normal = count / 2 * math.log(2 * math.pi * math.e * variance) - fresh
    shaped = (fit.total - _prices(fit, count, penalty)) * count / points.total_weight
    return total - max(normal - shaped, 0.0)


def _innovations(points: Points, fit: Fit) -> Floats:
    """What the points have beside their level and what they inherit from the point before."""
    residuals = fit.point_residuals(points)
    if not fit.memory:
        return residuals
    innovations = residuals.copy()
    innovations[1:] -= fit.memory * residuals[:-1]
    first = [0, *fit.starts]
    innovations[first] = residuals[first] * math.sqrt(1 - fit.memory**2)
    return innovations


def _prices(fit: Fit, count: int, penalty: float) -> float:
    """What of the total of a fit is not the likelihood of its points."""
    prices = penalty * len(fit.starts) + sum(ramp.price for ramp in fit.ramps)
    prices += model.MEMORY if fit.memory else 0.0
    prices += model.slope_price(fit.slope * count) if fit.slope else 0.0
    return prices + (0.0 if fit.wave is None else model.WAVE)


def _beside_a_walk(points: Points, fit: Fit, penalty: float, limit: float) -> tuple[list[int], float]:
    """The starts of the fit that are steps beside a walk, and the length of that account; none where it is surely
    longer than the limit. Each step is added where it explains most; the others are then those parts of them that it
    does not explain (Gram and Schmidt)."""
    count, steps = len(points), len(fit.starts)
    # What the fit has a level for is no outlier, however few points it has.
    noise = points.noise if fit.growth is None else fit.growth
    amounts = np.where(np.abs(fit.point_residuals(points)) <= _CLIP * noise, points.centers, points.without_outliers())
    amounts -= fit.trend(count)
    observed = cosines(amounts if fit.wave is None else amounts - fit.wave)
    weights, logarithms = _walks(count)
    best_total = _shortest((weights @ (observed * observed))[:, None], logarithms, count).item()
    if best_total > limit + _CLEAR * penalty * steps:
        return [], math.inf
    walks = len(weights)
    # Products of the steps and the amounts with each other, for each walk.
    seen = np.concatenate([step_cosines(count, np.array(fit.starts)), observed[None, :]])
    weighted = (weights[:, None, :] * seen).reshape(walks * (steps + 1), -1)
    products = (weighted @ seen.T).reshape(walks, steps + 1, steps + 1)
    squares = products.diagonal(axis1=1, axis2=2)
    least = _DEPENDENT * squares
    chosen: list[int] = []
    best = 0
    while len(chosen) < min(steps, best + _PATIENCE):
        shares = products / np.maximum(squares, least)[:, None, :]
        lengths = _shortest(squares[:, -1:] - (products[:, -1] * shares[:, -1])[:, :-1], logarithms, count)
        lengths += penalty * (len(chosen) + 1)
        lengths[chosen] = math.inf
        step = int(lengths.argmin())
        chosen.append(step)
        if lengths[step] < best_total:
            best, best_total = len(chosen), lengths.item(step)
        if len(chosen) < steps:
            products -= shares[:, :, step, None] * products[:, None, step, :]
    return sorted(fit.starts[step] for step in chosen[:best]), best_total + _PRICE


def _shortest(left: Floats, logarithms: Floats, count: int) -> Floats:
    """The lengths of accounts (columns) under the best of the walks (rows), by the squares that each leaves."""
    variances = np.maximum(left / (count - 1), _LEAST)
    lengths: Floats = ((count - 1) * np.log(variances) + logarithms[:, None]).min(axis=0) / 2
    return lengths


@functools.lru_cache(maxsize=256)
def _walks(count: int) -> tuple[Floats, Floats]:
    """For every walk 1 over its variance at each frequency, that of the noise being 1, and the sum of the logarithms
    of the variances."""
    squares = frequencies(count)
    variances = 1 + np.concatenate([_LEVELS[:, None] / squares, _SLOPES[:, None] / squares**2])
    return 1 / variances, np.log(variances).sum(axis=1)
