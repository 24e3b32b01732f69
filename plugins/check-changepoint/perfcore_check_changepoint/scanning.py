"""Converts a stored history to the changes that perfcore reports.

Values of different machines are not compared. A history is split by environment, and every environment is a series of
its own. The first version of a new environment is reported as a change of the machine; a machine that returns
continues its former series, and one that replaces another continues that one's, if both measured several versions.
"""

from __future__ import annotations

import contextlib
import functools
import json
import math
from bisect import bisect_left
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from msgspec.structs import replace

from perfcore.errors import UsageError
from perfcore.model import Change
from perfcore_check_changepoint import (
    detection,
    exact,
    linked_steps,
    machine_events,
    memory,
    replacement,
    run_factor,
    session_boundaries,
    sessions,
    suite,
    windows,
    wording,
)
from perfcore_check_changepoint.located import (
    LocatedChange,
    MachineStep,
    MeasuredVersions,
    Places,
    identity,
    neighbours,
    once,
    ratios,
)
from perfcore_check_changepoint.machine_events import Placed
from perfcore_check_changepoint.memory import Memory, Reported
from perfcore_check_changepoint.points import ChangePoint
from perfcore_check_changepoint.runs import Runs
from perfcore_check_changepoint.series import distinct

if TYPE_CHECKING:
    from perfcore.model import ChangeKind, Series
    from perfcore_check_changepoint import ChangepointSettings

# As far as two detections may be apart and still count as one change (`_BESIDE` of the suite, the benchmarks' margin).
_MOVES = 3  # versions that the estimate of a change may move
_GONE = 100  # changes that are remembered though a scan no longer reports them; bounds the size of the state


def scan(series: Series, state: bytes | None, settings: ChangepointSettings) -> tuple[Sequence[Change], bytes]:
    """The changes of a history, oldest first, and the state for its next scan."""
    _check(series)
    own, key = _measured(series), _key(series, settings)
    joined, measured = _joined(series, own)
    remembered = memory.decode(state, key)
    located: list[LocatedChange] = []
    settled: dict[str, detection.Settled] = {}
    for history in measured:
        changes, settled[history.environment] = detection.resume(
            history.runs,
            remembered.settled.get(history.environment, detection.Settled()),
            settings.penalty + math.log(series.comparisons),
            settings.confidence,
        )
        located += [
            LocatedChange(history.environment, history.positions, c, history.environment)
            for c in changes
            if _matters(c, series, settings)
        ]
    shown = joined.series if joined is not None else series
    changes_shown, reported = _shown(shown, once(_placed(joined, located)), remembered.reported, settings)
    events = machine_events.environments(series, own, _continuations(joined), settings.confidence)
    return _in_order([*changes_shown, *events]), memory.encode(Memory(settled, reported), key)


