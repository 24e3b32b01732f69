"""From a history as perfcore keeps it to changes as perfcore shows them.

Amounts of different machines are not compared. So a history is cut up by environment, every one of them is a series
of its own, and a new one is told as such; a machine that comes back goes on where it was.
"""

from __future__ import annotations

import hashlib
import json
import math
from bisect import bisect_left
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

import attrs
import numpy as np

from perfcore.errors import UsageError
from perfcore.model import Change
from perfcore_check_changepoint import detection, memory, sessions, suite, wording
from perfcore_check_changepoint.memory import Memory, Reported
from perfcore_check_changepoint.points import ChangePoint
from perfcore_check_changepoint.runs import Indexes, Runs

if TYPE_CHECKING:
    from perfcore.model import ChangeKind, Series
    from perfcore_check_changepoint import ChangepointSettings

_MOVES = 3  # versions that the estimate of a change may move
_GONE = 100  # changes that are remembered though they are not seen any more
_MACHINE = "machine"

_Placed: TypeAlias = tuple[int, Change]  # with the index of its version


@attrs.frozen(eq=False)
class _Measured:
    """The versions that were measured in one environment, by their indexes in the series, and their runs. `base` is the
    version that was measured before the first of them in any environment, None where there is none."""

    environment: str
    places: Indexes
    runs: Runs
    base: int | None


@attrs.frozen(eq=False)
class _Found:
    """A change among the versions of one environment: `places` are their indexes in the series."""

    environment: str
    places: Indexes
    change: ChangePoint

    @property
    def place(self) -> int:
        return int(self.places[self.change.index])

    @property
    def base(self) -> int:
        return int(self.places[self.change.index - 1])

    @property
    def span(self) -> tuple[int, int]:
        """The versions that may have brought the change: the first and the last."""
        return int(self.places[self.change.earliest - 1]) + 1, int(self.places[self.change.latest])

    @property
    def direction(self) -> str:
        return f"{self.change.kind} {'up' if self.change.size > 0 else 'down'}"


@attrs.frozen(eq=False)
class _Moved:
    """A step of the machine of one environment, and how many series moved with it, of so many that were measured on
    both sides."""

    found: _Found
    series: int
    measured: int


def scan(series: Series, state: bytes | None, settings: ChangepointSettings) -> tuple[Sequence[Change], bytes]:
    """The changes of a history, oldest first, and what the next scan of it needs."""
    _check(series)
    measured, key = _measured(series), _key(series, settings)
    remembered = memory.decode(state, key)
    found: list[_Found] = []
    settled: dict[str, detection.Settled] = {}
    for one in measured:
        changes, settled[one.environment] = detection.resume(
            one.runs,
            remembered.settled.get(one.environment, detection.Settled()),
            settings.penalty + math.log(series.comparisons),
            settings.confidence,
        )
        found += [_Found(one.environment, one.places, c) for c in changes if _matters(c, series, settings)]
    shown, reported = _shown(series, _once(found), remembered.reported, settings)
    return _in_order([*shown, *_machines(series, measured)]), memory.encode(Memory(settled, reported), key)


def scan_many(many: Sequence[Series], settings: ChangepointSettings) -> Sequence[Sequence[Change]]:
    """The changes of histories over the same versions, without what the machine did to all of them."""
    if not many:
        return []
    for series in many:
        _check(series)
        if series.versions != many[0].versions:
            raise UsageError(
                "the series are not over the same versions, so what they share cannot be seen",
                hint="give every series all versions, with no values where nothing was measured",
            )
    many = [_in_one_session(series) for series in many]
    measured = [_measured(series) for series in many]
    found: list[list[_Found]] = [[] for _ in many]
    moved: list[_Moved] = []
    for environment in dict.fromkeys(one.environment for some in measured for one in some):
        places = [one.places for some in measured for one in some if one.environment == environment]
        some = np.unique(np.concatenate(places))
        values = [[_values(series, place, environment) for place in some.tolist()] for series in many]
        result = suite.detect_many(values, penalty=settings.penalty, confidence=settings.confidence)
        for series, mine, changes in zip(many, found, result.changes, strict=True):
            mine += [_Found(environment, some, change) for change in changes if _matters(change, series, settings)]
        steps = zip(result.machine.changes, result.machine.moved, result.machine.measured, strict=True)
        moved += [_Moved(_Found(environment, some, c), len(which), count) for c, which, count in steps]
    return [
        _in_order(
            [
                *_shown(series, _once(mine), (), settings)[0],
                *_machines(series, parts),
                *_moved(series, parts, moved, settings),
            ]
        )
        for series, parts, mine in zip(many, measured, found, strict=True)
    ]


