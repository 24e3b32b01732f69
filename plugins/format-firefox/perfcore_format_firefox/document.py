"""The processed profile of the Firefox Profiler, as far as it is read: src/types/profile.ts of its repository.

Since version 56 to 60, tables that each thread had are in `shared`; since version 66 a stack says in `prefixOffset`
how many rows its parent is before it (0 for none), before in `prefix` which row that is.
"""

from __future__ import annotations

import msgspec
from perfcore_sample_kit import Origin

Number = int | float


class FuncTable(msgspec.Struct):
    name: list[int]
    resource: list[int] = []
    source: list[int | None] = []
    fileName: list[int | None] = []  # noqa: N815  # the format's name
    lineNumber: list[Number | None] = []  # noqa: N815


class FrameTable(msgspec.Struct):
    func: list[int]
    line: list[Number | None] = []


class StackTable(msgspec.Struct):
    frame: list[int]
    prefix: list[int | None] | None = None
    prefixOffset: list[int] | None = None  # noqa: N815


class ResourceTable(msgspec.Struct):
    name: list[int | None] = []


class SourceTable(msgspec.Struct):
    filename: list[int | None] = []


class Tables(msgspec.Struct, kw_only=True):
    """What a thread or `shared` has of the tables."""

    stringArray: list[str] | None = None  # noqa: N815
    stringTable: list[str] | None = None  # noqa: N815
    funcTable: FuncTable | None = None  # noqa: N815
    frameTable: FrameTable | None = None  # noqa: N815
    stackTable: StackTable | None = None  # noqa: N815
    resourceTable: ResourceTable | None = None  # noqa: N815
    sources: SourceTable | None = None


class SamplesTable(msgspec.Struct, kw_only=True):
    stack: list[int | None] = []
    time: list[Number] | None = None
    timeDeltas: list[Number] | None = None  # noqa: N815
    weight: list[Number | None] | None = None
    weightType: str = "samples"  # noqa: N815
    threadCPUDelta: list[Number | None] | None = None  # noqa: N815


class Thread(Tables, kw_only=True):
    name: str = ""
    processName: str | None = None  # noqa: N815
    pid: int | str = ""
    tid: int | str | None = None
    samples: SamplesTable
    perfcore: Origin | None = None


class SampleUnits(msgspec.Struct):
    threadCPUDelta: str = "ns"  # noqa: N815


class Meta(msgspec.Struct, kw_only=True):
    preprocessedProfileVersion: int  # noqa: N815
    product: str = ""
    startTime: Number = 0  # noqa: N815
    interval: Number = 1
    sampleUnits: SampleUnits | None = None  # noqa: N815


class Document(msgspec.Struct, kw_only=True):
    meta: Meta
    shared: Tables | None = None
    threads: list[Thread]