def scan_many(
    many: Sequence[Series], settings: ChangepointSettings, memory: MutableMapping[str, bytes]
) -> Sequence[Sequence[Change]]:
    """The changes of histories over the same versions, without changes of the machine that all of them share. `memory`
    has what is settled of long histories."""
    if not many:
        return []
    for series in many:
        _check(series)
        if series.versions != many[0].versions:
            raise UsageError(
                "the series cover different versions, so their shared changes cannot be separated",
                hint="give every series all versions, with no values where nothing was measured",
            )
    without_machine = [_is_of_any_machine(series) for series in many]
    if any(without_machine):
        timed = [series for series, is_exact in zip(many, without_machine, strict=True) if not is_exact]
        scanned = iter(scan_many(timed, settings, memory))
        return [
            scan(series, None, settings)[0] if is_exact else next(scanned)
            for series, is_exact in zip(many, without_machine, strict=True)
        ]
    if windows.is_long(len(many[0].versions)):
        places = list(map(_places, many))
        several = (series for series, own in zip(many, places, strict=True) if len(own) > 1)
        if all(replacement.joined(series, _measured(series)) is None for series in several):
            return _scan_windows(many, places, settings, memory)
    originals, given = many, list(run_factor.without(many))
    adjusted = [series is not original for series, original in zip(given, originals, strict=True)]
    own_histories = [_measured(series) for series in given]
    replaced = [_joined(series, own) for series, own in zip(given, own_histories, strict=True)]
    measured = [histories for _, histories in replaced]
    given = [series if joined is None else joined.series for series, (joined, _) in zip(given, replaced, strict=True)]
    within = [_in_one_session(series, histories) for series, histories in zip(given, measured, strict=True)]
    many = [series for series, _ in within]
    located: list[list[LocatedChange]] = [[] for _ in many]
    moved: list[MachineStep] = []
    for environment in dict.fromkeys(history.environment for histories in measured for history in histories):
        measured_positions = [
            history.positions for histories in measured for history in histories if history.environment == environment
        ]
        positions = distinct(np.concatenate(measured_positions))
        values = [[_values(series, position, environment) for position in positions.tolist()] for series in many]
        is_code = _measured_in_turn(given, positions.tolist())
        is_small = len(many) < suite.SMALL
        of_environment = [{history.environment: history for history in histories} for histories in measured]
        result = suite.detect_many(
            values,
            penalty=settings.penalty,
            confidence=settings.confidence,
            is_code=suite.never if is_small else is_code,
            machines=[own[environment].runs.machines if environment in own else None for own in of_environment],
        )
        if is_small and any(map(is_code, result.machine.changes)):
            return [
                scan(series, None, settings)[0] for series in run_factor.without(originals)
            ]  # the code of all of them changed
        for (series, aligned), own, mine, changes in zip(within, of_environment, located, result.changes, strict=True):
            of_own = (
                LocatedChange.of_union(change, positions, own[environment])
                for change in changes
                if _matters(change, series, settings)
            )
            mine += _believed(list(of_own), own.get(environment), aligned.get(environment), settings)
        machine_steps = zip(result.machine.changes, result.machine.moved, result.machine.measured, strict=True)
        moved += [
            _machine_step(
                given,
                LocatedChange(originals[0].environments[int(positions[c.index])], positions, c, environment),
                len(which),
                count,
            )
            for c, which, count in machine_steps
        ]
    return [
        _in_order(
            [
                *_changes_shown(series, once(_placed(joined, mine)), settings, is_adjusted=is_adjusted),
                *machine_events.environments(original, own, _continuations(joined), settings.confidence),
                *machine_events.steps(series, parts, moved, settings),
            ]
        )
        for original, is_adjusted, series, own, (joined, parts), mine in zip(
            originals, adjusted, given, own_histories, replaced, located, strict=True
        )
    ]


def _scan_windows(
    many: Sequence[Series],
    histories: Sequence[Sequence[Places]],
    settings: ChangepointSettings,
    memory: MutableMapping[str, bytes],
) -> Sequence[Sequence[Change]]:
    """The same in windows, for each machine by itself. The factors of one that replaces another are of all versions."""
    located: list[list[LocatedChange]] = [[] for _ in many]
    adjusted = set[int]()  # changes by their identity in this process
    moved: list[MachineStep] = []
    detect_window = functools.partial(_window, settings=settings)
    of_environment = [{history.environment: history for history in own} for own in histories]
    for environment in dict.fromkeys(history.environment for own in histories for history in own):
        of_machine = [own.get(environment) for own in of_environment]
        positions = distinct(np.concatenate([history.positions for history in of_machine if history is not None]))
        own_series = [_of_environment(series, positions.tolist(), environment) for series in many]
        result = windows.detect(own_series, detect_window, [settings.penalty, settings.confidence], memory, environment)
        for series, history, mine, changes, shared in zip(
            many, of_machine, located, result.changes, result.adjusted, strict=True
        ):
            for change in changes:
                if history is not None and _matters(change, series, settings):
                    mine.append(LocatedChange.of_union(change, positions, history))
                    adjusted |= {id(mine[-1])} if change.index in shared else set()
        moved += [
            _machine_step(
                many, LocatedChange(environment, positions, step.change, environment), step.moved, step.measured
            )
            for step in result.steps
        ]
    return [
        _in_order(
            [
                *_noted(_shown(series, listed, (), settings)[0], [id(change) in adjusted for change in listed]),
                *machine_events.environments(series, own, (), settings.confidence),
                *machine_events.steps(series, own, moved, settings),
            ]
        )
        for series, own, listed in zip(many, histories, map(once, located), strict=True)
    ]


