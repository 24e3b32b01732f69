"""The state that a scan stores for the next one: settled changes, and the names of those that were reported."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import msgspec

from perfcore_check_changepoint.detection import CONTEXT, HINDSIGHT, WINDOW, Settled, Step
from perfcore_check_changepoint.points import ChangePoint

# Of a cache of another format only the names of changes are read, and the scan begins anew: one of another method would
# keep what that settled. It is another one when the method finds something else.
FORMAT = 7
_NAMED = (2, 3, 5, 6, FORMAT)


class Reported(msgspec.Struct, frozen=True):
    """A change as it was first reported: `anchor` is the version that was its first one then, at `position`."""

    environment: str
    kind: str
    anchor: str
    position: int


class Memory(msgspec.Struct, frozen=True):
    settled: Mapping[str, Settled] = {}
    reported: tuple[Reported, ...] = ()


def encode(memory: Memory, key: str) -> bytes:
    document = {
        "format": FORMAT,
        "key": key,
        "environments": {
            environment: {
                "steps": [(step.start, step.digest) for step in settled.steps],
                "changes": [change.row() for change in settled.changes],
            }
            for environment, settled in memory.settled.items()
        },
        "reported": [(r.environment, r.kind, r.anchor, r.position) for r in memory.reported],
    }
    return json.dumps(document, sort_keys=True, separators=(",", ":")).encode()


def decode(state: bytes | None, key: str) -> Memory:
    """The stored state; empty where another perfcore wrote it or it is damaged, and only the names of changes where it
    belongs to other settings: then all versions are scanned again."""
    if state is None:
        return Memory()
    try:
        document = json.loads(state)
        if document["format"] not in _NAMED:
            return Memory()
        reported = tuple(_reported(*entry) for entry in document["reported"])
        if document["format"] != FORMAT or document["key"] != key:
            return Memory(reported=reported)
        settled = {environment: _settled(entry) for environment, entry in document["environments"].items()}
        return Memory(settled, reported)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return Memory()


def _reported(environment: str, kind: str, anchor: str, position: int) -> Reported:
    if not all(isinstance(text, str) for text in (environment, kind, anchor)) or type(position) is not int:
        raise ValueError("no change of a history")
    return Reported(environment, kind, anchor, position)


def _settled(entry: Mapping[str, Any]) -> Settled:
    settled = Settled(
        tuple(Step(start, digest) for start, digest in entry["steps"]),
        tuple(map(ChangePoint.of_row, entry["changes"])),
    )
    starts = [0, *(step.start for step in settled.steps)]
    if not all(type(start) is int for start in starts) or not all(map(_is_step, pairwise(starts))):
        raise ValueError("no window moves so")
    if not all(isinstance(step.digest, str) for step in settled.steps):
        raise ValueError("no digest")
    if not all(_is_sound(change, settled.start) for change in settled.changes):
        raise ValueError("no change of a history")
    return settled


def _is_step(starts: tuple[int, int]) -> bool:
    before, after = starts
    return before + WINDOW - HINDSIGHT - CONTEXT <= after <= before + WINDOW


def _is_sound(change: ChangePoint, start: int) -> bool:
    indexes = (change.earliest, change.index, change.latest)
    figures = (change.before, change.after, change.low, change.high, change.gain, change.p_value)
    return (
        all(type(index) is int for index in indexes)
        and 0 < change.earliest <= change.index <= change.latest <= start
        and all(isinstance(figure, int | float) and math.isfinite(figure) for figure in figures)
        and change.kind in ("level", "drift", "noise")
        and (change.kind == "drift") == (type(change.until) is int and change.until >= change.index)
        and (change.until is None or type(change.until) is int)
    )
