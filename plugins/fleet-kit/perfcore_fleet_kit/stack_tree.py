"""Stacks of many segments as one tree of frames, whose tables their profiles share."""

from __future__ import annotations

import operator
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from typing import Final, Protocol

from perfcore.model import Header, Profile, Tool
from perfcore.model.record import replace
from perfcore.profile import bitmap
from perfcore.profile.table import ColumnSpec, Table, column, from_buffer, table

ROOT = -1
_MAX_NODES = 2_000_000  # of one tree, some 300 MB: a hostile trace of a few MB can hold more
_MAX_FUNCTIONS = 200_000  # at most 1,000 characters each
_MAX_FRAMES = 16_000_000  # of the stacks of one set, 64 MB
_FRAME: Final = "I"  # the type of the number of a frame in the key of a stack
_WIDTH = array(_FRAME).itemsize
_SHIFT = 32  # a node's key is its parent and its frame in one integer, which is hashed quicker than a pair


class Tree(Protocol):
    """Stacks that can be counted."""

    def nodes(self) -> Iterator[tuple[int, int]]:
        """(parent, frame) of each stack, parents first."""
        ...

    def frames(self) -> list[tuple[str, str, int | None, int | None]]:
        """(name, file, line, first line) of each frame."""
        ...


class FrameNumbers:
    """Numbers functions and frames in the order of their first use."""

    def __init__(self) -> None:
        self._functions: dict[tuple[str, str, int | None], int] = {}
        self._frames: dict[tuple[int, int | None], int] = {}

    @property
    def is_full(self) -> bool:
        """Whether they take too much memory to grow further."""
        return len(self._functions) > _MAX_FUNCTIONS

    def frame(self, name: str, file: str, line: int | None, first_line: int | None) -> int:
        """The number of a frame: a line of a function."""
        functions = self._functions
        function = functions.setdefault((name, file, first_line), len(functions))
        return self._frames.setdefault((function, line), len(self._frames))

    def frames(self) -> list[tuple[str, str, int | None, int | None]]:
        """(name, file, line, first line) of each frame."""
        functions = list(self._functions)
        return [(*functions[function][:2], line, functions[function][2]) for function, line in self._frames]

    def tables(self) -> dict[str, Table]:
        """`functions` and `frames` as they are so far."""
        firsts = [first for _, _, first in self._functions]
        functions = (
            column("name", [name for name, _, _ in self._functions], dtype="str"),
            column("file", [file for _, file, _ in self._functions], dtype="str"),
            column("line", firsts, dtype="i64"),
        )
        offsets = [None if line is None else line - (firsts[function] or 0) for function, line in self._frames]
        frames = (
            column("function", [function for function, _ in self._frames], dtype="i64"),
            column("offset", offsets, dtype="i64"),
        )
        return {"functions": table("functions", functions), "frames": table("frames", frames)}


class StackTree:
    """Numbers stacks in the order of their first use; a parent comes before its children."""

    def __init__(self) -> None:
        self.numbers = FrameNumbers()
        self.frame = self.numbers.frame
        self.frames = self.numbers.frames
        self._nodes: dict[int, int] = {}
        self._parents = array("q")
        self._node_frames = array("q")

    def __len__(self) -> int:
        return len(self._parents)

    @property
    def is_full(self) -> bool:
        """Whether it takes too much memory to grow further."""
        return len(self) > _MAX_NODES or self.numbers.is_full

    def stack(self, frames: Iterable[int], parent: int = ROOT) -> int:
        """The number of the stack of these frames, outermost first, below `parent`; `ROOT` for none."""
        nodes = self._nodes
        for frame in frames:
            key = (parent + 1 << _SHIFT) + frame
            node = nodes.get(key)
            if node is None:
                node = nodes[key] = len(nodes)
                self._parents.append(parent)
                self._node_frames.append(frame)
            parent = node
        return parent

    def graft(self, stacks: Iterable[tuple[int, int, int]], size: int) -> array[int]:
        """Add stacks of another tree of this size, (number there, parent there, frame here), parents first. Gives their
        numbers here by those there; `ROOT`, which is the last item, for itself and for stacks that were not added."""
        nodes, grafted = self._nodes, array("q", [ROOT]) * (size + 1)
        for foreign_node, parent_there, frame in stacks:
            parent = grafted[parent_there]
            key = (parent + 1 << _SHIFT) + frame
            node = nodes.get(key)
            if node is None:
                node = nodes[key] = len(nodes)
                self._parents.append(parent)
                self._node_frames.append(frame)
            grafted[foreign_node] = node
        return grafted

    def nodes(self) -> Iterator[tuple[int, int]]:
        """(parent, frame) of each stack, parents first."""
        return zip(self._parents, self._node_frames, strict=True)

    def tables(self) -> dict[str, Table]:
        """`functions`, `frames` and `stacks` as they are so far."""
        return {**self.numbers.tables(), "stacks": _stacks_table(self._parents, self._node_frames)}