def _joined(
    series: Series, measured: list[MeasuredVersions]
) -> tuple[replacement.Joined | None, list[MeasuredVersions]]:
    """The series with the machines as one that replaced another, where there are any, and its histories."""
    joined = replacement.joined(series, measured)
    return joined, measured if joined is None else [joined.doubted(history) for history in _measured(joined.series)]


def _continuations(joined: replacement.Joined | None) -> Sequence[replacement.Continuation]:
    return joined.continuations if joined is not None else ()


def _placed(joined: replacement.Joined | None, located: Sequence[LocatedChange]) -> list[LocatedChange]:
    """The changes of the code, in the amounts of the machine that measured them."""
    if joined is None:
        return list(located)
    return [joined.placed(change) for change in located if not joined.is_of_machine(change)]


def _believed(
    located: list[LocatedChange],
    history: MeasuredVersions | None,
    aligned: sessions.Aligned | None,
    settings: ChangepointSettings,
) -> list[LocatedChange]:
    """The changes of a history with the evidence that is left when its factors are not quite known."""
    for doubt in (
        history.runs.doubt if history is not None else None,
        aligned.doubt if aligned is not None and located else None,
    ):
        if doubt is not None and located:
            changes = doubt.believed([one.change for one in located], settings.penalty, settings.confidence)
            located = [replace(located[0], change=change) for change in changes]
    return located


def _changes_shown(
    series: Series, located: Sequence[LocatedChange], settings: ChangepointSettings, *, is_adjusted: bool
) -> list[Placed]:
    """The changes for people, with a note where the runs are not as they were measured."""
    return _noted(_shown(series, located, (), settings)[0], [is_adjusted] * len(located))


def _noted(shown: Sequence[Placed], adjusted: Sequence[bool]) -> list[Placed]:
    """The changes with a note at those whose runs are not as they were measured."""
    return [
        (at, replace(change, evidence=f"{change.evidence}; {wording.SHARED}") if is_adjusted else change)
        for (at, change), is_adjusted in zip(shown, adjusted, strict=True)
    ]


def _of_environment(series: Series, positions: Sequence[int], environment: str) -> Series:
    """The versions of a series at these positions, with what was measured in one environment."""
    if len(positions) == len(series.versions) and _is_of_one(series, environment):  # as nearly always
        return series if len(series.sessions) == len(series.versions) else replace(series, sessions=())
    own = [series.environments[position] == environment for position in positions]
    sessions = series.sessions if len(series.sessions) == len(series.versions) else ()
    return replace(
        series,
        versions=tuple(series.versions[position] for position in positions),
        environments=(environment,) * len(positions),
        values=tuple(_values(series, position, environment) for position in positions),
        sessions=tuple(sessions[at] if is_own else () for at, is_own in zip(positions, own, strict=True))
        if sessions
        else (),
    )


