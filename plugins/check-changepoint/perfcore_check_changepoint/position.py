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
    far = amounts - np.array(levels)[:, None]
    np.abs(far, far)
    far /= reach
    np.maximum(far, 1.0, out=far)
    before, after = np.log(far, far)
    nearer = _TAIL * np.add.accumulate(before - after)[:-1]
    # A sum over levels is at most their number times its largest part: most points are excluded by that alone.
    least = np.minimum.reduce(sums, axis=1)
    bounds = -(least[0] + least[1]) - nearer
    possible = (bounds > bounds.item(bounds.argmax()) - 2 * math.log(count) - _IMPOSSIBLE).nonzero()[0]
    # Those between the first and the last of them, since a part of an array is taken faster than some of its columns.
    span = slice(possible.item(0), possible.item(-1) + 1)
    lowest = least[:, span]
    parts = lowest[:, None] - sums[:, :, span]
    both = np.log(np.add.reduce(np.exp(parts, parts), axis=1)) - lowest
    evidence = (both[0] + both[1] - nearer[span])[possible - span.start]
    chances = np.zeros(len(nearer))
    chances[possible] = np.exp(evidence - evidence.item(evidence.argmax()))
    totals = np.zeros(len(chances) + 2 * _AROUND + 1)
    totals[_AROUND + 1 : -_AROUND] = chances
    totals = np.add.accumulate(totals)
    around = totals[2 * _AROUND + 1 :] - totals[: -2 * _AROUND - 1]
    return int(np.where(around >= _AS_GOOD * around.item(around.argmax()), chances, -1.0).argmax())
