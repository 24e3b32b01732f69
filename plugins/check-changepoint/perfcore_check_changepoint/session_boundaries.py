"""Where a new level may be that of the machine, because another session measured it."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise

import msgspec

from perfcore.model import Series
from perfcore_check_changepoint import drift, linked_steps
from perfcore_check_changepoint.located import LocatedChange, ratios
from perfcore_check_changepoint.series import NORMAL
from perfcore_check_changepoint.sizes import student

# The most that a machine is assumed to move from one session to the next: what the check `pair` assumes of runs that
# were not interleaved.
_DRIFT = 0.1
# Versions on either side of a change from which on a session shows what the machine did: of fewer, the median follows
# the noise of one.
_SHARED = 3
_SURE = 0.99  # of a step that a session with fewer shows by itself

Places = Sequence[int]


class NewSession(msgspec.Struct, frozen=True):
    """The session that begins with a new level, and the number of versions that it shares with those before it. It
    `is_likelier` than the code if links tell so."""

    name: str
    shared: int
    is_likelier: bool = False


def new_session(series: Series, located: LocatedChange, bounds: tuple[int, int | None]) -> NewSession | None:
    """The session that begins with the new level, if no session tells the machine from the code. `bounds` are those of
    the levels before and after it. Where sessions are linked, the likelier of both is believed. Elsewhere a larger step
    than a machine makes is the code, and sessions of one version each are noise between versions, and decide
    nothing."""
    if len(series.sessions) != len(series.versions) or located.change.kind == "noise":
        return None
    (start, end), positions = located.span, located.positions
    is_step = located.change.until is None
    is_linked = is_step and linked_steps.is_linked(series, positions, start, end)
    if is_linked and linked_steps.is_of_code(series, positions, (start, end), bounds):
        return None
    if not is_linked and _is_larger_than_a_drift(located):
        return None
    if not is_step:
        name = _short_sessions(series, located)
        return NewSession(name, 0) if name else None
    before = _by_session(series, positions[positions < start].tolist())
    after = _by_session(series, positions[positions >= end].tolist())
    if not is_linked and _is_no_boundary(before, after, located.change.size):
        return None
    began = next((name for name in after if len(before.get(name, ())) < _SHARED), next(iter(after)))
    return NewSession(began, _shared(series, positions[positions < end].tolist(), began), is_linked)


def _shared(series: Series, positions: Places, name: str) -> int:
    """How many of these versions a session measured that another one measured, too."""
    measured = ({session for session, _ in series.sessions[position] if session} for position in positions)
    return sum(name in names and len(names) > 1 for names in measured)


def _is_larger_than_a_drift(located: LocatedChange) -> bool:
    _, low, high = ratios(located.change)
    return low is not None and high is not None and (low > 1 + _DRIFT or high < 1 / (1 + _DRIFT))


def _is_no_boundary(before: Mapping[str, list[float]], after: Mapping[str, list[float]], size: float) -> bool:
    """Whether the sessions have one version each, are the same ones on both sides, or show the step by themselves."""
    several = max(map(len, before.values()), default=0) > 1 and max(map(len, after.values()), default=0) > 1
    shared = [min(len(before[name]), len(after[name])) for name in before.keys() & after.keys()]
    if not several or before.keys() == after.keys() or max(shared, default=0) >= _SHARED:
        return True
    return bool(shared) and _shown_within(before, after, size)


def _by_session(series: Series, positions: Places) -> dict[str, list[float]]:
    """The median that each session measured of these versions, in their order."""
    medians: dict[str, list[float]] = {}
    for position in positions:
        start = 0
        for name, runs in series.sessions[position]:
            if name and (values := series.values[position][start : start + runs]):
                medians.setdefault(name, []).append(float(statistics.median(values)))
            start += runs
    return medians


def _shown_within(before: Mapping[str, list[float]], after: Mapping[str, list[float]], size: float) -> bool:
    """Whether the sessions that measured versions of both sides show a step in this direction by themselves: one and
    the same machine measured both levels. The noise is that of neighbours in a session, which a step is not part of."""
    groups = [*before.values(), *after.values()]
    moves = [abs(second - first) for group in groups for first, second in pairwise(group)]
    if not moves:
        return False
    noise = NORMAL * statistics.median(moves) / math.sqrt(2)
    step = weight = 0.0
    for name in before.keys() & after.keys():
        own = len(before[name]) * len(after[name]) / (len(before[name]) + len(after[name]))
        step += own * (statistics.fmean(after[name]) - statistics.fmean(before[name]))
        weight += own
    clear = abs(step) > student(_SURE, len(moves)) * noise * math.sqrt(weight)
    return clear and step * size > 0


def _short_sessions(series: Series, located: LocatedChange) -> str:
    """The second session of a drift, if its sessions follow one another and none of them shows growth by itself."""
    assert located.change.until is not None
    positions = located.positions[located.change.index - 1 : located.change.until + 1].tolist()
    names = [name for position in positions for name, _ in series.sessions[position] if name]
    begun = [name for before, name in pairwise(names) if name != before]
    most = max(Counter(names).values(), default=0)
    in_turn = len(begun) >= len(set(names))
    return begun[0] if begun and not in_turn and 1 < most < drift.FEWEST else ""