def _window(many: Sequence[Series], settings: ChangepointSettings) -> windows.WindowChanges:
    """What `scan_many` detects in series of one machine, before anybody is told."""
    given = run_factor.without(many)
    histories = [_measured(series) if _meet(series) else [] for series in given]
    within = [_in_one_session(series, own) for series, own in zip(given, histories, strict=True)]
    is_code = _measured_in_turn(given, range(len(many[0].versions)))
    is_small = len(many) < suite.SMALL
    result = suite.detect_many(
        [series.values for series, _ in within],
        penalty=settings.penalty,
        confidence=settings.confidence,
        is_code=suite.never if is_small else is_code,
    )
    machine = result.machine
    if is_small and any(map(is_code, machine.changes)):  # the code of all of them changed
        alone = tuple(_detected_alone(series, _measured(series), settings) for series in given)
        return windows.WindowChanges(alone, (False,) * len(many), ())
    return windows.WindowChanges(
        changes=tuple(
            _believed_in_window(changes, own, aligned, settings)
            for changes, own, (_, aligned) in zip(result.changes, histories, within, strict=True)
        ),
        adjusted=tuple(series is not original for series, original in zip(given, many, strict=True)),
        steps=tuple(
            windows.Step(change, len(series), count)
            for change, series, count in zip(machine.changes, machine.moved, machine.measured, strict=True)
        ),
    )


def _believed_in_window(
    changes: Sequence[ChangePoint],
    histories: Sequence[MeasuredVersions],
    aligned: Mapping[str, sessions.Aligned],
    settings: ChangepointSettings,
) -> tuple[ChangePoint, ...]:
    """The changes with the evidence that is left when the offsets of sessions are not quite known."""
    if not changes or not aligned:
        return tuple(changes)
    (history,) = histories
    every = np.arange(int(history.positions[-1]) + 1)
    located = [LocatedChange.of_union(change, every, history) for change in changes]
    believed = _believed(located, None, aligned[history.environment], settings)
    position = history.positions.tolist().__getitem__
    return tuple(one.change.renumbered(position) for one in believed)


def _detected_alone(
    series: Series, histories: Sequence[MeasuredVersions], settings: ChangepointSettings
) -> tuple[ChangePoint, ...]:
    """The changes of one series among the versions of all, as `scan` detects them."""
    penalty = settings.penalty + math.log(series.comparisons)
    return tuple(
        change.renumbered(history.positions.tolist().__getitem__)
        for history in histories
        for change in detection.resume(history.runs, detection.Settled(), penalty, settings.confidence)[0]
    )


def _measured_in_turn(many: Sequence[Series], positions: Sequence[int]) -> Callable[[ChangePoint], bool]:
    """Whether a session measured the versions on both sides of a change: then the machine was the same, unless linked
    sessions tell that it changed with one of them."""

    @functools.cache
    def came_with_session(earliest: int, latest: int) -> bool:
        return linked_steps.came_with_session(many, positions, (positions[earliest - 1] + 1, positions[latest]))

    def is_code(change: ChangePoint) -> bool:
        end = change.index if change.until is None else change.until
        in_turn = sessions.shared(many, positions[change.index - 1], positions[end])
        return in_turn and (change.until is not None or not came_with_session(change.earliest, change.latest))

    return is_code


def _machine_step(many: Sequence[Series], located: LocatedChange, moved: int, measured: int) -> MachineStep:
    """A step that is not the code's, though a session may have measured the versions on both sides."""
    return MachineStep(located, moved, measured, sessions.shared(many, located.base, located.position))


def _meet(series: Series) -> bool:
    """Whether a session measured several versions, or may have: sessions that met none have no offset to be told."""
    names = [name for of_version in series.sessions for name, _ in of_version if name]
    return len(set(names)) < len(names)


def _in_one_session(series: Series, measured: Sequence[MeasuredVersions]) -> tuple[Series, dict[str, sessions.Aligned]]:
    """The series without the offsets of its sessions, with them the machine would seem to change in every version; and
    what is known of them, by environment."""
    values, aligned_histories = list(series.values), dict[str, sessions.Aligned]()
    for history in measured:
        aligned = sessions.align(history.runs, 0)
        if aligned is not None:
            aligned_histories[history.environment] = aligned
            amounts = np.split(np.asarray(aligned.runs.amounts), aligned.runs.ends[1:-1])
            for position, amounts_of_version in zip(history.positions.tolist(), amounts, strict=True):
                values[position] = tuple(amounts_of_version.tolist())
    in_one = replace(series, values=tuple(values), sessions=()) if aligned_histories else series
    return in_one, aligned_histories


