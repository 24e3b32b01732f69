"""How profiles are listed: as cells for people and as JSON."""

from __future__ import annotations

import functools
import time
from typing import TYPE_CHECKING, Any

from perfcore.text import clip, printable

if TYPE_CHECKING:
    from perfcore.model import Entry
    from perfcore.store.pending import Pending

_LABEL = 60  # columns of a command in a line of 80
_CMD, _CONFIG_ID = 5, 11  # fields of an entry; those from the first to before the second are words that recur


def entry_cells(entry: Entry) -> tuple[str, ...]:
    made, label, tags = _words(entry.type, *entry[_CMD:_CONFIG_ID])
    return entry.profile[:10], made, moment(entry.created), label, tags


@functools.lru_cache  # most versions are measured with the same commands
def _words(type: str, cmd: str, args: str, workload: str, collector: str, tools: Any, tags: Any) -> tuple[str, ...]:
    label = clip(printable(" ".join(filter(None, (cmd, args, workload)))), _LABEL)
    return _made(collector, type, tools), label, f"[{', '.join(map(printable, tags))}]" if tags else ""


def _made(collector: str, type: str, postprocessors: tuple[str, ...]) -> str:
    """`time`, `time+filter`. A type that is a kind of the collector's own is told instead, as profiles of two types
    cannot be compared: `papi.software`."""
    collector_type = type if not collector or type.startswith(f"{collector}.") else collector
    return printable("+".join((collector_type, *postprocessors)))


def pending_cells(waiting: Pending, head: str | None) -> tuple[str, ...]:
    profile = waiting.profile
    if profile is None:
        return "damaged", "", waiting.name, clip(printable(waiting.damage), 100)
    tools = tuple(tool.name for tool in profile.postprocessors)
    origin = _made(profile.collector.name, profile.header.type, tools)
    states = [f"of {profile.origin[:10]}"] if profile.origin and profile.origin != head else []
    states += ["incomplete"] * profile.incomplete + ["uncommitted changes"] * profile.dirty
    return origin, moment(profile.created), clip(printable(profile.label), _LABEL), ", ".join(states)


def entry_json(number: int, entry: Entry) -> dict[str, Any]:
    return {"number": f"{number}@i", **entry._asdict()}


def pending_json(number: int, waiting: Pending) -> dict[str, Any]:
    row: dict[str, Any] = {"number": f"{number}@p", "name": waiting.name}
    profile = waiting.profile
    if profile is None:
        return {**row, "damage": waiting.damage}
    return {
        **row,
        "type": profile.header.type,
        "created": profile.created,
        "cmd": profile.header.cmd,
        "args": profile.header.args,
        "workload": profile.header.workload,
        "collector": profile.collector.name,
        "origin": profile.origin,
        "dirty": profile.dirty,
        "incomplete": profile.incomplete,
        "config_id": profile.config_id,
    }


def moment(nanoseconds: int) -> str:
    """Local date and time, to the second."""
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(nanoseconds // 1_000_000_000))
    except (OverflowError, ValueError, OSError):  # no such year in the C library
        return "?"