def _in_one_session(series: Series) -> Series:
    """The series without what the machine did between sessions: else it would do so in every version anew."""
    values = list(series.values)
    for one in _measured(series):
        aligned = sessions.align(one.runs, 0)
        if aligned is not None:
            amounts = np.split(np.asarray(aligned.runs.amounts), aligned.runs.ends[1:-1])
            for place, some in zip(one.places.tolist(), amounts, strict=True):
                values[place] = tuple(some.tolist())
    return attrs.evolve(series, values=tuple(values), sessions=())


def _check(series: Series) -> None:
    if not len(series.versions) == len(series.environments) == len(series.values):
        raise UsageError(
            f"a series has {len(series.versions)} versions, {len(series.environments)} environments and "
            f"{len(series.values)} values",
            hint="give one environment and one tuple of values for every version",
        )


def _measured(series: Series) -> list[_Measured]:
    """The versions that were measured, by environment, in the order in which these first appear."""
    runs = Runs.of(series.values, series.sessions)
    places = np.flatnonzero(runs.counts)
    numbers: dict[str, int] = {}
    if len(set(series.environments)) == 1:
        numbers, owners = {series.environments[0]: 0}, np.zeros(len(places), dtype=np.int64)
    else:
        names = (series.environments[place] for place in places.tolist())
        owners = np.fromiter((numbers.setdefault(name, len(numbers)) for name in names), np.int64, len(places))
    return [
        _Measured(environment, places[where], part, int(places[where[0] - 1]) if where[0] else None)
        for environment, (where, part) in zip(numbers, runs.chosen(places).groups(owners, len(numbers)), strict=True)
        if len(where)
    ]


def _values(series: Series, place: int, environment: str) -> tuple[float, ...]:
    return series.values[place] if series.environments[place] == environment else ()


def _matters(change: ChangePoint, series: Series, settings: ChangepointSettings) -> bool:
    threshold = settings.threshold if series.threshold is None else series.threshold
    return change.kind != "level" or abs(change.size) >= threshold * abs(change.before)


def _once(found: list[_Found]) -> list[_Found]:
    """Every change once: what several machines show at the same place is told by the one that shows it best."""
    same, kept = _same(found), set[int]()
    for number in sorted(range(len(found)), key=lambda number: (-found[number].change.gain, found[number].place)):
        if kept.isdisjoint(same.get(number, ())):
            kept.add(number)
    return sorted((found[number] for number in kept), key=lambda one: one.place)


def _same(found: Sequence[_Found]) -> dict[int, list[int]]:
    """The changes, by number, that other machines show in the same direction at places that may be the same."""
    same: dict[int, list[int]] = {}
    beside: dict[str, list[int]] = {}
    spans = [one.span for one in found]
    for number in sorted(range(len(found)), key=spans.__getitem__):
        one = found[number]
        near = [other for other in beside.get(one.direction, ()) if spans[other][1] >= spans[number][0]]
        for other in near:
            if found[other].environment != one.environment:
                same.setdefault(number, []).append(other)
                same.setdefault(other, []).append(number)
        beside[one.direction] = [*near, number]
    return same


def _shown(
    series: Series, found: Sequence[_Found], before: Sequence[Reported], settings: ChangepointSettings
) -> tuple[list[_Placed], tuple[Reported, ...]]:
    """The changes for people, and the names they were given."""
    reported, gone = _anchors(series, found, before)
    changes = [
        (one.place, _change(series, one, name.anchor, settings)) for one, name in zip(found, reported, strict=True)
    ]
    return changes, (*reported, *gone[:_GONE])


def _anchors(
    series: Series, found: Sequence[_Found], before: Sequence[Reported]
) -> tuple[list[Reported], list[Reported]]:
    """The versions that changes are named after: those under which they were reported first, though more data may
    have moved them since; and what was reported and is not seen now, but may be again."""
    there = _there(series, before)
    free: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for place, number in sorted((one.place, number) for number, one in enumerate(there)):
        free.setdefault((there[number].environment, there[number].kind), []).append((place, number))
    taken = set[int]()
    named = []
    for one in found:
        some = free.get((one.environment, one.direction), [])
        first, last = one.span[0] - _MOVES, one.span[1] + _MOVES
        near = some[bisect_left(some, (first, -1)) : bisect_left(some, (last + 1, -1))]
        left = [(abs(place - one.place), number) for place, number in near if number not in taken]
        if left:
            taken.add(min(left)[1])
        anchor = there[min(left)[1]] if left else None
        named.append(anchor or Reported(one.environment, one.direction, series.versions[one.place], one.place))
    return named, [one for number, one in enumerate(there) if number not in taken]


def _there(series: Series, before: Sequence[Reported]) -> list[Reported]:
    """What was reported of versions that the history still has, each where it is now."""
    if all(0 <= one.place < len(series.versions) and series.versions[one.place] == one.anchor for one in before):
        return list(before)
    order = {version: place for place, version in enumerate(series.versions)}
    return [attrs.evolve(one, place=order[one.anchor]) for one in before if one.anchor in order]


