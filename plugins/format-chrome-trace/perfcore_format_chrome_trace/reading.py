"""A profile of perfcore from trace events."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias, TypeVar

from perfcore_sample_kit import SampleRecorder

from perfcore.errors import FormatError
from perfcore.model import Profile, Tool
from perfcore.profile.columns import ColumnSpec
from perfcore.profile.stacks import NOWHERE, Frame
from perfcore.text import encodable
from perfcore_format_chrome_trace.document import Event

_NANOSECONDS = 1_000  # of a microsecond
_LATEST = 2**62 / _NANOSECONDS  # a begin and a duration together fit into 64 bits
_LOCATED = re.compile(r"(.+) \((.+):(\d{1,9})\)", re.DOTALL)  # as VizTracer names functions

_Id: TypeAlias = int | float | str
_Thread: TypeAlias = tuple[_Id, _Id]  # process and thread
_Key = TypeVar("_Key", _Id, _Thread)


def profile(events: Sequence[Event], *, name: str, created: int) -> Profile:
    """FormatError where no call takes time, or one takes more than can be stored."""
    recorder = SampleRecorder([ColumnSpec("wall", "i64", "ns", "value")])
    threads: dict[_Thread, list[Event]] = {}
    for event in events:
        if event.ph in ("B", "E") or (event.ph == "X" and event.dur is not None and not _is_sum(event)):
            if not max(abs(event.ts), abs(event.dur or 0)) < _LATEST:
                raise FormatError("an event is later or longer than times are stored")
            threads.setdefault((event.pid, event.tid), []).append(event)
    start = min((event.ts for its in threads.values() for event in its), default=0)
    names = _names(threads, [event for event in events if event.ph == "M"])
    for thread, its in threads.items():
        _Calls(recorder, start, *names[thread]).add(its)
    return recorder.profile(Tool(name="chrome-trace"), created=created, name=name)


def _is_sum(event: Event) -> bool:
    """Whether it is a total that clang writes behind its calls, as if it were a call of another thread."""
    return event.name.startswith("Total ") and isinstance(event.args, dict) and "avg ms" in event.args


def _names(threads: Iterable[_Thread], metadata: Iterable[Event]) -> dict[_Thread, tuple[str, str]]:
    """The names of the process and of each thread. Numbers differ between runs: they stand where names do not tell
    threads apart."""
    processes: dict[_Id, str] = {}
    named: dict[_Thread, str] = {}
    for event in metadata:
        text = event.args.get("name") if isinstance(event.args, dict) else None
        if isinstance(text, str) and event.name == "process_name":
            processes[event.pid] = text
        elif isinstance(text, str) and event.name == "thread_name":
            named[event.pid, event.tid] = text
    process_of = _apart({pid: processes.get(pid, "") for pid, _ in threads})
    by_process: dict[_Id, dict[_Thread, str]] = {}
    for thread in threads:
        by_process.setdefault(thread[0], {})[thread] = named.get(thread, "")
    thread_of = {thread: name for threads_of in by_process.values() for thread, name in _apart(threads_of).items()}
    return {thread: (encodable(process_of[thread[0]]), encodable(thread_of[thread])) for thread in threads}


def _apart(names: Mapping[_Key, str]) -> dict[_Key, str]:
    """The names, with the number of those that share one."""
    counts = Counter(names.values())
    numbers = {key: key[1] if isinstance(key, tuple) else key for key in names}
    return {key: name if counts[name] == 1 else f"{name} {numbers[key]}".strip() for key, name in names.items()}


class _Calls:
    """The calls of one thread."""

    def __init__(self, recorder: SampleRecorder, start: float, process: str, thread: str) -> None:
        self._recorder = recorder
        self._start = start
        self._names = {"process": process, "thread": thread}
        self._open: list[tuple[float, int, bool]] = []  # where it ends at the latest, its stack, whether E ends it
        self._now: float = start

    def add(self, events: Sequence[Event]) -> None:
        # A call stands before those that it makes at the same time, and an end before what begins then.
        for event in sorted(events, key=lambda event: (event.ts, event.ph != "E", -(event.dur or 0))):
            self._end_until(event.ts)
            self._advance(event.ts)
            if event.ph == "E":
                self._end_innermost()
            else:
                end = math.inf if event.ph == "B" else event.ts + max(0, event.dur or 0)
                self._begin(event, end)
        last = max(event.ts + max(0, event.dur or 0) for event in events)
        self._end_until(last)
        self._advance(last)  # what no event ends was open until the last one

    def _begin(self, event: Event, end: float) -> None:
        """A call that outlives its caller is cut at the end of that."""
        limit, stack, _ = self._open[-1] if self._open else (math.inf, NOWHERE, False)
        stack = self._recorder.stacks.add((_frame(event),), stack)
        self._open.append((min(end, limit), stack, event.ph == "B"))

    def _end_innermost(self) -> None:
        """End the innermost call that waits for it, and what is open within."""
        for at in reversed(range(len(self._open))):
            if self._open[at][2]:
                del self._open[at:]
                return

    def _end_until(self, time: float) -> None:
        while self._open and self._open[-1][0] <= time:
            self._advance(self._open[-1][0])
            self._open.pop()

    def _advance(self, time: float) -> None:
        """The time since the last event belongs to the innermost call."""
        took = round(time * _NANOSECONDS) - round(self._now * _NANOSECONDS)
        if self._open and took > 0:
            since = (self._now - self._start) * _NANOSECONDS
            self._recorder.add(self._open[-1][1], (took,), time=since, **self._names)
        self._now = max(self._now, time)


def _frame(event: Event) -> Frame:
    """`detail` is what clang instantiates or reads, `path` the file that tsc is at."""
    facts = event.args if isinstance(event.args, dict) else {}
    detail, path = (text if isinstance(text := facts.get(key), str) else "" for key in ("detail", "path"))
    located = _LOCATED.fullmatch(event.name)
    if located is not None:
        return Frame(encodable(located[1]), encodable(located[2]), None, int(located[3]))
    return Frame(encodable(f"{event.name} {detail}".strip()), encodable(path))
