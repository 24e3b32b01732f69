"""From a history as perfcore keeps it to changes as perfcore shows them.

Amounts of different machines are not compared. So a history is cut up by environment, every one of them is a series
of its own, and a new one is told as such; a machine that comes back goes on where it was.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import attrs

from perfcore.errors import UsageError
from perfcore.model import Change
from perfcore_check_changepoint import detection, memory, suite, wording
from perfcore_check_changepoint.memory import Memory, Reported
from perfcore_check_changepoint.points import ChangePoint
from perfcore_check_changepoint.series import is_finite

if TYPE_CHECKING:
    from perfcore.model import ChangeKind, Series
    from perfcore_check_changepoint import ChangepointSettings

_MOVES = 3  # versions that the estimate of a change may move
_GONE = 100  # changes that are remembered though they are not seen any more
_MACHINE = "machine"


@attrs.frozen
class _Found:
    """A change among the versions of one environment: `places` are their indexes in the series."""

    environment: str
    places: list[int]
    change: ChangePoint

    @property
    def place(self) -> int:
        return self.places[self.change.index]

    @property
    def span(self) -> tuple[int, int]:
        """The versions that may have brought the change: the first and the last."""
        return self.places[self.change.earliest - 1] + 1, self.places[self.change.latest]

    @property
    def direction(self) -> str:
        return f"{self.change.kind} {'up' if self.change.size > 0 else 'down'}"


def scan(series: Series, state: bytes | None, settings: ChangepointSettings) -> tuple[Sequence[Change], bytes]:
    """The changes of a history, oldest first, and what the next scan of it needs."""
    _check(series)
    places, key = _places(series), _key(series, settings)
    remembered = memory.decode(state, key, series.versions, places)
    found: list[_Found] = []
    settled: dict[str, detection.Settled] = {}
    for environment, some in places.items():
        changes, settled[environment] = detection.resume(
            [series.values[place] for place in some],
            remembered.settled.get(environment, detection.Settled()),
            settings.penalty + math.log(series.comparisons),
            settings.confidence,
        )
        found += [_Found(environment, some, change) for change in changes if _matters(change, series, settings)]
    changes_shown, reported = _shown(series, _once(found), remembered.reported, settings)
    return changes_shown, memory.encode(Memory(settled, reported), key, series.versions, places)


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
    found: list[list[_Found]] = [[] for _ in many]
    moved: list[tuple[_Found, float]] = []
    for environment in dict.fromkeys(environment for series in many for environment in _places(series)):
        some = sorted({place for series in many for place in _places(series).get(environment, [])})
        values = [[_values(series, place, environment) for place in some] for series in many]
        result = suite.detect_many(values, penalty=settings.penalty, confidence=settings.confidence)
        for series, mine, changes in zip(many, found, result.changes, strict=True):
            mine += [_Found(environment, some, change) for change in changes if _matters(change, series, settings)]
        moved += [(_Found(environment, some, c), c.after / c.before) for c in result.machine.changes]
    return [
        _in_order(series, [*_shown(series, _once(mine), (), settings)[0], *_moved(series, moved)])
        for series, mine in zip(many, found, strict=True)
    ]


def _check(series: Series) -> None:
    if not len(series.versions) == len(series.environments) == len(series.values):
        raise UsageError(
            f"a series has {len(series.versions)} versions, {len(series.environments)} environments and "
            f"{len(series.values)} values",
            hint="give one environment and one tuple of values for every version",
        )


def _places(series: Series) -> dict[str, list[int]]:
    """The versions that were measured, by environment, in the order in which these first appear."""
    places: dict[str, list[int]] = {}
    for place, (environment, values) in enumerate(zip(series.environments, series.values, strict=True)):
        if any(map(is_finite, values)):
            places.setdefault(environment, []).append(place)
    return places


def _values(series: Series, place: int, environment: str) -> tuple[float, ...]:
    return series.values[place] if series.environments[place] == environment else ()


def _matters(change: ChangePoint, series: Series, settings: ChangepointSettings) -> bool:
    threshold = settings.threshold if series.threshold is None else series.threshold
    return change.kind != "level" or abs(change.size) >= threshold * abs(change.before)


def _once(found: list[_Found]) -> list[_Found]:
    """Every change once: what several machines show at the same place is told by the one that shows it best."""
    kept: list[_Found] = []
    for one in sorted(found, key=lambda one: (-one.change.gain, one.place)):
        if not any(_is_same(one, other) for other in kept):
            kept.append(one)
    return sorted(kept, key=lambda one: one.place)


def _is_same(one: _Found, other: _Found) -> bool:
    if one.environment == other.environment or one.direction != other.direction:
        return False
    return max(one.span[0], other.span[0]) <= min(one.span[1], other.span[1])


def _shown(
    series: Series, found: Sequence[_Found], before: Sequence[Reported], settings: ChangepointSettings
) -> tuple[list[Change], tuple[Reported, ...]]:
    """The changes for people, and the names they were given."""
    anchors, gone = _anchors(series, found, before)
    changes = [_change(series, one, anchor, settings) for one, anchor in zip(found, anchors, strict=True)]
    reported = [Reported(f.environment, f.direction, anchor) for f, anchor in zip(found, anchors, strict=True)]
    return _in_order(series, [*changes, *_machines(series)]), (*reported, *gone[:_GONE])


def _anchors(
    series: Series, found: Sequence[_Found], before: Sequence[Reported]
) -> tuple[list[str], tuple[Reported, ...]]:
    """The versions that changes are named after: those under which they were reported first, though more data may
    have moved them since; and what was reported and is not seen now, but may be again."""
    order = {version: place for place, version in enumerate(series.versions)}
    free = [(r, order[r.anchor]) for r in before if r.anchor in order]
    anchors = []
    for one in found:
        near = [
            (abs(place - one.place), number)
            for number, (reported, place) in enumerate(free)
            if (reported.environment, reported.kind) == (one.environment, one.direction)
            and one.span[0] - _MOVES <= place <= one.span[1] + _MOVES
        ]
        anchors.append(free.pop(min(near)[1])[0].anchor if near else series.versions[one.place])
    return anchors, tuple(reported for reported, _ in free)


def _change(series: Series, one: _Found, anchor: str, settings: ChangepointSettings) -> Change:
    change, versions = one.change, series.versions
    base = one.places[change.index - 1]
    ratio, low, high = _ratios(change)
    size = wording.interval(low, high, settings.confidence) if low is not None and high is not None else ""
    what = wording.level(change, series.unit, size) if change.kind == "level" else wording.noise(change, series.unit)
    span = [versions[place] for place in (one.places[change.earliest - 1], one.places[change.earliest], one.span[1])]
    undone = None if change.undone is None else versions[one.places[change.undone]]
    parts = [
        what,
        wording.where(span, one.place - base - 1),
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
        baseline=versions[base][:10],
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


def _machines(series: Series) -> list[Change]:
    """The versions that were the first to be measured in a new environment."""
    places = _places(series)
    firsts = [(some[0], environment) for environment, some in places.items()][1:]
    measured = sorted(place for some in places.values() for place in some)
    found = []
    for place, environment in firsts:
        base = measured[measured.index(place) - 1]
        evidence = wording.machine(series.environments[base], environment)
        found.append(_event(series, base, place, _identity(series, environment, _MACHINE, ""), evidence))
    return found


def _moved(series: Series, moved: Sequence[tuple[_Found, float]]) -> list[Change]:
    """The versions in which the machine changed without saying so."""
    return [
        _event(
            series,
            one.places[one.change.index - 1],
            one.place,
            _identity(series, one.environment, _MACHINE, series.versions[one.place]),
            wording.shared(ratio),
        )
        for one, ratio in moved
    ]


def _event(series: Series, base: int, place: int, id: str, evidence: str) -> Change:
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
        evidence=evidence,
        earliest=series.versions[place],
        latest=series.versions[place],
    )


def _in_order(series: Series, changes: list[Change]) -> list[Change]:
    order: dict[str, int] = {}
    for place, version in enumerate(series.versions):
        order.setdefault(version[:10], place)
    return sorted(changes, key=lambda change: (order[change.target], change.id))


def _identity(series: Series, environment: str, what: str, version: str) -> str:
    """The same for the same change, whatever is measured later."""
    subject = [series.config_id, series.metric, series.resource, environment, what, version]
    return hashlib.sha256(json.dumps(subject).encode()).hexdigest()[:20]


def _key(series: Series, settings: ChangepointSettings) -> str:
    """What decides about what is settled beside the amounts."""
    return json.dumps([settings.penalty, series.comparisons, settings.confidence, detection.WINDOW])
