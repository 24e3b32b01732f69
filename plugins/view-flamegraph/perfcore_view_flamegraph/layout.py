"""Where the boxes of a flame graph stand. Nothing below a least width is followed, so the work is as large as the
picture, not as the profile."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from perfcore.model.record import Record
from perfcore_view_flamegraph.calls import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from perfcore_view_flamegraph.calls import Number
    from perfcore_view_flamegraph.graph import Graph, Metric

    _Key = Callable[["_Node"], object]

ORDERS = ("value", "name")


class Box(Record, frozen=True):
    """A frame in the picture: `left` and `width` are shares of the whole. `sides` are the amounts of baseline and
    target in a difference; `own` is not told where the graph is inverted."""

    frame: int
    depth: int
    left: float
    width: float
    total: Number
    own: Number | None = None
    sides: tuple[Number, Number] | None = None


class _Node(Record, frozen=True):
    frame: int
    total: Number
    below: Callable[[], list[_Node]]
    own: Number | None = None
    sides: tuple[Number, Number] | None = None


_Entries: TypeAlias = "list[tuple[int, int]]"  # a node with an amount of its own, and the caller of it that is next


def boxes(graph: Graph, metric: Metric, *, least: float, order: str = "value", inverted: bool = False) -> list[Box]:
    """The boxes that take at least this share of the whole, the root first. Inverted, the functions that did the
    work stand at the root, and their callers upon them."""
    root = _inverted(graph, metric) if inverted else _downwards(graph, metric, least)
    names = [frame.name for frame in graph.frames]
    # Names behind the totals, so that equal boxes stand in the same order in every picture.
    key: _Key = (lambda node: names[node.frame]) if order == "name" else (lambda node: (-node.total, names[node.frame]))
    return list(_placed(root, key, least))


def _placed(root: _Node, key: _Key, least: float) -> Iterator[Box]:
    root_total = root.total
    # A stack of our own: the stacks of recursive programs are deeper than Python's recursion limit of 1,000.
    waiting = [(root, 0, 0.0)]
    while waiting:
        node, depth, start = waiting.pop()
        yield Box(node.frame, depth, start, node.total / root_total, node.total, node.own, node.sides)
        visible = [below for below in node.below() if below.total > 0 and below.total >= least * root_total]
        for below in sorted(visible, key=key):  # type: ignore[arg-type]
            waiting.append((below, depth + 1, start))
            start += below.total / root_total


def _downwards(graph: Graph, metric: Metric, least: float) -> _Node:
    total = graph.totals(metric.own)
    sides = [graph.totals(side) for side in metric.sides or ()]
    children: dict[int, list[int]] = {}
    for node in range(1, len(graph)):
        if total[node] >= least * total[ROOT]:
            children.setdefault(graph.parent[node], []).append(node)

    def made(node: int) -> _Node:
        side_values = (sides[0][node], sides[1][node]) if sides else None
        below = children.get(node, ())
        return _Node(graph.frame[node], total[node], lambda: list(map(made, below)), metric.own[node], side_values)

    return made(ROOT)


def _inverted(graph: Graph, metric: Metric) -> _Node:
    def made(frame: int, entries: _Entries) -> _Node:
        total = _sum(metric.own, entries)
        side_values = (_sum(metric.sides[0], entries), _sum(metric.sides[1], entries)) if metric.sides else None
        return _Node(frame, total, lambda: [made(*group) for group in _callers(graph, entries)], None, side_values)

    return made(graph.frame[ROOT], [(node, node) for node in range(1, len(graph)) if metric.own[node]])


def _sum(values: Sequence[Number], entries: _Entries) -> Number:
    return sum(values[node] for node, _ in entries)


def _callers(graph: Graph, entries: _Entries) -> Iterator[tuple[int, _Entries]]:
    groups: dict[int, _Entries] = {}
    for node, at in entries:
        if at != ROOT:
            groups.setdefault(graph.frame[at], []).append((node, graph.parent[at]))
    yield from groups.items()


def widest(placed: Sequence[Box], most: int) -> list[Box]:
    """At most so many boxes, the widest, in their order. A box is as wide as what it calls at least, so none is without
    the box that it stands on."""
    ranked = sorted(range(len(placed)), key=lambda at: (-placed[at].total, placed[at].depth))
    return [placed[at] for at in sorted(ranked[:most])]