def _check(series: Series) -> None:
    if not len(series.versions) == len(series.environments) == len(series.values):
        raise UsageError(
            f"a series has {len(series.versions)} versions, {len(series.environments)} environments and "
            f"{len(series.values)} values",
            hint="give one environment and one tuple of values for every version",
        )


def _places(series: Series) -> Sequence[Places]:
    """Where each environment measured, which takes no look at single runs if one measured all versions, as mostly."""
    with contextlib.suppress(OverflowError, TypeError):  # a number that no float can hold, or of another library
        if (
            all(series.values)
            and _is_of_one(series, series.environments[0])
            and math.isfinite(sum(map(sum, series.values)))  # then each of them is
        ):
            return [Places(series.environments[0], np.arange(len(series.values)), None)]
    return _measured(series)


def _measured(series: Series) -> list[MeasuredVersions]:
    """The versions that were measured, by environment, in the order in which these first appear."""
    runs = Runs.of(series.values, series.sessions)
    positions = np.flatnonzero(runs.counts)
    numbers: dict[str, int] = {}
    if series.environments and (
        _is_of_one(series, series.environments[0]) or exact.are_of_any_machine(runs, series.environments)
    ):
        numbers, owners = {series.environments[0]: 0}, np.zeros(len(positions), dtype=np.int64)
    else:
        names = (series.environments[position] for position in positions.tolist())
        owners = np.fromiter((numbers.setdefault(name, len(numbers)) for name in names), np.int64, len(positions))
    return [
        MeasuredVersions(
            environment,
            positions[chosen_points],
            int(positions[chosen_points[0] - 1]) if chosen_points[0] else None,
            environment_runs,
        )
        for environment, (chosen_points, environment_runs) in zip(
            numbers, runs.chosen(positions).groups(owners, len(numbers)), strict=True
        )
        if len(chosen_points)
    ]


def _is_of_any_machine(series: Series) -> bool:
    """Whether several machines measured exact amounts, which are the same on all of them."""
    if not series.environments or _is_of_one(series, series.environments[0]):
        return False
    return exact.are_of_any_machine(Runs.of(series.values), series.environments)


def _is_of_one(series: Series, environment: str) -> bool:
    """Whether all of a series was measured in this environment."""
    return 0 < series.environments.count(environment) == len(series.environments)


def _values(series: Series, position: int, environment: str) -> tuple[float, ...]:
    return series.values[position] if series.environments[position] == environment else ()


def _matters(change: ChangePoint, series: Series, settings: ChangepointSettings) -> bool:
    threshold = settings.threshold if series.threshold is None else series.threshold
    return change.kind == "noise" or abs(change.size) >= threshold * abs(change.before)


def _shown(
    series: Series, located: Sequence[LocatedChange], before: Sequence[Reported], settings: ChangepointSettings
) -> tuple[list[Placed], tuple[Reported, ...]]:
    """The changes for people, and the names they were given."""
    reported, gone = _anchors(series, located, before)
    changes = [
        (change.position, _change(series, change, name.anchor, bounds, settings))
        for change, name, bounds in zip(located, reported, neighbours(located), strict=True)
    ]
    return changes, (*reported, *gone[:_GONE])


def _anchors(
    series: Series, located: Sequence[LocatedChange], before: Sequence[Reported]
) -> tuple[list[Reported], list[Reported]]:
    """The versions that changes are named after: those under which they were reported first, though more data may
    have moved them since; and the reported changes that this scan does not detect, because a later one may."""
    previous = _still_listed(series, before)
    free: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for position, index in sorted((change.position, index) for index, change in enumerate(previous)):
        free.setdefault((previous[index].environment, previous[index].kind), []).append((position, index))
    matched = set[int]()
    named = []
    for change in located:
        candidates = free.get((change.environment, change.direction), [])
        first, last = change.span[0] - _MOVES, change.span[1] + _MOVES
        near = candidates[bisect_left(candidates, (first, -1)) : bisect_left(candidates, (last + 1, -1))]
        distances = [(abs(position - change.position), index) for position, index in near if index not in matched]
        if distances:
            matched.add(min(distances)[1])
        anchor = previous[min(distances)[1]] if distances else None
        named.append(
            anchor or Reported(change.environment, change.direction, series.versions[change.position], change.position)
        )
    return named, [change for index, change in enumerate(previous) if index not in matched]


