"""The steps of exact amounts: those that all runs of a version agree on, as allocations and sizes are.

There is no noise to compare a step with, and none is needed: what differs is another amount. Only modes, of which every
version has one by chance, have to be told from levels: levels come in few stretches, which chance would mix.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import groupby, pairwise
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from msgspec.structs import replace

from perfcore_check_changepoint.points import ChangePoint
from perfcore_check_changepoint.runs import Runs
from perfcore_check_changepoint.series import as_float
from perfcore_check_changepoint.sizes import p_value

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SHORTEST = 2  # versions of a level: one that differs may be a build that went wrong
_AGREE = 0.9  # of the versions with several runs whose runs have to be the same; two neighbours that are not are noise
# A level of three versions of eight that is undone is told. So are random modes of two amounts in 11 % of histories of
# eight versions, 5 % of twelve and 2 % of sixteen.
_BY_CHANCE = 1.5  # such histories of so many versions of modes that may seem to have levels
_RETURN = 0.25  # of many levels that have an amount which an earlier one had
_ALONE = 0.1  # of the versions that have an amount that none beside them has, at most: more of them are noise
_MEAN = 3  # versions that a stretch has on average, at least


class _Stretch(msgspec.Struct, frozen=True):
    """Versions of one amount, from the point `first` to `last`, and how many of them."""

    amount: float
    first: int
    last: int
    versions: int


def steps(runs: Runs, nats: float) -> list[ChangePoint] | None:
    """The changes between the levels of exact amounts, of which each version explains so many nats; None where runs
    differ, or modes come in any order. What varies around the ticks of a clock comes back again and again: so a level
    has a former amount once at most, or one in four of many, and single runs have one once at most."""
    levels = _levels(runs)
    if levels is None:
        return None
    count = int(np.count_nonzero(runs.counts))
    return [_change(before, after, nats, count) for before, after in pairwise(levels)]


def are_of_any_machine(runs: Runs, machines: Sequence[str]) -> bool:
    """Whether amounts are exact and the same on all machines, as allocations mostly are: then none has a history of its
    own. A machine, of those of each point, has to show each step by itself."""
    levels = _levels(runs)
    if levels is None:
        return False
    shown_by = [set(machines[level.first : level.last + 1]) for level in levels]
    return all(before & after for before, after in pairwise(shown_by))


def _levels(runs: Runs) -> list[_Stretch] | None:
    agreed = _agreed(runs)
    if agreed is None or not _is_ordered(agreed):
        return None
    amounts = agreed.tolist()
    stretches = _stretches(list(zip(amounts, np.flatnonzero(runs.counts).tolist(), strict=True)))
    lasting = [stretch for stretch in stretches if stretch.versions >= _SHORTEST]
    if len(stretches) - len(lasting) > max(_SHORTEST, _ALONE * len(amounts)):
        return None
    levels = _joined(lasting)
    returns = len(levels) - len({level.amount for level in levels})
    if returns > max(1, _RETURN * len(levels)):
        return None
    if len(amounts) == len(runs.amounts) and len(stretches) - len(set(amounts)) > 1:
        return None
    return levels


def _agreed(runs: Runs) -> NDArray[Any] | None:
    """The amount of every version that was measured; None where these are not exact."""
    counts = runs.counts[runs.counts > 0]
    if runs.doubt is not None or not len(counts):
        return None
    # Integers are compared as what they are: beyond 2^53, floats hold every other one, or fewer.
    amounts = runs.amounts if isinstance(runs.amounts, np.ndarray) else np.array(runs.amounts, dtype=object)
    first = np.cumsum(counts) - counts
    several = counts > 1
    differ = np.minimum.reduceat(amounts, first) < np.maximum.reduceat(amounts, first)
    if (differ[1:] & differ[:-1]).any() or np.count_nonzero(differ) > (1 - _AGREE) * np.count_nonzero(several):
        return None
    agreed: NDArray[Any] = amounts[first]
    for version in np.flatnonzero(differ):
        own = amounts[first[version] : first[version] + counts[version]]
        agreed[version] = np.sort(own)[len(own) // 2]
    return agreed


def _stretches(amounts: Sequence[tuple[float, int]]) -> list[_Stretch]:
    stretches = []
    for amount, group in groupby(amounts, key=lambda version: version[0]):
        points = [point for _, point in group]
        stretches.append(_Stretch(amount, points[0], points[-1], len(points)))
    return stretches


def _joined(levels: Sequence[_Stretch]) -> list[_Stretch]:
    """The levels, those of the same amount that only single versions part as one."""
    joined: list[_Stretch] = []
    for level in levels:
        if joined and joined[-1].amount == level.amount:
            last = joined.pop()
            level = replace(level, first=last.first, versions=last.versions + level.versions)
        joined.append(level)
    return joined


def _is_ordered(amounts: NDArray[Any]) -> bool:
    """Whether there is one stretch, or fewer than so many versions of each amount have by chance: their number is
    nearly normal (D. E. Barton and F. N. David, 1957, Multiple runs, Biometrika 44)."""
    count = len(amounts)
    changes = int(np.count_nonzero(amounts[1:] != amounts[:-1]))
    if not changes or changes * _MEAN > count:
        return not changes
    of_each = Counter(amounts.tolist()).values()
    squares, cubes = (sum(own**power for own in of_each) for power in (2, 3))
    expected = (count * (count + 1) - squares) / count
    of_numbers = squares * (squares + count * (count + 1)) - 2 * count * cubes - count**3
    variance = of_numbers / (count**2 * (count - 1))
    deviations = (changes + 1.5 - expected) / math.sqrt(variance) if variance > 0 else 0.0
    return deviations < NormalDist().inv_cdf(_BY_CHANCE / count)


def _change(before: _Stretch, after: _Stretch, nats: float, count: int) -> ChangePoint:
    size = as_float(after.amount - before.amount)
    gain = nats * min(before.versions, after.versions)
    return ChangePoint(
        index=after.first,
        earliest=before.last + 1,
        latest=after.first,
        before=as_float(before.amount),
        after=as_float(after.amount),
        low=size,
        high=size,
        gain=gain,
        p_value=p_value(gain, count),
    )
