"""The changes of a suite with a long history, window by window.

A window has WINDOW versions, and the next one begins STRIDE versions later, wherever changes are: so what a window
shows depends on nothing but the values in it, and versions that are measured later cost one window. The changes up to
HINDSIGHT versions before the end of a window are settled by it, those after them by the next one, which sees CONTEXT
versions before them as well. The last window is open: it ends with the history.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from perfcore_check_changepoint import sizes
from perfcore_check_changepoint.detection import CONTEXT, HINDSIGHT, WINDOW
from perfcore_check_changepoint.points import ChangePoint
from perfcore_check_changepoint.suite import SMALL

if TYPE_CHECKING:
    from perfcore.model import Series

STRIDE = WINDOW - HINDSIGHT - CONTEXT
_NEAR = 3  # versions by which two windows may place one change differently, as far as two detections may be apart
_FORMAT = 7  # of what is remembered of a window, and of the method that found it
_DIGEST = 16  # bytes
_VALUES = msgspec.msgpack.Encoder()


class Step(msgspec.Struct, frozen=True):
    """A step of the machine with the number of series that moved with it, of so many measured ones."""

    change: ChangePoint
    moved: int
    measured: int


class WindowChanges(msgspec.Struct, frozen=True):
    """The changes of each series in a window, which of them were measured beside a factor of their runs, and the steps
    of the machine. Versions are counted from the beginning of the window."""

    changes: tuple[tuple[ChangePoint, ...], ...]
    adjusted: tuple[bool, ...]
    steps: tuple[Step, ...]


class History(msgspec.Struct, frozen=True):
    """The same over the whole history: `adjusted[i]` are the versions of the changes of series i that were."""

    changes: Sequence[Sequence[ChangePoint]]
    adjusted: Sequence[frozenset[int]]
    steps: Sequence[Step]


def is_long(versions: int) -> bool:
    """Whether a history has more than one window."""
    return versions > WINDOW


def detect(
    many: Sequence[Series],
    detect_window: Callable[[Sequence[Series]], WindowChanges],
    settings: Sequence[object],
    memory: MutableMapping[str, bytes],
    name: str,
) -> History:
    """The changes of series over the versions of one machine, which `name` tells from others. `settings` are what the
    answer of `detect_window` depends on beside the series. What `memory` has of a window is believed if it was detected
    in the same values; else it is replaced."""
    changes: list[list[ChangePoint]] = [[] for _ in many]
    adjusted: list[set[int]] = [set() for _ in many]
    steps: list[Step] = []
    settled = 0
    for start, end, sure in _windows(len(many[0].versions)):
        measured = _measured(many, start, end)
        window = [series for _, series in measured]
        if sure < end:
            detected = _remembered(memory, f"{name} {start}", window, settings, detect_window)
        else:
            detected = detect_window(window)
        for (index, _), found, is_adjusted in zip(measured, detected.changes, detected.adjusted, strict=True):
            own = [_moved(change, start) for change in found]
            added = [change for change in own if _belongs(change, changes[index], settled, sure)]
            changes[index] += added
            adjusted[index] |= {change.index for change in added if is_adjusted}
        moved = [replace(step, change=_moved(step.change, start)) for step in detected.steps]
        earlier = [step.change for step in steps]
        steps += [step for step in moved if _belongs(step.change, earlier, settled, sure)]
        settled = sure
    return History([_finished(found) for found in changes], list(map(frozenset, adjusted)), steps)


def _windows(count: int) -> Iterator[tuple[int, int, int]]:
    """Where each window begins and ends, and up to which version it decides."""
    start = 0
    while is_long(count - start):
        yield start, start + WINDOW, start + WINDOW - HINDSIGHT
        start += STRIDE
    yield start, count, count


def _finished(changes: Sequence[ChangePoint]) -> list[ChangePoint]:
    """The changes of all windows of a series, with what undoes them."""
    return sizes.undone(sizes.joined(sorted(changes, key=lambda change: change.index)))


def _measured(many: Sequence[Series], start: int, end: int) -> list[tuple[int, Series]]:
    """The series that have values in a window, by their numbers. The others say nothing about it: a benchmark that is
    added later does not change what is settled."""
    return [(index, _part(series, start, end)) for index, series in enumerate(many) if any(series.values[start:end])]


def _part(series: Series, start: int, end: int) -> Series:
    return replace(
        series,
        versions=series.versions[start:end],
        environments=series.environments[start:end],
        values=series.values[start:end],
        sessions=series.sessions[start:end],
        next_versions=(),
    )


def _belongs(change: ChangePoint, earlier: Sequence[ChangePoint], settled: int, sure: int) -> bool:
    """Whether a window decides about a change: it begins after what the window before has settled, or the last version
    of a drift comes after that. What both show at slightly different versions is one change."""
    if change.index > sure:
        return False
    if change.until is not None:
        return settled == 0 or change.until > settled
    return change.index > settled - _NEAR * bool(settled) and not any(_is_same(change, other) for other in earlier)


def _is_same(change: ChangePoint, other: ChangePoint) -> bool:
    """Whether what two windows show may be one change: their spans are not apart."""
    is_near = change.earliest <= other.latest + _NEAR and other.earliest <= change.latest + _NEAR
    return is_near and change.kind == other.kind and (change.size > 0) == (other.size > 0)


def _moved(change: ChangePoint, by: int) -> ChangePoint:
    """The change among all versions. What undoes it is looked for among the changes of all windows."""
    return replace(change.renumbered(lambda index: index + by), undone=None)


def _remembered(
    memory: MutableMapping[str, bytes],
    key: str,
    window: Sequence[Series],
    settings: Sequence[object],
    detect_window: Callable[[Sequence[Series]], WindowChanges],
) -> WindowChanges:
    """The changes of a settled window, from memory where that is of the same values. What is detected is read back from
    what is remembered, so that the answer is the same either way."""
    asked = _digest(window, settings)
    remembered = _decoded(memory.get(key), asked, len(window))
    if remembered is None:
        row = _encoded(asked, detect_window(window))
        memory[key] = row
        remembered = _decoded(row, asked, len(window))
        assert remembered is not None
    return remembered


def _digest(window: Sequence[Series], settings: Sequence[object]) -> str:
    """The same for the same values, whose versions and names have no part in the answer but as suites."""
    # How many series are scanned matters to those of a small suite only, which may be looked at one by one.
    comparisons = [series.comparisons for series in window] if len(window) < SMALL else []
    state = hashlib.blake2b(repr((_FORMAT, settings, comparisons)).encode(), digest_size=_DIGEST)
    configurations: dict[str, int] = {}
    sessions, named = None, b""
    for series in window:
        suite = configurations.setdefault(series.config_id, len(configurations))
        state.update(repr((suite, bool(series.resource))).encode())
        state.update(_encoded_values(series))
        if series.sessions != sessions:  # the benchmarks of a suite have the same ones
            sessions = series.sessions
            named = repr(sessions).encode("utf-8", "backslashreplace")
        state.update(named)
    return state.hexdigest()


def _encoded_values(series: Series) -> bytes:
    """The amounts of each version, of which whole numbers are told from others."""
    try:
        return _VALUES.encode(series.values)
    except (OverflowError, TypeError):  # a number of more than 64 bits, or of another library
        return repr(series.values).encode()


def _encoded(asked: str, detected: WindowChanges) -> bytes:
    document = [
        [[change.row() for change in changes] for changes in detected.changes],
        detected.adjusted,
        [[step.change.row(), step.moved, step.measured] for step in detected.steps],
    ]
    data = json.dumps(document, separators=(",", ":"))
    return f"{asked} {_checksum(data)} {data}".encode()


def _decoded(row: bytes | None, asked: str, count: int) -> WindowChanges | None:
    """What is remembered of a window; None where there is nothing, or it is damaged, or of other values."""
    try:
        of, checksum, data = (row or b"").decode().split(" ", 2)
        if of != asked or checksum != _checksum(data):
            return None
        changes, adjusted, steps = json.loads(data)
        if not len(changes) == len(adjusted) == count:
            return None
        return WindowChanges(
            changes=tuple(tuple(map(ChangePoint.of_row, rows)) for rows in changes),
            adjusted=tuple(map(bool, adjusted)),
            steps=tuple(Step(ChangePoint.of_row(row), moved, measured) for row, moved, measured in steps),
        )
    except (ValueError, TypeError, RecursionError):
        return None


def _checksum(data: str) -> str:
    return hashlib.blake2b(data.encode(), digest_size=_DIGEST).hexdigest()
