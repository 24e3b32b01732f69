"""Levels that cut a smooth curve into a staircase.

A curve that bends is no slope, so that many levels are its shortest account, though it has no step. Where changes are
suspiciously many, each has to explain the stretches on both sides of it better than one line through them does.
"""

from __future__ import annotations

import numpy as np

from perfcore_check_changepoint.model import Fit
from perfcore_check_changepoint.partition import Floats
from perfcore_check_changepoint.series import Points, median

_SELDOM = 30  # points for every change, below which changes are many
_CLIP = 3.0  # spreads from its level at which a point counts no more
_LEAST = 0.01  # variance of noise in squared spreads; below it the series has none


def without_curves(points: Points, fit: Fit) -> Fit:
    """The fit without the changes that are a part of a curve. What is left of them is looked at again, since a curve
    has more of them than one look shows."""
    if len(fit.starts) * _SELDOM <= len(points):
        return fit
    amounts = points.centers - fit.trend(len(points)) - (0.0 if fit.wave is None else fit.wave)
    while len(fit.starts) * _SELDOM > len(points):
        bounds = [0, *fit.starts, len(points)]
        steps = [
            start
            for start, first, last in zip(fit.starts, bounds, bounds[2:], strict=False)
            if _is_step(amounts[first:start], amounts[start:last])
        ]
        if len(steps) == len(fit.starts):
            break
        fit = fit.keeping(steps)
    return fit


def _is_step(before: Floats, after: Floats) -> bool:
    """Whether two levels are closer to these points than one line is."""
    near = [np.clip(side - median(side), -_CLIP, _CLIP) for side in (before, after)]
    amounts = np.concatenate([near[0] + median(before), near[1] + median(after)])
    levels = sum(_squares(side) for side in near)
    time = np.arange(len(amounts)) - (len(amounts) - 1) / 2
    line = _squares(amounts) - float(time @ amounts) ** 2 / float(time @ time)
    return line > levels + _LEAST


def _squares(amounts: Floats) -> float:
    left = amounts - float(amounts.sum()) / len(amounts)
    return float(left @ left)
