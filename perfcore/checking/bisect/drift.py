"""What a machine did between sessions, seen in versions that were measured in several of them."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence

import attrs

_DOUBTFUL, _CLEAR = 3.0, 10.0  # how much more than runs sessions differ, for one: less is believed where less is clear
_DRIFTS = 0.3  # of the variance of a run, the variance between sessions from which they are said to differ
_SPIKE = 2.5  # scales beyond which an amount says nothing about its session
_APART = 0.5  # what sessions share of the noise where nothing was measured that tells


@attrs.frozen
class Group:
    """The amounts of one version in one session. `apart` says that no end was measured with them."""

    place: int
    session: str
    amounts: tuple[float, ...]
    apart: bool = False


@attrs.frozen
class Settled:
    """Groups without what their sessions did. A group counts as `weights[i]` runs for each of its runs: those of one
    session share what is left of its offset. `drifts` says that there was something to take out."""

    groups: tuple[Group, ...]
    weights: tuple[float, ...]
    drifts: bool = False


def settle(groups: Sequence[Group], levels: Mapping[int, float], scale: float) -> Settled:
    """`levels` are those of the versions that sessions are held against: the ends, and others that are known to be like
    one of them."""
    residuals = dict(_sessions(groups, levels, scale))
    within = _within(groups, scale)
    between = _between(residuals, within)
    if not between:
        return Settled(tuple(groups), tuple(_weight(group, 0.0) for group in groups))
    settled, weights = [], []
    for group in groups:
        known = residuals.get(group.session, ())
        share = between / (between + within / len(known)) if known else 0.0
        offset = share * statistics.fmean(known) if known else 0.0
        settled.append(attrs.evolve(group, amounts=tuple(amount - offset for amount in group.amounts)))
        left = (1 - share) * between
        weights.append(_weight(group, left / (left + within)))
    return Settled(tuple(settled), tuple(weights), drifts=between > _DRIFTS * within)


def _sessions(groups: Sequence[Group], levels: Mapping[int, float], scale: float) -> Iterator[tuple[str, list[float]]]:
    """How far versions were from their known levels in each session, spikes cut."""
    found: dict[str, list[float]] = {}
    for group in groups:
        if group.place in levels and not group.apart:
            level, reach = levels[group.place], _SPIKE * scale
            far = (max(-reach, min(reach, amount - level)) for amount in group.amounts)
            found.setdefault(group.session, []).extend(far)
    return iter(found.items())


def _within(groups: Sequence[Group], scale: float) -> float:
    """The variance of runs of one version in one session, spikes cut."""
    squares, freedom = 0.0, 0
    for group in groups:
        if len(group.amounts) > 1:
            middle, reach = statistics.median(group.amounts), _SPIKE * scale
            cut = [max(-reach, min(reach, amount - middle)) for amount in group.amounts]
            squares += statistics.variance(cut) * (len(cut) - 1)
            freedom += len(cut) - 1
    return (squares + scale * scale) / (freedom + 1)


def _between(residuals: Mapping[str, Sequence[float]], within: float) -> float:
    """The variance of the offsets of sessions; 0 where runs alone explain how sessions differ."""
    sizes = [len(known) for known in residuals.values()]
    if len(sizes) < 4 or not within:
        return 0.0
    runs = sum(sizes)
    mean = sum(map(sum, residuals.values())) / runs
    spread = sum(len(known) * (statistics.fmean(known) - mean) ** 2 for known in residuals.values())
    freedom = len(sizes) - 1
    ratio = spread / freedom / within
    clear = ((ratio - 1) * math.sqrt(freedom) - _DOUBTFUL) / (_CLEAR - _DOUBTFUL)
    if clear <= 0:
        return 0.0
    variance = (ratio - 1) * within / ((runs - sum(size * size for size in sizes) / runs) / freedom)
    return min(1.0, clear) * variance


def _weight(group: Group, shared: float) -> float:
    shared = max(shared, _APART) if group.apart else shared
    return 1 / (1 + (len(group.amounts) - 1) * shared)
