"""Nodes of a tree of calls, made one where they say the same and brought into the order of a walk.

Most of them stand on the node before. Such a path is moved as a whole, so the work is that of its first nodes, which
are far fewer.
"""

from __future__ import annotations

import operator
from array import array
from itertools import accumulate, chain, compress, repeat
from typing import TYPE_CHECKING, TypeAlias

from perfcore.model.record import Record
from perfcore.profile.stacks import NOWHERE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

Number: TypeAlias = int | float

ROOT = 0


class Calls(Record, frozen=True):
    """Paths of nodes, each standing on the node before it: `first` are the nodes that begin a path, `above` what these
    stand on, which comes before them. Each node has a box, one of so many `boxes`, and what it took itself. Node 0 is
    the whole. `node_of` is the node of each stack, where it was asked for; `counts` is how many nodes each box has,
    where that is known."""

    first: Sequence[int]
    above: Sequence[int]
    box: array[int]
    boxes: int
    columns: Sequence[Sequence[Number]]
    node_of: array[int] | None = None
    counts: Mapping[int, int] | None = None

    @property
    def past(self) -> list[int]:
        """What comes after the last node of each path."""
        return [*self.first[1:], len(self.box)]


def merged(calls: Calls) -> Calls:
    """The same with one node where several of a box have the same parent."""
    if _are_different(calls):
        return calls
    begun: dict[int, int] = {}  # the first node of each new path, by its parent and box
    parents: dict[int, int] = {}  # of these nodes; any other node stands on the one before it
    numbers = array("q", range(len(calls.box)))
    node_of = array("q", [NOWHERE]) * len(calls.box)
    boxes = array("q")
    columns: list[list[Number]] = [[] for _ in calls.columns]
    for start, stop, above in zip(calls.first, calls.past, calls.above, strict=True):
        at, row = node_of[above] if start else NOWHERE, start
        while row < stop:
            node = at + 1
            if at < 0 or node >= len(boxes) or node in parents or boxes[node] != calls.box[row]:
                node = begun.get(at * calls.boxes + calls.box[row], NOWHERE)
            if node < 0:
                break
            for column, values in zip(columns, calls.columns, strict=True):
                column[node] += values[row]
            node_of[row] = at = node
            row += 1
        if row < stop:
            node = len(boxes)
            begun[at * calls.boxes + calls.box[row]] = node
            parents[node] = at
            node_of[row:stop] = numbers[node : node + stop - row]
            boxes += calls.box[row:stop]
            for column, values in zip(columns, calls.columns, strict=True):
                column += values[row:stop]
    return Calls([*parents], [*parents.values()], boxes, calls.boxes, columns, _moved(calls.node_of, node_of))


def _are_different(calls: Calls) -> bool:
    """Whether no two nodes of a parent have one box, as far as their beginnings tell: True is certain."""
    parents, boxes = calls.above[1:], list(map(calls.box.__getitem__, calls.first[1:]))
    if len(set(map(operator.add, map(operator.mul, parents, repeat(calls.boxes)), boxes))) < len(boxes):
        return False
    # The node behind a parent may be the one that goes on from it.
    behind = map(calls.box.__getitem__, map(operator.add, parents, repeat(1)))
    return not any(map(operator.eq, behind, boxes))


def walked(calls: Calls) -> Calls:
    """The same nodes, the subtree of each right after it. Children stay in their order."""
    first = list(calls.first)
    paths = list(chain.from_iterable(map(repeat, range(len(first)), map(operator.sub, calls.past, first))))
    whose = [NOWHERE, *map(paths.__getitem__, calls.above[1:])]  # the path that each leaves
    order = _order(calls.above, whose)
    old, past = (list(map(nodes.__getitem__, order)) for nodes in (first, calls.past))
    new = list(accumulate(map(operator.sub, past, old), initial=ROOT))[:NOWHERE]
    moved = list(first)  # where each path begins now
    for path, node in zip(order, new, strict=True):
        moved[path] = node
    shifts = [*map(operator.sub, moved, first), 0]  # the last is that of what the whole stands on
    left = map(whose.__getitem__, order)
    above = list(map(operator.add, map(calls.above.__getitem__, order), map(shifts.__getitem__, left)))
    # The others go on from the path that now stands before them.
    begin = [True, *map(operator.ne, map(operator.add, above[1:], repeat(1)), new[1:])]
    node_of = None
    if calls.node_of is not None:
        places = array("q", calls.box)  # where each node stands now
        for start, stop, node in zip(old, past, new, strict=True):
            places[start:stop] = array("q", range(node, node + stop - start))
        node_of = _moved(calls.node_of, places)
    return Calls(
        list(compress(new, begin)),
        list(compress(above, begin)),
        _joined(calls.box, old, past),
        calls.boxes,
        [_chained(values, old, past) for values in calls.columns],
        node_of,
        calls.counts,
    )


def _joined(values: array[int], first: Sequence[int], past: Sequence[int]) -> array[int]:
    """These stretches of an array, one after the other."""
    data, width = values.tobytes(), repeat(values.itemsize)
    parts = map(slice, map(operator.mul, first, width), map(operator.mul, past, width))
    return array(values.typecode, b"".join(map(data.__getitem__, parts)))


def _chained(values: Sequence[Number], first: Sequence[int], past: Sequence[int]) -> list[Number]:
    parts: Iterable[Sequence[Number]] = map(values.__getitem__, map(slice, first, past))
    return list(chain.from_iterable(parts))


def _moved(node_of: array[int] | None, places: Sequence[int]) -> array[int] | None:
    return None if node_of is None else array("q", map(places.__getitem__, node_of))


def _order(left: Sequence[int], whose: Sequence[int]) -> list[int]:
    """The paths in the order of a walk: after a path those that leave it, the innermost first."""
    # A path stands before those that leave it, and those that leave a node are put right after its path from the last
    # to the first, so that each comes with its own before those that were there.
    after = [NOWHERE] * len(left)
    for path in sorted(range(len(left) - 1, 0, -1), key=left.__getitem__):
        after[path] = after[whose[path]]
        after[whose[path]] = path
    order, path = [], 0
    while path >= 0:
        order.append(path)
        path = after[path]
    return order
