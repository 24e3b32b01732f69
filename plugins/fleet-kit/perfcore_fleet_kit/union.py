"""The union of segments: the stacks of many trees as one tree, with samples and time for each stack."""

from __future__ import annotations

import itertools
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import attrs

from perfcore.errors import FormatError
from perfcore.profile.table import ColumnSpec, Table, column, from_buffer, table
from perfcore_fleet_kit.stack_tree import ROOT, StackTree

if TYPE_CHECKING:
    from perfcore_fleet_kit.stack_order import Numbers

Resolve = Callable[[str], str]
"""The file of dynamic code in place of the one that was written when its text was not known."""


@attrs.frozen
class TreeColumns:
    """The tables of a tree as sequences, of those by stack as buffers of integers of 8 bytes. `parents` are -1 for
    outermost frames."""

    functions: Sequence[tuple[str, str, int | None]]
    frames: Sequence[tuple[int, int | None]]
    parents: Sequence[int]
    node_frames: Sequence[int]

    @classmethod
    def of(cls, tables: Mapping[str, Table]) -> TreeColumns:
        """FormatError where a row refers to nothing, or a stack to one behind it."""
        functions, frames, stacks = tables["functions"], tables["frames"], tables["stacks"]
        names, files, firsts = (functions[name] for name in ("name", "file", "line"))
        functions_list = [
            (str(name), str(file), int(first) if first is not None else None)
            for name, file, first in zip(names, files, firsts, strict=True)
        ]
        frame_list = [
            (int(f or 0), int(o) if o is not None else None)
            for f, o in zip(frames["function"], frames["offset"], strict=True)
        ]
        parents, node_frames = _stack_columns(stacks)
        if any(not 0 <= function < len(functions_list) for function, _ in frame_list) or (
            len(node_frames) and not 0 <= node_frames.min() <= node_frames.max() < len(frame_list)
        ):
            raise FormatError("a stack has a frame that is not there")
        return cls(functions_list, frame_list, parents.data, node_frames.data)


def _stack_columns(stacks: Table) -> tuple[Numbers, Numbers]:
    """Parents and frames. FormatError where a stack stands before its parent."""
    import numpy as np

    parents = np.array(np.frombuffer(stacks["parent"].data, np.int64))
    if (valid := stacks["parent"].valid) is not None:
        parents[np.unpackbits(np.frombuffer(valid, np.uint8), count=stacks.rows, bitorder="little") == 0] = ROOT
    if ((parents < ROOT) | (parents >= np.arange(len(parents)))).any():
        raise FormatError("a stack stands before its caller")
    return parents, np.frombuffer(stacks["frame"].data, np.int64)


class Union:
    """Adds up stacks of any trees. `samples` and `time` (ns) are by the nodes of `tree`; those of samples without
    frames are under `ROOT`."""

    def __init__(self, resolve: Resolve | None = None) -> None:
        self.tree = StackTree()
        self.samples: dict[int, int] = {}
        self.time: dict[int, int] = {}
        self._resolve = resolve

    def add(self, tree: TreeColumns, counts: Iterable[tuple[Mapping[int, int], int]]) -> None:
        """Add the samples by node of one tree, each with the time between two of them in ns."""
        counts = list(counts)
        nodes = self.places(tree, set().union(*(by_node for by_node, _ in counts)))
        samples, time = self.samples, self.time
        for by_node, period in counts:
            for node, amount in by_node.items():
                at = nodes[node]
                samples[at] = samples.get(at, 0) + amount
                time[at] = time.get(at, 0) + amount * period

    def places(self, tree: TreeColumns, used: set[int]) -> Sequence[int]:
        """The nodes of the union for nodes that are used, which are added where they are new; `used` loses `ROOT`."""
        parents, node_frames = tree.parents, tree.node_frames
        used.discard(ROOT)
        if used and not 0 <= min(used) <= max(used) < len(parents):
            raise FormatError("a sample has a stack that is not there")
        needed = bytearray(len(parents))
        for node in used:
            needed[node] = 1
        for node in range(len(parents) - 1, -1, -1):
            if needed[node] and parents[node] != ROOT:
                needed[parents[node]] = 1
        frames = {frame: self._frame(tree, frame) for frame in set(itertools.compress(node_frames, needed))}
        # No list of the stacks, which would take more memory than the tree that they are added to.
        chosen = itertools.compress(range(len(parents)), needed)
        return self.tree.graft(((node, parents[node], frames[node_frames[node]]) for node in chosen), len(parents))

    def _frame(self, tree: TreeColumns, frame: int) -> int:
        function, offset = tree.frames[frame]
        name, file, first = tree.functions[function]
        if self._resolve is not None and file.startswith("qeval:"):
            file = self._resolve(file)
        return self.tree.frame(name, file, None if offset is None else offset + (first or 0), first)

    def tables(self) -> dict[str, Table]:
        """`resources` with a row for each stack, and the tables of stacks."""
        rows = sorted(self.samples)
        resources = (
            column("stack", [None if node == ROOT else node for node in rows], dtype="i64"),
            from_buffer(ColumnSpec("samples", "i64", role="value"), array("q", map(self.samples.__getitem__, rows))),
            from_buffer(ColumnSpec("time", "i64", "ns", role="value"), array("q", map(self.time.__getitem__, rows))),
        )
        return {"resources": table("resources", resources), **self.tree.tables()}
