"""The orthonormal cosine transform (DCT-II) without its first element, the mean.

It makes a random walk with noise independent at every frequency: its precision matrix is that of a path, whose
eigenvectors are cosines (G. Strang, 1999, SIAM Review 41(1)).
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING

import numpy as np

from perfcore_check_changepoint.partition import Floats
from perfcore_check_changepoint.runs import Indexes

if TYPE_CHECKING:
    from numpy.typing import NDArray


def cosines(amounts: Floats) -> Floats:
    """The transform of a series."""
    count = len(amounts)
    spectrum = np.fft.rfft(np.concatenate((amounts, amounts[::-1])))[1:count]
    turned = spectrum * _turns(count)
    transformed: Floats = turned.real / math.sqrt(2 * count)
    return transformed


def step_cosines(count: int, starts: Indexes) -> Floats:
    """Those of steps (rows) from 0 to 1: a sum of cosines over the points before a start is
    sin(2 s x) / (2 sin x), where x is half of what a point turns by, and over all points it is 0."""
    half = np.pi * np.arange(1, count) / (2 * count)
    transformed: Floats = np.sin(2 * starts[:, None] * half) / (-math.sqrt(2 * count) * np.sin(half))
    return transformed


@functools.lru_cache(maxsize=256)
def frequencies(count: int) -> Floats:
    """The squares by which differences of neighbours multiply each element."""
    squares: Floats = 2 - 2 * np.cos(np.pi * np.arange(1, count) / count)
    return squares


@functools.lru_cache(maxsize=256)
def _turns(count: int) -> NDArray[np.complex128]:
    """What the spectrum of amounts and their mirror image is turned by."""
    turns: NDArray[np.complex128] = np.exp(-0.5j * np.pi * np.arange(1, count) / count)
    return turns
