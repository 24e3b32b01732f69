"""Periodic disturbances, such as a nightly backup or a timer of the machine.

The period is that of the highest peak of the periodogram of the residuals (Schuster, 1898, Terrestrial
Magnetism 3(1)), if noise alone would hardly have it so high (Fisher, 1929, Proceedings of the Royal Society A
125(796)). The wave of that period is fitted within the stretches, so that no level is a part of it.
"""

from __future__ import annotations

import math

import numpy as np

from perfcore_check_changepoint.partition import Floats, stretch_means
from perfcore_check_changepoint.series import within

FEWEST = 40  # points
LONGEST = 30.0  # points of a period
_SHORTEST = 2.5  # points of a period, above the Nyquist limit of 2
_PERIODS = 3  # that a series has to show
# Times the mean power: 3 % of noise has such a peak among a hundred, and the price of a wave keeps most of these away.
# With 12, F1 is lower by 0.0011 (0.0004 to 0.0019) (benchmarks/generated.py, 5,520 histories of seeds 5001 to 5040).
_CLEAR = 8.0
_FINE = 4  # frequencies at least, for each that a series of this length resolves
_FAR = 3.0  # spreads, from which on a residual counts as one of these


def wave(residuals: Floats, starts: list[int]) -> Floats | None:
    """The clearest wave in these residuals of stretches; None where none is clear."""
    count = len(residuals)
    if count < FEWEST:
        return None
    residual_part = residuals - stretch_means(residuals, starts)
    padded = 1 << (_FINE * count - 1).bit_length()  # a power of two is the fastest length
    # Of the frequencies i / padded those of the periods that count: multiplied by a power of two, both are exact.
    first, last = math.ceil(padded * max(1 / LONGEST, _PERIODS / count)), math.floor(padded * (1 / _SHORTEST))
    power = np.abs(np.fft.rfft(residual_part, padded)[first : last + 1]) ** 2 / count
    peak = int(power.argmax())
    if power.item(peak) <= _CLEAR * (float(np.add.reduce(residual_part**2)) / count):
        return None
    peak += first
    angles = 2 * np.pi * (peak / padded) * np.arange(count)
    parts: Floats = np.array([np.cos(angles), np.sin(angles)])
    inside = parts - stretch_means(parts, starts)
    amplitudes = np.linalg.lstsq(inside.T, residual_part, rcond=None)[0]
    fitted: Floats = amplitudes @ parts
    return fitted


def bounded(residuals: Floats) -> Floats:
    """Residuals of which none is so far off that it makes a wave."""
    return within(residuals, _FAR)
