"""Stacks of many segments as one tree of frames, whose tables their profiles share."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Protocol

from perfcore.model import Header, Profile, Tool
from perfcore.profile.table import ColumnSpec, Table, column, from_buffer, table

ROOT = -1
_MAX_NODES = 2_000_000  # of one tree, some 300 MB: a hostile trace of a few MB can hold more
_MAX_FUNCTIONS = 200_000  # at most 1,000 characters each
_SHIFT = 32  # a node's key is its parent and its frame in one integer, which is hashed quicker than a pair


class Tree(Protocol):
    """Stacks that can be counted."""

    def nodes(self) -> Iterator[tuple[int, int]]:
        """(parent, frame) of each stack, parents first."""
        ...

    def frames(self) -> list[tuple[str, str, int | None, int | None]]:
        """(name, file, line, first line) of each frame."""
        ...


class StackTree:
    """Numbers functions, frames and stacks in the order of their first use; a parent comes before its children."""

    def __init__(self) -> None:
        self._functions: dict[tuple[str, str, int | None], int] = {}
        self._frames: dict[tuple[int, int | None], int] = {}
        self._nodes: dict[int, int] = {}
        self._parents = array("q")
        self._node_frames = array("q")

    def __len__(self) -> int:
        return len(self._parents)

    @property
    def is_full(self) -> bool:
        """Whether it takes too much memory to grow further."""
        return len(self) > _MAX_NODES or len(self._functions) > _MAX_FUNCTIONS

    def frame(self, name: str, file: str, line: int | None, first_line: int | None) -> int:
        """The number of a frame: a line of a function."""
        functions = self._functions
        function = functions.setdefault((name, file, first_line), len(functions))
        return self._frames.setdefault((function, line), len(self._frames))

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

    def graft(self, stacks: Iterable[tuple[int, int, int]]) -> dict[int, int]:
        """Add stacks of another tree, (number there, parent there, frame here), parents first. Gives their numbers here
        by those there."""
        nodes, grafted = self._nodes, {ROOT: ROOT}
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

    def frames(self) -> list[tuple[str, str, int | None, int | None]]:
        """(name, file, line, first line) of each frame."""
        functions = list(self._functions)
        return [(*functions[function][:2], line, functions[function][2]) for function, line in self._frames]

    def tables(self) -> dict[str, Table]:
        """`functions`, `frames` and `stacks` as they are so far."""
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
        parents = [None if parent == ROOT else parent for parent in self._parents]
        stacks = (
            column("parent", parents, dtype="i64"),
            from_buffer(ColumnSpec("frame", "i64"), self._node_frames),
        )
        return {
            "functions": table("functions", functions),
            "frames": table("frames", frames),
            "stacks": table("stacks", stacks),
        }


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
