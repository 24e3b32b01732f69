"""Where a change is: the point around which it most probably lies.

The likelihood of every point, summed over the levels on both sides, is its probability (a flat prior). Small steps can
be anywhere among many points, of which the single likeliest is off by more than three points more often than the middle
of those that are likely.
"""

from __future__ import annotations

import math

import numpy as np
from msgspec.structs import replace

from perfcore_check_changepoint.model import Fit
from perfcore_check_changepoint.partition import Floats
from perfcore_check_changepoint.series import Points, median

# Costs are bounded, so a point far from both levels fits either. The tail of a Cauchy density tells which is nearer.
_FAR = 3.0  # spreads
_TAIL = 2.0  # exponent
_IMPOSSIBLE = 40.0  # nats less than the likeliest point: a chance that no float beside it shows
_AROUND = 3  # points on either side
_AS_GOOD = 0.985  # share of the greatest probability around a point; of these points the likeliest itself is chosen


def likeliest(points: Points, fit: Fit) -> Fit:
    """The fit with every beginning of a stretch where it most probably is, within the stretches beside it."""
    if not fit.starts:
        return fit
    amounts = points.centers - fit.trend(len(points)) - (0.0 if fit.wave is None else fit.wave)
    starts, reach = [*fit.starts, len(points)], _FAR * points.noise
    for number, start in enumerate(fit.starts):
        first, last = starts[number - 1] if number else 0, starts[number + 1]
        levels = median(amounts[first:start]), median(amounts[start:last])
        starts[number] = first + 1 + _offset(fit.costs[first:last], amounts[first:last], levels, reach[first:last])
    return replace(fit, starts=starts[:-1])


def _offset(costs: Floats, amounts: Floats, levels: tuple[float, float], reach: Floats) -> int:
    """The index, among the points but the first, of that at which the second of two stretches begins."""
    count = costs.shape[1]
    sums = np.empty(
        (2, count, len(costs) - 1)
    )  # up to each point and after it; by levels, whose least is found fastest
    by_levels = costs.T
    np.add.accumulate(by_levels[:, :-1], axis=1, out=sums[0])
    np.subtract((sums[0, :, -1] + by_levels[:, -1])[:, None], sums[0], out=sums[1])
    before, after = np.log(np.maximum(np.abs(amounts - np.array(levels)[:, None]) / reach, 1.0))
    nearer = _TAIL * (before - after).cumsum()[:-1]
    # A sum over levels is at most their number times its largest part: most points are excluded by that alone.
    least = sums.min(axis=1)
    bounds = -(least[0] + least[1]) - nearer
    possible = (bounds > bounds.max() - 2 * math.log(count) - _IMPOSSIBLE).nonzero()[0]
    lowest = least[:, possible]
    both = np.log(np.exp(lowest[:, None] - sums[:, :, possible]).sum(axis=1)) - lowest
    evidence = both[0] + both[1] - nearer[possible]
    chances = np.zeros(len(nearer))
    chances[possible] = np.exp(evidence - evidence.max())
    totals = np.zeros(len(chances) + 2 * _AROUND + 1)
    totals[_AROUND + 1 : -_AROUND] = chances
    totals = totals.cumsum()
    around = totals[2 * _AROUND + 1 :] - totals[: -2 * _AROUND - 1]
    return int(np.where(around >= _AS_GOOD * around.max(), chances, -1.0).argmax())
