"""The documents that V8 writes, as far as they are read.

They are the types `Profile` and `SamplingHeapProfile` of the DevTools protocol:
https://chromedevtools.github.io/devtools-protocol/v8/Profiler/ and .../v8/HeapProfiler/.
"""

from __future__ import annotations

import msgspec


class CallFrame(msgspec.Struct, rename="camel"):
    """A function. Its line counts from 0, and is -1 for what has no source."""

    function_name: str = ""
    url: str = ""
    line_number: int | float = -1


class LineTicks(msgspec.Struct):
    """How many samples of a node ran a line, which counts from 1."""

    line: int
    ticks: int


class CpuNode(msgspec.Struct, rename="camel"):
    """A call of the tree. Chrome names its parent, Node.js its children."""

    id: int
    call_frame: CallFrame
    hit_count: int = 0
    children: list[int] = []
    parent: int | None = None
    position_ticks: list[LineTicks] = []


class CpuProfile(msgspec.Struct, rename="camel"):
    """Times are microseconds; a delta is the time since the sample before, since `start_time` for the first."""

    nodes: list[CpuNode]
    start_time: int | float
    end_time: int | float
    samples: list[int] | None = None
    time_deltas: list[int | float] | None = None


class HeapNode(msgspec.Struct, rename="camel"):
    """`self_size` are the bytes that the function allocated and that were not freed when the profile ended."""

    call_frame: CallFrame
    self_size: int | float
    children: list[HeapNode] = []


class HeapProfile(msgspec.Struct):
    head: HeapNode


Document = CpuProfile | HeapProfile
