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
    """For each node its parent, which stands before it, its box, and what it took itself. Node 0 is the whole.
    `node_of` is the node of each stack, where it was asked for; `first` are the nodes that begin a path."""

    parent: array[int]
    box: array[int]
    columns: Sequence[Sequence[Number]]
    node_of: array[int] | None = None
    first: Sequence[int] = attrs.field(default=attrs.Factory(lambda self: starts(self.parent), takes_self=True))


def starts(parent: Sequence[int]) -> list[int]:
    """The nodes that begin a path: the whole, and each that does not stand on the one before it."""
    return [ROOT, *leaps(parent)]


def merged(calls: Calls) -> Calls:
    """The same with one node where several of a box have the same parent."""
    if _are_different(calls):
        return calls
    ways = max(calls.box) + 1
    begun: dict[int, int] = {}  # the first node of each new path, by its parent and box
    parents: dict[int, int] = {}  # of these nodes; any other node stands on the one before it
    numbers = array("q", range(len(calls.parent)))
    node_of = array("q", [NOWHERE]) * len(calls.parent)
    boxes = array("q")
    columns: list[list[Number]] = [[] for _ in calls.columns]
    for start, stop in zip(calls.first, [*calls.first[1:], len(calls.parent)], strict=True):
        at, row = node_of[calls.parent[start]] if start else NOWHERE, start
        while row < stop:
            node = at + 1
            if at < 0 or node >= len(boxes) or node in parents or boxes[node] != calls.box[row]:
                node = begun.get(at * ways + calls.box[row], NOWHERE)
            if node < 0:
                break
            for column, values in zip(columns, calls.columns, strict=True):
                column[node] += values[row]
            node_of[row] = at = node
            row += 1
        if row < stop:
            node = len(boxes)
            begun[at * ways + calls.box[row]] = node
            parents[node] = at
            node_of[row:stop] = numbers[node : node + stop - row]
            boxes += calls.box[row:stop]
            for column, values in zip(columns, calls.columns, strict=True):
                column += values[row:stop]
    parent = array("q", range(NOWHERE, len(boxes) - 1))
    for node, at in parents.items():
        parent[node] = at
    return Calls(parent, boxes, columns, _moved(calls.node_of, node_of))


def _are_different(calls: Calls) -> bool:
    """Whether no two nodes of a parent have one box, as far as their beginnings tell: True is certain."""
    begun = calls.first[1:]
    parents, boxes = (list(map(column.__getitem__, begun)) for column in (calls.parent, calls.box))
    if len(set(zip(parents, boxes, strict=True))) < len(begun):
        return False
    # The node behind a parent may be the one that goes on from it.
    behind = map(calls.box.__getitem__, map(operator.add, parents, repeat(1)))
    return not any(map(operator.eq, behind, boxes))


def walked(calls: Calls) -> Calls:
    """The same nodes, the subtree of each right after it. Children stay in their order."""
    first = array("q", calls.first)
    past = array("q", [*first[1:], len(calls.parent)])
    parents = array("q", map(calls.parent.__getitem__, first))  # the node at which each path leaves another
    whose = array("q", (bisect_right(first, node) - 1 for node in parents))
    order = _order(parents, whose)
    parent = array("q", range(NOWHERE, len(calls.parent) - 1))
    moved = array("q", first)  # where each path begins now
    places = None if calls.node_of is None else array("q", calls.parent)  # where each node stands now
    box = array("q")
    begun = []
    columns: list[list[Number]] = [[] for _ in calls.columns]
    for path in order:
        start, stop, parent_path = first[path], past[path], whose[path]
        moved[path] = at = len(box)
        if parent_path >= 0:
            parent[at] = moved[parent_path] + parents[path] - first[parent_path]
        if parent[at] != at - 1 or at == ROOT:  # else it goes on from the path that now stands before it
            begun.append(at)
        if places is not None:
            places[start:stop] = array("q", range(at, at + stop - start))
        box += calls.box[start:stop]
        for column, values in zip(columns, calls.columns, strict=True):
            column += values[start:stop]
    return Calls(parent, box, columns, None if places is None else _moved(calls.node_of, places), begun)


def _moved(node_of: array[int] | None, places: Sequence[int]) -> array[int] | None:
    return None if node_of is None else array("q", map(places.__getitem__, node_of))


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
