"""Nodes of a tree of calls, made one where they say the same and brought into the order of a walk.

Most of them stand on the node before. Such a path is moved as a whole, so the work is that of its first nodes, which
are far fewer.
"""

from __future__ import annotations

import operator
from array import array
from bisect import bisect_right
from itertools import repeat
from typing import TYPE_CHECKING, TypeAlias

import attrs

from perfcore.profile.stacks import NOWHERE, leaps

if TYPE_CHECKING:
    from collections.abc import Sequence

Number: TypeAlias = int | float

ROOT = 0


@attrs.frozen
class Calls:
    """For each node its parent, which stands before it, its box, and what it took itself. Node 0 is the whole."""

    parent: array[int]
    box: array[int]
    columns: Sequence[Sequence[Number]]


def merged(calls: Calls) -> Calls:
    """The same with one node where several of a box have the same parent."""
    ways = max(calls.box) + 1
    if not _repeats(calls, ways):
        return calls
    nodes: dict[int, int] = {}  # by parent and box
    node_of = array("q", [NOWHERE]) * len(calls.parent)
    for old, (above, box) in enumerate(zip(calls.parent, calls.box, strict=True)):
        node_of[old] = nodes.setdefault(node_of[above] * ways + box, len(nodes))
    # One number for parent and box as the key: of a million nodes the dictionary has 70 MB, with tuples 98 MB.
    columns: list[list[Number]] = [[0] * len(nodes) for _ in calls.columns]
    for column, values in zip(columns, calls.columns, strict=True):
        for node, value in zip(node_of, values, strict=True):
            column[node] += value
    parent = array("q", map(operator.floordiv, nodes, repeat(ways)))
    return Calls(parent, array("q", map(operator.mod, nodes, repeat(ways))), columns)


def _repeats(calls: Calls, ways: int) -> bool:
    """Whether a parent has several children of a box. It has several only where paths leave another."""
    parent = calls.parent
    begun = leaps(parent)
    remaining = set(map(parent.__getitem__, begun))
    begun += [node + 1 for node in remaining if node + 1 < len(parent) and parent[node + 1] == node]
    return len({parent[node] * ways + calls.box[node] for node in begun}) < len(begun)


def walked(calls: Calls) -> Calls:
    """The same nodes, the subtree of each right after it. Children stay in their order."""
    first = array("q", [ROOT, *leaps(calls.parent)])
    past = array("q", [*first[1:], len(calls.parent)])
    parents = array("q", map(calls.parent.__getitem__, first))  # the node at which each path leaves another
    whose = array("q", (bisect_right(first, node) - 1 for node in parents))
    order = _order(parents, whose)
    parent = array("q", range(NOWHERE, len(calls.parent) - 1))
    moved = array("q", first)  # where each path begins now
    box = array("q")
    columns: list[list[Number]] = [[] for _ in calls.columns]
    for path in order:
        start, stop, parent_path = first[path], past[path], whose[path]
        moved[path] = at = len(box)
        if parent_path >= 0:
            parent[at] = moved[parent_path] + parents[path] - first[parent_path]
        box += calls.box[start:stop]
        for column, values in zip(columns, calls.columns, strict=True):
            column += values[start:stop]
    return Calls(parent, box, columns)


def _order(left: Sequence[int], whose: Sequence[int]) -> list[int]:
    """The paths in the order of a walk: after a path those that leave it, the innermost first."""
    next_path: dict[int, int] = {}  # what comes after a path and all that leaves it
    last = array("q", [NOWHERE]) * len(left)  # what comes right after a path
    for path in sorted(range(len(left) - 1, 0, -1), key=left.__getitem__):
        next_path[path] = last[whose[path]]
        last[whose[path]] = path
    order, waiting = [], [0]
    while waiting:
        path = waiting.pop()
        order.append(path)
        if (sibling := next_path.get(path, NOWHERE)) >= 0:
            waiting.append(sibling)
        if last[path] >= 0:
            waiting.append(last[path])
    return order