def _change(series: Series, one: _Found, anchor: str, settings: ChangepointSettings) -> Change:
    change, versions = one.change, series.versions
    ratio, low, high = _ratios(change)
    size = wording.interval(low, high, settings.confidence) if low is not None and high is not None else ""
    what = wording.level(change, series.unit, size) if change.kind == "level" else wording.noise(change, series.unit)
    span = [versions[place] for place in one.places[[change.earliest - 1, change.earliest, change.latest]].tolist()]
    undone = None if change.undone is None else versions[one.places[change.undone]]
    parts = [
        what,
        wording.where(span, one.place - one.base - 1),
        wording.strength(change),
        wording.undone(undone),
    ]
    return Change(
        id=_identity(series, one.environment, one.direction, anchor),
        kind=_kind(change, series),
        metric=series.metric,
        unit=series.unit,
        resource=series.resource,
        config_id=series.config_id,
        label=series.label,
        baseline=versions[one.base][:10],
        target=versions[one.place][:10],
        baseline_value=change.before,
        target_value=change.after,
        ratio=ratio,
        low=low,
        high=high,
        confidence=settings.confidence if low is not None else None,
        p_value=change.p_value,
        primary=change.kind == "level",
        evidence="; ".join(part for part in parts if part),
        earliest=span[1],
        latest=span[2],
        undone=undone or "",
    )


def _ratios(change: ChangePoint) -> tuple[float | None, float | None, float | None]:
    """After over before, with its interval; there is none of amounts of zero or less."""
    if change.before <= 0 or change.after <= 0:
        return None, None, None
    numbers = [change.after / change.before, *(1 + size / change.before for size in (change.low, change.high))]
    if not all(map(math.isfinite, numbers)):
        return None, None, None
    ratio, low, high = numbers
    return ratio, min(max(low, 0.0), ratio), max(high, ratio)


def _kind(change: ChangePoint, series: Series) -> ChangeKind:
    if change.kind == "noise":
        return "variance"
    return "degradation" if (change.size > 0) == (series.better == "lower") else "optimization"


def _machines(series: Series, measured: Sequence[_Measured]) -> list[_Placed]:
    """The versions that were the first to be measured in a new environment."""
    return [
        (int(one.places[0]), _environment(series, one.environment, one.base, int(one.places[0])))
        for one in measured
        if one.base is not None
    ]


def _environment(series: Series, environment: str, base: int, place: int) -> Change:
    before = series.environments[base]
    return attrs.evolve(
        _event(series, base, place, _identity(series, environment, _MACHINE, "")),
        evidence=wording.machine(before, environment),
        environments=(before, environment),
    )


def _moved(
    series: Series, measured: Sequence[_Measured], moved: Sequence[_Moved], settings: ChangepointSettings
) -> list[_Placed]:
    """The versions in which the machine changed without saying so, of those that the series was measured around."""
    spans = {one.environment: (int(one.places[0]), int(one.places[-1])) for one in measured}
    return [
        (one.found.place, _step(series, one, settings))
        for one in moved
        if (span := spans.get(one.found.environment)) and span[0] < one.found.place <= span[1]
    ]


def _step(series: Series, one: _Moved, settings: ChangepointSettings) -> Change:
    found, (ratio, low, high) = one.found, _ratios(one.found.change)
    earliest, latest = (series.versions[int(found.places[i])] for i in (found.change.earliest, found.change.latest))
    event = _event(
        series, found.base, found.place, _identity(series, found.environment, _MACHINE, series.versions[found.place])
    )
    return attrs.evolve(
        event,
        ratio=ratio,
        low=low,
        high=high,
        confidence=settings.confidence if low is not None else None,
        evidence=wording.shared(one.series, one.measured, found.change.after / found.change.before),
        earliest=earliest,
        latest=latest,
        moved=one.series,
        measured=one.measured,
        environments=(found.environment, found.environment),
    )


def _event(series: Series, base: int, place: int, id: str) -> Change:
    return Change(
        id=id,
        kind="machine",
        metric=series.metric,
        unit=series.unit,
        resource=series.resource,
        config_id=series.config_id,
        label=series.label,
        baseline=series.versions[base][:10],
        target=series.versions[place][:10],
        primary=False,
        earliest=series.versions[place],
        latest=series.versions[place],
    )


def _in_order(changes: list[_Placed]) -> list[Change]:
    return [change for _, change in sorted(changes, key=lambda placed: (placed[0], placed[1].id))]


def _identity(series: Series, environment: str, what: str, version: str) -> str:
    """The same for the same change, whatever is measured later."""
    subject = [series.config_id, series.metric, series.resource, environment, what, version]
    return hashlib.sha256(json.dumps(subject).encode()).hexdigest()[:20]


def _key(series: Series, settings: ChangepointSettings) -> str:
    """What decides about what is settled beside the amounts."""
    return json.dumps([settings.penalty, series.comparisons, settings.confidence, detection.WINDOW])
