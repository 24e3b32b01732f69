"""When an interleaved comparison that grows is looked at, and how sure each look has to be.

Who looks at growing data until they say something is wrong too often: ten looks at 5 % each call one of five unchanged
programs different. So the whole comparison has one chance of a false alarm, and the looks share it: alpha spending
(Lan and DeMets, Biometrika 70, 1983), with the looks fixed beforehand by numbers of pairs. What the looks spend adds up
to no more than the whole (Boole's inequality), whatever the noise and however the looks depend on each other: what the
check promises for one look, it keeps for all of them together. That is a little stricter than what is exact for normal
noise.

All looks but the last end the comparison only where the whole interval is of changes that matter, or of others, and
share one half. The last one, when the pairs or the time are used up, has the other half and what nobody spent: a
difference that is significant then, and large enough, counts although its interval holds smaller ones.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

from perfcore.model import Change

# 12 interleaved pairs tell a program of 5 ms that is 5 % slower from one that is not (plugins/check-pair/README.md).
FIRST, GROWTH = 12, 1.5
EARLY = 0.5  # share of the false-positive rate for all looks but the last (docs/comparing.md)
_DIFFERENT = ("degradation", "optimization")


def looks(most: int) -> tuple[int, ...]:
    """The numbers of pairs at which the runs are looked at, `most` being the last: 12, 18, 28, 42, 64, …"""
    return (*itertools.takewhile(lambda pairs: pairs < most, _growing()), most)


def shares(count: int) -> tuple[float, ...]:
    """The share of the false-positive rate that each of so many looks may spend; together 1."""
    return (1.0,) if count == 1 else (*[EARLY / (count - 1)] * (count - 1), 1 - EARLY)


def settles(change: Change, smallest: float) -> bool:
    """Whether a verdict needs no more runs: its interval, if it has one, is of changes that matter, or of
    such that do not."""
    if change.kind not in _DIFFERENT:
        return change.kind == "same"
    if change.low is None or change.high is None:
        return True
    # Logarithms, so that a program that is slower by 10 % settles as soon as the reverse question does.
    return max(math.log(change.low), -math.log(change.high)) > math.log1p(smallest)


def _growing() -> Iterator[int]:
    """Even numbers, so that every program goes first as often as second."""
    pairs = FIRST
    while True:
        yield pairs
        # Half more each time: looks cost chance of a false alarm, so there should be few of them, and with half more a
        # comparison measures at most half more than it needs.
        pairs = 2 * round(pairs * GROWTH / 2)
