"""The trace events that are read.

The format is described in "Trace Event Format", https://chromium.googlesource.com/catapult, docs/trace-event-format.md.
"""

from __future__ import annotations

from typing import Any

import msgspec


class Event(msgspec.Struct):
    """One event, at `ts` microseconds. `ph` is its phase: `B` begins and `E` ends a call, `X` is a whole one that takes
    `dur`, `M` names a thread or a process; the others are no calls of a thread."""

    ph: str = ""
    name: str = ""
    ts: int | float = 0
    dur: int | float | None = None
    pid: int | float | str = 0
    tid: int | float | str = 0
    args: Any = None


class Document(msgspec.Struct):
    events: list[Event] = msgspec.field(name="traceEvents")
