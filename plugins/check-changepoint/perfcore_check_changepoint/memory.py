"""What a scan leaves for the next one: what is settled, and under which names changes were reported."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import attrs

from perfcore_check_changepoint.detection import Settled
from perfcore_check_changepoint.points import ChangePoint

FORMAT = 1
Places = Mapping[str, list[int]]


@attrs.frozen
class Reported:
    """A change as it was first reported: `anchor` is the version that was its first one then."""

    environment: str
    kind: str
    anchor: str


@attrs.frozen
class Memory:
    settled: Mapping[str, Settled] = attrs.Factory(dict)
    reported: tuple[Reported, ...] = ()


def encode(memory: Memory, key: str, versions: tuple[str, ...], places: Places) -> bytes:
    document = {
        "format": FORMAT,
        "key": key,
        "environments": {
            environment: {
                "start": settled.start,
                "version": _version(versions, places[environment], settled.start),
                "changes": [attrs.asdict(change) for change in settled.changes],
            }
            for environment, settled in memory.settled.items()
        },
        "reported": [attrs.astuple(reported) for reported in memory.reported],
    }
    return json.dumps(document, sort_keys=True, separators=(",", ":")).encode()


def decode(state: bytes | None, key: str, versions: tuple[str, ...], places: Places) -> Memory:
    """What is remembered; nothing where it is of another history, a later perfcore, or damaged, and only the names of
    changes where it is of other settings: then everything is looked at again."""
    if state is None:
        return Memory()
    try:
        document = json.loads(state)
        if document["format"] != FORMAT:
            return Memory()
        reported = tuple(Reported(*map(str, entry)) for entry in document["reported"])
        if document["key"] != key:
            return Memory(reported=reported)
        settled = {
            environment: _settled(entry)
            for environment, entry in document["environments"].items()
            if entry["version"] is not None
            and entry["version"] == _version(versions, places.get(environment, []), entry["start"])
        }
        return Memory(settled, reported)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return Memory()


def _settled(entry: Mapping[str, Any]) -> Settled:
    changes = tuple(ChangePoint(**change) for change in entry["changes"])
    if not all(_is_sound(change, entry["start"]) for change in changes):
        raise ValueError("no change of a history")
    return Settled(entry["start"], changes)


def _is_sound(change: ChangePoint, start: int) -> bool:
    places = (change.earliest, change.index, change.latest)
    numbers = (change.before, change.after, change.low, change.high, change.gain, change.p_value)
    return (
        all(type(place) is int for place in places)
        and 0 < change.earliest <= change.index <= change.latest <= start
        and all(isinstance(number, int | float) and math.isfinite(number) for number in numbers)
        and change.kind in ("level", "noise")
    )


def _version(versions: tuple[str, ...], places: list[int], start: int) -> str | None:
    """The version from which on the history is looked at again. None where it does not reach so far."""
    return versions[places[start]] if 0 <= start < len(places) else None