def _still_listed(series: Series, before: Sequence[Reported]) -> list[Reported]:
    """The reported changes whose versions the history still has, with the present positions of these versions."""
    if all(
        0 <= reported.position < len(series.versions) and series.versions[reported.position] == reported.anchor
        for reported in before
    ):
        return list(before)
    order = {version: position for position, version in enumerate(series.versions)}
    return [replace(reported, position=order[reported.anchor]) for reported in before if reported.anchor in order]


def _change(
    series: Series,
    located: LocatedChange,
    anchor: str,
    bounds: tuple[int, int | None],
    settings: ChangepointSettings,
) -> Change:
    change, versions = located.change, series.versions
    ratio, low, high = ratios(change)
    size = wording.interval(low, high, settings.confidence) if low is not None and high is not None else ""
    pace = None if ratio is None or located.length is None else ratio ** (1 / located.length)
    describe = {"level": wording.level, "drift": wording.drift, "noise": wording.noise}[change.kind]
    earliest = located.earliest(series)
    before, first, latest = (
        versions[position]
        for position in located.positions[[change.earliest - 1, change.earliest, change.latest]].tolist()
    )
    undone = None if change.undone is None else versions[located.positions[change.undone]]
    session = session_boundaries.new_session(series, located, bounds)
    parts = [
        wording.session(session, versions[located.base], versions[located.position]) if session else "",
        describe(change, series.unit, size),
        wording.pace(pace, located.length) if pace is not None and located.length is not None else "",
        wording.where(before, earliest, latest, measured=earliest == first),
        wording.strength(change),
        wording.undone(undone),
    ]
    return Change(
        id=identity(series, located.environment, located.direction, anchor),
        kind="cannot tell" if session else _kind(change, series),
        metric=series.metric,
        unit=series.unit,
        resource=series.resource,
        config_id=series.config_id,
        label=series.label,
        baseline=versions[located.base][:10],
        target=versions[located.position][:10],
        baseline_value=change.before,
        target_value=change.after,
        ratio=ratio,
        low=low,
        high=high,
        confidence=settings.confidence if low is not None else None,
        p_value=change.p_value,
        evidence="; ".join(text for text in parts if text),
        reason=wording.why_open(session) if session else "",
        earliest=earliest,
        latest=latest,
        undone=undone or "",
        until="" if session else _end(series, located),
        pace=None if session else pace,
    )


def _end(series: Series, located: LocatedChange) -> str:
    """The last version of a drift that this series was measured in; empty for what is no drift."""
    if located.change.until is None:
        return ""
    positions: list[int] = located.positions[located.change.index : located.change.until + 1].tolist()
    return series.versions[positions[-1]]


def _kind(change: ChangePoint, series: Series) -> ChangeKind:
    if change.kind == "noise":
        return "variance"
    is_worse = (change.size > 0) == (series.better == "lower")
    if change.kind == "drift":
        return "drift" if is_worse else "improving drift"
    return "degradation" if is_worse else "optimization"


def _in_order(changes: list[Placed]) -> list[Change]:
    return [change for _, change in sorted(changes, key=lambda placed: (placed[0], placed[1].id))]


def _key(series: Series, settings: ChangepointSettings) -> str:
    """The inputs, beside the values, that settled changes depend on."""
    return json.dumps([settings.penalty, series.comparisons, settings.confidence, detection.WINDOW])
