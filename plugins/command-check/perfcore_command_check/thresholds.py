"""The option `--threshold`: the smallest changes that matter, by metric."""

from __future__ import annotations

import math
from collections.abc import Iterable

from perfcore.errors import UsageError
from perfcore.text import brief


def parse_thresholds(words: Iterable[str]) -> dict[str, float]:
    """The smallest changes that matter, by metric, in words such as `0.05` and `cpu=0.03`; the key "" is for all."""
    thresholds: dict[str, float] = {}
    for word in words:
        metric, equals, share = word.rpartition("=")  # from the right: a metric's name may hold one
        if equals and not metric:
            raise UsageError(f"the threshold {brief(word)} names no metric", hint="such as cpu=0.03")
        if metric in thresholds:
            which = brief(metric) if metric else "every metric"
            raise UsageError(f"the threshold of {which} is given twice")
        thresholds[metric] = _share(share)
    return thresholds


def _share(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = math.nan
    if not (math.isfinite(share) and share >= 0):  # float() reads `nan` and `inf`, too
        raise UsageError(
            f"a threshold is a number of 0 or more, got {brief(text)}",
            hint="0.05 is 5 %, for all metrics; cpu=0.03 is for one",
        )
    return share
