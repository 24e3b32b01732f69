"""What a machine that was slower for a while does to a history."""

from __future__ import annotations

import contextlib
import math
from bisect import bisect_left, bisect_right
from collections.abc import Collection, MutableMapping, Sequence
from statistics import median
from typing import TypeAlias

import msgspec
from msgspec.structs import replace

from perfcore.analysis.verdict_text import TIMES
from perfcore.model import Change, Series
from perfcore.repository.repository import Repository
from perfcore.text import printable
from perfcore_check_kit import machine_speed
from perfcore_check_kit.machine_speed import Speed
from perfcore_check_kit.series import ConfigHistory, MeasuredVersion

Known: TypeAlias = MutableMapping[str, "list[Speed]"]
"""What is known of profiles, by their ids."""

_NEAR = 8  # versions on either side that are asked
_MOST = 2.0  # a program becomes slower by up to so much more than the work, in logarithms: a sort by 1.9
_FORMAT = 1  # of the rows of the read model, one for each profile
_SPACE = "speeds"
_DECODER = msgspec.msgpack.Decoder(tuple[int, list[Speed]])
_STEPS = ("degradation", "optimization", "drift", "improving drift")


def calm(repository: Repository, line: ConfigHistory) -> ConfigHistory:
    """The line without the versions beside whose runs the machine was slow."""
    speeds = _speeds(repository, line.versions, {})
    every = [speed for version in speeds for speed in version]
    versions = zip(line.versions, speeds, strict=True)
    return replace(
        line, versions=tuple(m for m, own in versions if machine_speed.slowness(own, every) < machine_speed.SLOW)
    )


def doubted(
    repository: Repository, line: ConfigHistory, series: Series, changes: Sequence[Change], known: Known
) -> tuple[Change, ...]:
    """The changes of one series of a line, oldest first; inconclusive is what the speed of the machine may explain."""
    if not any(map(_is_step_of_time, changes)):
        return tuple(changes)
    positions = {measured.version.id[:10]: index for index, measured in enumerate(line.versions)}
    begun = sorted(positions[change.target] for change in changes if change.target in positions)
    return tuple(
        _doubted(repository, line, change, begun, positions[change.target], known)
        if _is_step_of_time(change)
        and change.target in positions
        and not _is_of_one_session(repository, line, series, change, positions[change.target], known)
        else change
        for change in changes
    )


def _is_step_of_time(change: Change) -> bool:
    return change.kind in _STEPS and change.unit in TIMES


def _is_of_one_session(
    repository: Repository, line: ConfigHistory, series: Series, change: Change, position: int, known: Known
) -> bool:
    """Whether one session measured the versions before and after a step while the machine was as fast beside both, and
    its runs show most of the step."""
    environment = series.environments[position]
    before = next((at for at in reversed(range(position)) if series.environments[at] == environment), None)
    if before is None or not series.sessions or not change.ratio or change.ratio <= 0 or change.until:
        return False
    names = [{name for name, _ in series.sessions[at] if name} for at in (before, position)]
    sides = [_runs(series, at, names[0] & names[1]) for at in (before, position)]
    if not all(sides) or min(map(min, sides)) <= 0:
        return False
    speeds = _speeds(repository, [line.versions[before], line.versions[position]], known)
    every = [speed for side in speeds for speed in side]
    if abs(machine_speed.slowness(speeds[0], every) - machine_speed.slowness(speeds[1], every)) >= machine_speed.SLOW:
        return False  # measured in blocks, or in another session besides
    shown, size = math.log(median(sides[1]) / median(sides[0])), math.log(change.ratio)
    return shown * size > 0 and abs(shown) > abs(size) / 2


def _runs(series: Series, position: int, sessions: Collection[str]) -> list[float]:
    """The runs of a version in these sessions."""
    names = [name for name, count in series.sessions[position] for _ in range(count)]
    return [value for value, name in zip(series.values[position], names, strict=False) if name in sessions]


def _doubted(
    repository: Repository, line: ConfigHistory, change: Change, begun: Sequence[int], position: int, known: Known
) -> Change:
    """`begun` are the positions of all changes."""
    at = bisect_left(begun, position)
    start = begun[at - 1] if at else 0
    after = bisect_right(begun, position)
    end = begun[after] if after < len(begun) else len(line.versions)
    environment = line.versions[position].environment
    sides = line.versions[position : min(end, position + _NEAR)], line.versions[max(start, position - _NEAR) : position]
    speeds = [
        [*filter(None, _speeds(repository, [m for m in side if m.environment == environment], known))] for side in sides
    ]
    if not all(speeds) or change.ratio is None or change.ratio <= 0:  # as a check of others may have it
        return change
    every = [speed for side in speeds for version in side for speed in version]
    later, earlier = (median(machine_speed.slowness(version, every) for version in side) for side in speeds)
    size, slower = math.log(change.ratio), later - earlier
    if abs(slower) < machine_speed.SLOW or size * slower <= 0 or abs(size) > _MOST * abs(slower):
        return change
    slow, fast = ("from then on", "before") if slower > 0 else ("before", "from then on")
    text = (
        f"the machine took {100 * math.expm1(abs(slower)):.0f} % longer for the same work {slow} than {fast}, "
        f"so this may be the machine; to decide: perf compare {printable(change.baseline)} {printable(change.target)} "
        "-- COMMAND"
    )
    return replace(
        change,
        kind="cannot tell",
        reason=machine_speed.BUSY,
        until="",
        pace=None,
        evidence=f"{text}; {change.evidence}",
    )


def _speeds(repository: Repository, versions: Sequence[MeasuredVersion], known: Known) -> list[list[Speed]]:
    """What the profiles of each version say; nothing of one that cannot be read, of which its values warn."""
    model, unknown = repository.store.read_model, [id for m in versions for id in m.profiles if id not in known]
    for id, row in model.many(_SPACE, unknown).items() if unknown else ():
        with contextlib.suppress(msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
            format, known[id] = _DECODER.decode(row)
            if format != _FORMAT:
                del known[id]
    unread = [id for id in unknown if id not in known]
    known.update((id, []) for id in unread)
    read = {id: machine_speed.of_profiles([profile]) for id, profile in repository.store.load_many(unread)}
    model.put(_SPACE, {id: msgspec.msgpack.encode((_FORMAT, speeds)) for id, speeds in read.items()})
    known.update(read)
    return [[speed for id in measured.profiles for speed in known[id]] for measured in versions]
