"""A profile of perfcore from a CPU profile of V8."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import TypeAlias

from perfcore_sample_kit import SampleRecorder

from perfcore.errors import FormatError
from perfcore.model import Profile, Tool
from perfcore.profile.columns import ColumnSpec
from perfcore.profile.stacks import NOWHERE
from perfcore_format_v8.document import CpuNode, CpuProfile
from perfcore_format_v8.frames import ROOT, frame

_IDLE = "(idle)"
_MICROSECOND = 1_000  # in nanoseconds
_SAMPLES = ColumnSpec("samples", "i64", "", "value")
_WALL = ColumnSpec("wall", "i64", "ns", "value")

Number: TypeAlias = int | float


def profile(document: CpuProfile, *, name: str, created: int) -> Profile:
    """What ran, without the time in which nothing did. FormatError where nodes, samples and times do not fit
    together."""
    if document.samples is None:
        recorder = SampleRecorder([_SAMPLES])
        calls = _Calls(document.nodes, recorder, {})
        for node in document.nodes:
            if node.hit_count and not calls.is_idle(node.id):
                recorder.add(calls.stack(node.id), (node.hit_count,))
    else:
        recorder = SampleRecorder([_WALL, _SAMPLES])
        calls = _Calls(document.nodes, recorder, Counter(document.samples))
        for number, time, duration in _timed(document, document.samples):
            if not calls.is_idle(number):
                recorder.add(calls.next_stack(number), (duration * _MICROSECOND, 1), time=time * _MICROSECOND)
    return recorder.profile(Tool(name="v8"), created=created, name=name)


def _timed(document: CpuProfile, samples: Sequence[int]) -> Iterator[tuple[int, Number, Number]]:
    """Node, time since the start and duration of each sample: a sample lasts until the next one."""
    deltas = document.time_deltas or []
    if len(samples) != len(deltas):
        raise FormatError(f"it has {len(samples)} samples and {len(deltas)} times")
    times = list(accumulate(deltas))
    # Deltas can be negative: V8 does not write all samples in the order of their times.
    order = sorted(range(len(times)), key=times.__getitem__)
    ends = [*(times[at] for at in order[1:]), document.end_time - document.start_time]
    # `ends` has one more than a list of no samples.
    for at, end in zip(order, ends, strict=False):
        yield samples[at], times[at], max(0, end - times[at])


class _Calls:
    """The stacks of the nodes, each added to the recorder when it is first used."""

    def __init__(self, nodes: Sequence[CpuNode], recorder: SampleRecorder, counts: Mapping[int, int]) -> None:
        """`counts` tells how many samples each node has."""
        self._nodes = {node.id: node for node in nodes}
        self._parents = {child: node.id for node in nodes for child in node.children}
        self._parents.update({node.id: node.parent for node in nodes if node.parent is not None})
        self._recorder = recorder
        self._stacks: dict[int, int] = {}
        self._counts = counts
        self._used: Counter[int] = Counter()
        self._shares: dict[int, tuple[Sequence[int], Sequence[int]]] = {}

    def is_idle(self, number: int) -> bool:
        return self._node(number).call_frame.function_name == _IDLE

    def next_stack(self, number: int) -> int:
        """The stack of the next sample of a node. Only how many samples ran each line is known, and not which: each
        line has its share of them, in the order of the lines."""
        if number not in self._shares:
            self._shares[number] = self._lines(self._node(number))
        ends, stacks = self._shares[number]
        position = self._used[number] * ends[-1] // self._counts[number]
        self._used[number] += 1
        return stacks[bisect_right(ends, position)]

    def stack(self, number: int) -> int:
        """The stack of a node, with no line of its innermost function."""
        path: list[int] = []
        at: int | None = number
        while at is not None and at not in self._stacks:
            path.append(at)
            if len(path) > len(self._nodes):
                raise FormatError(f"node {number} is its own ancestor")
            at = self._parents.get(at)
        stack = NOWHERE if at is None else self._stacks[at]
        for step in reversed(path):
            call = self._node(step).call_frame
            if call.function_name != ROOT:
                stack = self._recorder.stacks.add((frame(call),), stack)
            self._stacks[step] = stack
        return stack

    def _lines(self, node: CpuNode) -> tuple[Sequence[int], Sequence[int]]:
        """Where the share of each line of a node ends, and its stack."""
        ends = list(accumulate(max(0, line.ticks) for line in node.position_ticks))
        if not ends or not ends[-1] or node.call_frame.function_name == ROOT:
            return [1], [self.stack(node.id)]
        parent = self._parents.get(node.id)
        above = NOWHERE if parent is None else self.stack(parent)
        frames = [frame(node.call_frame, each.line) for each in node.position_ticks]
        return ends, [self._recorder.stacks.add((each,), above) for each in frames]

    def _node(self, number: int) -> CpuNode:
        if number not in self._nodes:
            raise FormatError(f"there is no node {number}")
        return self._nodes[number]
