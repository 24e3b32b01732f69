"""The document of speedscope, as far as it is read."""

from __future__ import annotations

from typing import Literal

import msgspec
from perfcore_sample_kit import Origin

SCHEMA = "https://www.speedscope.app/file-format-schema.json"
UNITS = {"ns": "nanoseconds", "us": "microseconds", "ms": "milliseconds", "s": "seconds", "B": "bytes"}
"""Our units and those of speedscope; any other is `none`."""


class SharedFrame(msgspec.Struct):
    name: str
    file: str | None = None
    line: int | float | None = None


class Shared(msgspec.Struct):
    frames: list[SharedFrame]


class FrameEvent(msgspec.Struct):
    """`O` opens a frame, `C` closes it."""

    type: Literal["O", "C"]
    at: int | float
    frame: int


class SpeedscopeProfile(msgspec.Struct, kw_only=True):
    """One profile: of samples with weights, or of events."""

    type: Literal["sampled", "evented"]
    name: str = ""
    unit: str = "none"
    start: int | float = msgspec.field(name="startValue", default=0)
    end: int | float = msgspec.field(name="endValue", default=0)
    samples: list[list[int]] = []
    weights: list[int | float] = []
    events: list[FrameEvent] = []
    perfcore: Origin | None = None


class Document(msgspec.Struct):
    shared: Shared
    profiles: list[SpeedscopeProfile]
    name: str | None = None
