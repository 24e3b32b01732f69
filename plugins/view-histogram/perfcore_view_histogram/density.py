"""The density of runs by a kernel estimate."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

_REACH = 3.0  # bandwidths, beyond which a Gaussian kernel is below 1.2 % of its height


def bandwidth(values: Sequence[float]) -> float:
    """Silverman's rule of thumb, 0.9 min(s, IQR / 1.34) n^(-1/5) (Density Estimation, 1986, equation 3.31); 0 where the
    values do not differ. `values` are ascending."""
    if len(values) < 2 or values[0] == values[-1]:
        return 0.0
    deviation = statistics.stdev(values)
    quarter = max(1, len(values) // 4)
    between = (values[-quarter] - values[quarter - 1]) / 1.34
    spread = min(deviation, between) if between > 0 else deviation
    return float(0.9 * spread * len(values) ** -0.2)


def density(values: Sequence[float], places: Sequence[float], width: float) -> list[float]:
    """The estimate with a Gaussian kernel of this bandwidth at each of the ascending places; its integral is 1. All 0
    without a bandwidth."""
    if not width:
        return [0.0] * len(places)
    scale = 1 / (len(values) * width * math.sqrt(2 * math.pi))
    made = []
    begin = 0
    for place in places:
        while begin < len(values) and values[begin] < place - _REACH * width:
            begin += 1
        total = 0.0
        for value in values[begin:]:
            if value > place + _REACH * width:
                break
            total += math.exp(-0.5 * ((place - value) / width) ** 2)
        made.append(scale * total)
    return made


def thinned(values: Sequence[float], most: int) -> Sequence[float]:
    """At most so many of the ascending values, evenly by rank, with the least and the greatest."""
    if len(values) <= most:
        return values
    return [values[round(at * (len(values) - 1) / (most - 1))] for at in range(most)]
