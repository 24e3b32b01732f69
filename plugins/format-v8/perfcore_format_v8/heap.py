"""A profile of perfcore from a sampled heap profile of V8."""

from __future__ import annotations

from perfcore_sample_kit import SampleRecorder

from perfcore.model import Profile, Tool
from perfcore.profile.columns import ColumnSpec
from perfcore.profile.stacks import NOWHERE
from perfcore_format_v8.document import HeapProfile
from perfcore_format_v8.frames import ROOT, frame


def profile(document: HeapProfile, *, name: str, created: int) -> Profile:
    """FormatError where nothing was allocated."""
    recorder = SampleRecorder([ColumnSpec("memory", "i64", "B", "value")])
    pending = [(document.head, NOWHERE)]
    while pending:
        node, parent = pending.pop()
        stack = recorder.stacks.add((frame(node.call_frame),), parent)
        if node.self_size:
            recorder.add(stack, (node.self_size,))
        if node.call_frame.function_name != ROOT:
            parent = stack  # the root holds what no function allocated, beside the functions
        pending += ((child, parent) for child in reversed(node.children))
    return recorder.profile(Tool(name="v8"), created=created, name=name)
