"""Exemplars: where the samples of the hottest stacks come from."""

from __future__ import annotations

import heapq
from typing import Any

import attrs
from perfcore_fleet_kit.query import Query, read_samples
from perfcore_fleet_kit.receipts import Receipt
from perfcore_fleet_kit.stack_tree import ROOT

from perfcore.repository.repository import Repository
from perfcore_command_fleet import questions

_SEGMENTS = 3  # of each stack


@attrs.frozen
class ExemplarSegment:
    """A segment with so many samples of a stack; `time` is the end of the segment in ns since 1970 UTC."""

    host: str
    stream: str
    number: int
    time: int
    samples: int


@attrs.frozen
class HotStack:
    """The functions of a stack, the innermost first, its samples, and the segments that have most of them."""

    frames: tuple[str, ...]
    samples: int
    segments: tuple[ExemplarSegment, ...]

    def as_json(self) -> dict[str, Any]:
        return attrs.asdict(self)


def exemplars(
    repository: Repository, revision: str | None, query: Query, function: str | None, limit: int
) -> list[HotStack]:
    """The `limit` stacks with most samples, of those with a function innermost where one is named."""
    _, selected, merged = questions.merged(repository, revision, query)
    union = merged.union
    names = [name for name, _, _, _ in union.tree.frames()]
    nodes = list(union.tree.nodes())
    fitting = (node for node in union.samples if node != ROOT and function in (None, names[nodes[node][1]]))
    hot = heapq.nsmallest(limit, fitting, key=lambda node: (-union.samples[node], node))
    segments: dict[int, list[tuple[int, Receipt]]] = {node: [] for node in hot}
    for tree, members in read_samples(repository.store, selected, []):
        places = union.places(tree, {node for _, by_node in members for node in by_node})
        for segment, by_node in members:
            for node, amount in by_node.items():
                if places[node] in segments:
                    segments[places[node]].append((amount, segment.receipt))
    return [HotStack(_path(nodes, names, node), union.samples[node], _top(segments[node])) for node in hot]


def _path(nodes: list[tuple[int, int]], names: list[str], node: int) -> tuple[str, ...]:
    path = []
    while node != ROOT:
        parent, frame = nodes[node]
        path.append(names[frame])
        node = parent
    return tuple(path)


def _top(segments: list[tuple[int, Receipt]]) -> tuple[ExemplarSegment, ...]:
    def rank(item: tuple[int, Receipt]) -> tuple[int, str, int]:
        return -item[0], item[1].stream, item[1].number

    top = heapq.nsmallest(_SEGMENTS, segments, key=rank)
    return tuple(
        ExemplarSegment(receipt.host, receipt.stream, receipt.number, receipt.end, amount) for amount, receipt in top
    )