class StackSet:
    """Different stacks. They take a fifth of the memory of a tree while they are collected."""

    def __init__(self) -> None:
        self.numbers = FrameNumbers()
        self._stacks: dict[bytes, int] = {}
        self._size = 0

    @property
    def size(self) -> int:
        """The frames of all stacks."""
        return self._size

    @property
    def is_full(self) -> bool:
        """Whether they take too much memory to grow further."""
        return self._size > _MAX_FRAMES or self.numbers.is_full

    def stack(self, frames: Iterable[int]) -> int:
        """The number of the stack of these frames, outermost first."""
        key = array(_FRAME, frames).tobytes()
        stack = self._stacks.get(key)
        if stack is None:
            stack = self._stacks[key] = len(self._stacks)
            self._size += len(key) // _WIDTH
        return stack

    def tree(self) -> tuple[dict[str, Table], array[int]]:
        """(`functions`, `frames` and `stacks`, the node of each stack). The nodes stand in preorder, so that stacks
        with a beginning in common are next to each other. The set is empty afterwards."""
        stacks, self._stacks = list(self._stacks), {}
        parents, node_frames = array("q"), array("q")
        nodes = array("q", [ROOT]) * len(stacks)
        path: list[int] = []
        before = b""
        for stack in sorted(range(len(stacks)), key=stacks.__getitem__):
            frames = stacks[stack]
            del path[_common(before, frames) :]
            before = frames
            new = range(len(parents), len(parents) + len(frames) // _WIDTH - len(path))
            if new:
                parents.append(path[-1] if path else ROOT)
                parents.extend(new[:-1])
                node_frames.extend(memoryview(frames)[len(path) * _WIDTH :].cast(_FRAME).tolist())
                path += new
            if path:
                nodes[stack] = path[-1]
        return {**self.numbers.tables(), "stacks": _stacks_table(parents, node_frames)}, nodes


def _common(before: bytes, frames: bytes) -> int:
    """How many frames two stacks have in common."""
    size = min(len(before), len(frames))
    difference = int.from_bytes(before[:size], "big") ^ int.from_bytes(frames[:size], "big")
    return (size - (difference.bit_length() + 7) // 8) // _WIDTH


def _stacks_table(parents: array[int], node_frames: array[int]) -> Table:
    has_parent = bytes(map(operator.ne, parents, repeat(ROOT)))
    parent = from_buffer(ColumnSpec("parent", "i64"), array("q", map(operator.mul, parents, has_parent)))
    if not all(has_parent):
        parent = replace(parent, valid=bitmap.pack(has_parent))
    return table("stacks", (parent, from_buffer(ColumnSpec("frame", "i64"), node_frames)))


def rows_table(stacks: Sequence[int], samples: Sequence[int], parts: Sequence[int]) -> Table:
    """The table `resources` of a segment. A sample without frames has no stack."""
    stack = (
        column("stack", [None if node == ROOT else node for node in stacks], dtype="i64")
        if ROOT in stacks
        else from_buffer(ColumnSpec("stack", "i64"), array("q", stacks))
    )
    return table(
        "resources",
        (
            stack,
            from_buffer(ColumnSpec("samples", "i64", role="value"), array("q", samples)),
            from_buffer(ColumnSpec("part", "i64"), array("q", parts)),
        ),
    )


def segment_profile(source: str, created: int, period: int, rows: Table, stacks: Mapping[str, Table]) -> Profile:
    """The profile of a segment that a source read. `period` is the time between two samples in ns, 0 if unknown."""
    return Profile(
        header=Header(type="sample", cmd=source),
        created=created,
        collector=Tool(name=source, sampling={"period": period}),
        tables={"resources": rows, **stacks},
    )
