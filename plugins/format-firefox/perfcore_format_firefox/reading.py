"""A profile of perfcore from a processed profile of Firefox."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate
from typing import Any, TypeVar

from msgspec.structs import asdict
from perfcore_sample_kit import Origin, SampleRecorder

from perfcore.errors import FormatError
from perfcore.model import Profile, Tool
from perfcore.profile.columns import ColumnSpec
from perfcore.profile.stacks import NOWHERE, Frame
from perfcore.text import encodable
from perfcore_format_firefox.document import Document, FrameTable, FuncTable, Number, StackTable, Tables, Thread

WEIGHTS = {"samples": ("samples", ""), "tracing-ms": ("wall", "ms"), "bytes": ("bytes", "B")}
"""The types of weights, as metrics with units."""
_CPU = {"ns": ("cpu", "ns"), "µs": ("cpu", "us"), "variable CPU cycles": ("cycles", "")}
_MILLISECOND = 1_000_000  # in nanoseconds

T = TypeVar("T")
_Metric = tuple[str, str]  # name and unit


def profile(document: Document, *, name: str, created: int) -> Profile:
    """FormatError where a row refers to nothing, or a stack is its own ancestor."""
    origins = [_origin(thread) for thread in document.threads]
    cpu = _cpu(document)
    metrics = list(dict.fromkeys([(origin.metric, origin.unit) for origin in origins] + ([cpu] if cpu else [])))
    recorder = SampleRecorder([ColumnSpec(metric, "i64", unit, "value") for metric, unit in metrics])
    stacks: dict[int, _StackReader] = {}  # by the table: threads that share theirs share what was read of it
    for thread, origin in zip(document.threads, origins, strict=True):
        tables = _tables(thread, document.shared)
        if not thread.samples.stack or tables.stackTable is None:
            continue
        reader = stacks.setdefault(id(tables.stackTable), _StackReader(tables, recorder))
        _record(recorder, thread, origin, reader, metrics, cpu, document.meta.interval)
    sampling = {"product": encodable(document.meta.product), "interval_ms": document.meta.interval}
    return recorder.profile(Tool(name="firefox", sampling=sampling), created=created, name=name)


def _origin(thread: Thread) -> Origin:
    if thread.perfcore is not None and thread.perfcore.metric:
        return Origin(**{key: encodable(text) for key, text in asdict(thread.perfcore).items()})
    metric, unit = WEIGHTS.get(thread.samples.weightType, ("samples", ""))
    process = thread.processName or str(thread.pid)
    return Origin(metric=metric, unit=unit, thread=encodable(thread.name), process=encodable(process))


def _cpu(document: Document) -> _Metric | None:
    """The metric of `threadCPUDelta`, if a thread has such values."""
    if not any(any(thread.samples.threadCPUDelta or ()) for thread in document.threads):
        return None
    units = document.meta.sampleUnits
    return _CPU.get(units.threadCPUDelta if units else "ns", ("cycles", ""))


def _tables(thread: Thread, shared: Tables | None) -> Tables:
    """The tables of a thread, its own before the shared ones."""
    fields = Tables.__struct_fields__
    chosen: dict[str, Any] = {}
    for field in fields:
        mine = getattr(thread, field)
        chosen[field] = mine if mine is not None or shared is None else getattr(shared, field)
    return Tables(**chosen)


def _record(
    recorder: SampleRecorder,
    thread: Thread,
    origin: Origin,
    reader: _StackReader,
    metrics: Sequence[_Metric],
    cpu: _Metric | None,
    interval: Number,
) -> None:
    samples = thread.samples
    count = len(samples.stack)
    weights = [1] * count if samples.weight is None else samples.weight
    deltas = samples.threadCPUDelta or []
    times = _times(samples.time, samples.timeDeltas, count, interval)
    if len(weights) != count or len(times) != count:
        raise FormatError(f"a thread has {count} stacks, {len(weights)} weights and {len(times)} times")
    own = metrics.index((origin.metric, origin.unit))
    other = None if cpu is None else metrics.index(cpu)
    for at, (stack, weight, time) in enumerate(zip(samples.stack, weights, times, strict=True)):
        amounts: list[Number] = [0] * len(metrics)
        amounts[own] = _kept(weight, thread)
        if other is not None:
            amounts[other] = (deltas[at] if at < len(deltas) else None) or 0
        recorder.add(
            reader.number(stack),
            amounts,
            time=time * _MILLISECOND if math.isfinite(time) else None,
            thread=origin.thread,
            process=origin.process,
        )


def _kept(weight: Number | None, thread: Thread) -> Number:
    """The weight in the unit of the metric: ours may be of another than the milliseconds of the format."""
    if weight is None:
        return 0
    if thread.perfcore is None or thread.samples.weightType != "tracing-ms":
        return weight
    return round(weight * PER_MILLISECOND.get(thread.perfcore.unit, 1), 9)


PER_MILLISECOND = {"ns": 1e6, "us": 1e3, "ms": 1, "s": 1e-3}
"""What a millisecond is in units of time."""


def _times(time: list[Number] | None, deltas: list[Number] | None, count: int, interval: Number) -> Sequence[Number]:
    if time is not None:
        return time
    if deltas is not None:
        return list(accumulate(deltas))
    return [position * interval for position in range(count)]


class _StackReader:
    """The stacks of one table, each added to the recorder when it is first used."""

    def __init__(self, tables: Tables, recorder: SampleRecorder) -> None:
        self._strings = tables.stringArray if tables.stringArray is not None else tables.stringTable or []
        self._functions = tables.funcTable or FuncTable([])
        self._frames = tables.frameTable or FrameTable([])
        self._stacks = tables.stackTable or StackTable([])
        self._sources = tables.sources.filename if tables.sources else []
        self._resources = tables.resourceTable.name if tables.resourceTable else []
        self._recorder = recorder
        self._numbers: dict[int, int] = {}
        self._frame_of: dict[int, Frame] = {}

    def number(self, stack: int | None) -> int:
        """The number of a stack in the recorder; -1 for none."""
        if stack is None or stack < 0:
            return NOWHERE
        path: list[int] = []
        at: int | None = stack
        while at is not None and at not in self._numbers:
            path.append(at)
            if len(path) > len(self._stacks.frame):
                raise FormatError(f"stack {stack} is its own ancestor")
            at = self._parent(at)
        parent = NOWHERE if at is None else self._numbers[at]
        for row in reversed(path):
            frame = _item(self._stacks.frame, row, "stack")
            parent = self._recorder.stacks.add((self._frame(frame),), parent)
            self._numbers[row] = parent
        return parent

    def _parent(self, stack: int) -> int | None:
        if self._stacks.prefixOffset is not None:
            offset = _item(self._stacks.prefixOffset, stack, "stack")
            return stack - offset if offset else None
        if self._stacks.prefix is None:
            raise FormatError("the stacks have no parents")
        return _item(self._stacks.prefix, stack, "stack")

    def _frame(self, frame: int) -> Frame:
        if frame not in self._frame_of:
            function = _item(self._frames.func, frame, "frame")
            name = _item(self._strings, _item(self._functions.name, function, "function"), "text")
            line = _line(_or_none(self._frames.line, frame))
            first = _line(_or_none(self._functions.lineNumber, function))
            self._frame_of[frame] = Frame(encodable(name), encodable(self._file(function)), line or first, first)
        return self._frame_of[frame]

    def _file(self, function: int) -> str:
        """The source file, else the library."""
        text = _or_none(self._functions.fileName, function)
        source = _or_none(self._functions.source, function)
        if text is None and source is not None:
            text = _or_none(self._sources, source)
        if text is None:
            resource = _or_none(self._functions.resource, function)
            text = None if resource is None else _or_none(self._resources, resource)
        return "" if text is None else _item(self._strings, text, "text")


def _item(rows: Sequence[T], row: int, noun: str) -> T:
    if not 0 <= row < len(rows):
        raise FormatError(f"there is no {noun} {row}: there are {len(rows)}")
    return rows[row]


def _or_none(rows: Sequence[T], row: int) -> T | None:
    return rows[row] if 0 <= row < len(rows) else None


def _line(line: Number | None) -> int | None:
    return int(line) if line is not None and 0 <= line < 2**31 else None
