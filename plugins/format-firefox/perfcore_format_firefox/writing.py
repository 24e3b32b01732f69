"""A profile as a processed profile of version 70, which newer versions of the Profiler upgrade when they open it."""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from typing import Any

from msgspec.structs import asdict
from perfcore_sample_kit import Part, Samples, parts

from perfcore.errors import FormatError
from perfcore.model import Profile
from perfcore.profile.stacks import NOWHERE, Frame, reached
from perfcore.text import encodable, printable
from perfcore_format_firefox.reading import PER_MILLISECOND

VERSION = 70
_GECKO = 30  # the version of the format that Firefox itself writes, which a processed profile names, too


def document(profile: Profile, samples: Samples) -> dict[str, Any]:
    """Each thread and metric is a thread of the Profiler, since a thread there has one weight a sample."""
    tables = _SharedTables(samples)
    threads = [_thread(part, number, samples, tables) for number, part in enumerate(parts(profile, samples))]
    return {
        "meta": {
            "preprocessedProfileVersion": VERSION,
            "version": _GECKO,
            "interval": 1,
            "startTime": profile.created / 1e6,
            "processType": 0,
            "product": encodable(profile.label or "profile"),
            "importedFrom": "perfcore",
            "stackwalk": 1,
            "symbolicated": True,
            "symbolicationNotSupported": True,
            "usesOnlyOneStackType": True,
            "sourceCodeIsNotOnSearchfox": True,
            "keepProfileThreadOrder": True,
            "categories": [{"name": "Other", "color": "grey", "subcategories": ["Other"]}],
            "markerSchema": [],
            "sampleUnits": {"time": "ms", "eventDelay": "ms", "threadCPUDelta": "ns"},
        },
        "libs": [],
        "counters": [],
        "shared": tables.written(),
        "threads": threads,
    }


class _SharedTables:
    """The tables of all threads. `stack_of[stack]` is the row of a stack in them; the last item is that of no stack."""

    def __init__(self, samples: Samples) -> None:
        self._strings: dict[str, int] = {}
        self._sources: dict[str, int] = {}
        self._functions: dict[tuple[str, str], Frame] = {}
        self._frames: dict[tuple[str, str, int | None], int] = {}
        stacks = samples.stacks
        order = reached([row for row in samples.rows if row != NOWHERE], stacks.parent, stacks.leaps)
        self.stack_of = array("q", [NOWHERE]) * (len(stacks) + 1)
        self._offsets: list[int] = []
        self._frame_of: list[int] = []
        for row, stack in enumerate(order):
            self.stack_of[stack] = row
            parent = stacks.parent[stack]
            self._offsets.append(0 if parent == NOWHERE else row - self.stack_of[parent])
            self._frame_of.append(self._frame(samples.frame(stack)))

    def _frame(self, frame: Frame) -> int:
        self._functions.setdefault((frame.name, frame.file), frame)
        return self._frames.setdefault((frame.name, frame.file, frame.line), len(self._frames))

    def _text(self, text: str) -> int:
        return self._strings.setdefault(text, len(self._strings))

    def written(self) -> dict[str, Any]:
        functions, frames = list(self._functions.values()), list(self._frames)
        position = {key: at for at, key in enumerate(self._functions)}
        sources = [self._sources.setdefault(each.file, len(self._sources)) if each.file else None for each in functions]
        names = [self._text(function.name) for function in functions]
        files = [self._text(file) for file in self._sources]
        tables: dict[str, Any] = {
            "stackTable": _table(len(self._frame_of), frame=self._frame_of, prefixOffset=self._offsets),
            "frameTable": _table(
                len(frames),
                address=-1,
                lib=-1,
                inlineDepth=0,
                category=0,
                subcategory=0,
                func=[position[name, file] for name, file, _ in frames],
                nativeSymbol=None,
                innerWindowID=0,
                line=[line for *_, line in frames],
                column=None,
                originalLocation=None,
            ),
            "funcTable": _table(
                len(functions),
                name=names,
                isJS=False,
                relevantForJS=False,
                resource=-1,
                source=sources,
                lineNumber=[function.first_line for function in functions],
                columnNumber=None,
                originalLocation=None,
            ),
            "resourceTable": _table(0, lib=None, name=None, host=None, type=None),
            "nativeSymbols": _table(0, libIndex=None, address=None, name=None, functionSize=None),
            "sources": _table(
                len(files), id=None, filename=files, startLine=1, startColumn=1, sourceMapURL=None, content=None
            ),
            "sourceLocationTable": _table(0, source=None, line=None, column=None),
        }
        return {"stringArray": list(self._strings), **tables}


def _table(length: int, **columns: Any) -> dict[str, Any]:
    """The columns of a table; a value that is no list is that of every row."""
    return {"length": length, **{k: v if isinstance(v, list) else [v] * length for k, v in columns.items()}}


def _thread(part: Part, number: int, samples: Samples, tables: _SharedTables) -> dict[str, Any]:
    kind, values = _weights(part)
    times = _milliseconds(part, samples)
    stacks = [samples.rows[row] for row in part.rows]
    return {
        "processType": "default",
        "processName": part.origin.process or "perfcore",
        "processStartupTime": 0,
        "processShutdownTime": None,
        "registerTime": 0,
        "unregisterTime": None,
        "pausedRanges": [],
        "name": part.name,
        "isMainThread": number == 0,
        "pid": part.origin.process or "0",
        "tid": number,
        "samples": {
            "stack": [None if stack == NOWHERE else tables.stack_of[stack] for stack in stacks],
            "time": times,
            "weight": values,
            "weightType": kind,
            "length": len(part.rows),
        },
        "markers": _table(0, data=None, name=None, startTime=None, endTime=None, phase=None, category=None),
        # Of ours, beside the format's: what a weight type and a name cannot tell apart when it is read again.
        "perfcore": asdict(part.origin),
    }


def _weights(part: Part) -> tuple[str, Sequence[int | float]]:
    """The type of weights, and the weights in its unit. FormatError for what JSON has no number for."""
    if not all(map(math.isfinite, part.values)):
        raise FormatError(f"{printable(part.origin.metric)} has amounts without end, which JSON has no numbers for")
    factor = PER_MILLISECOND.get(part.origin.unit)
    if factor is not None:
        return "tracing-ms", [value / factor for value in part.values]
    return ("bytes" if part.origin.unit == "B" else "samples"), part.values


def _milliseconds(part: Part, samples: Samples) -> list[float]:
    """Times as they were recorded; else each sample begins where the one before it ends, by its weight."""
    if samples.time is not None:
        return [samples.time[row] / 1e6 for row in part.rows]
    _, values = _weights(part)
    time, times = 0.0, []
    for value in values:
        times.append(time)
        time += max(value, 0) if part.origin.unit in PER_MILLISECOND else 1
    return times
