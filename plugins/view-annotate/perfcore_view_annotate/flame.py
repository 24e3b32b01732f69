"""The flame graph of the index: a box for each function below its callers, which is a link to its source."""

from __future__ import annotations

import html
import zlib
from collections.abc import Iterator, Sequence

import attrs
from perfcore_fleet_kit.counting import function_id

from perfcore.profile.stacks import NOWHERE
from perfcore_view_annotate.profile_tree import ProfileTree

LEAST = 0.0015  # of the whole: two pixels of 1,300
_DEEPEST = 60  # rows of a picture that people can overlook
_ROW = 19  # pixels
_NAMED = 0.02  # of the whole, from which a box has room for letters
HUES = 12


@attrs.frozen
class Box:
    """A function below its callers; `left` and `width` are shares of the whole."""

    function: str
    depth: int
    left: float
    width: float


def boxes(tree: ProfileTree, total: int) -> list[Box]:
    """The boxes that are wide enough to be seen, each before those above it, the widest of a row first."""
    ids = [function_id(name, file, first) for name, file, _, first in tree.frames()]
    amounts, first_child, sibling = _with_callees(tree)
    placed: list[Box] = []
    waiting: list[tuple[Sequence[int], int, float]] = [((NOWHERE,), 0, 0.0)]
    while waiting:
        nodes, depth, left = waiting.pop()
        groups: dict[str, list[int]] = {}
        for node in nodes:
            child = first_child[node]
            while child != NOWHERE:
                groups.setdefault(ids[tree.node_frames[child]], []).append(child)
                child = sibling[child]
        widths = {id: sum(map(amounts.__getitem__, group)) / total for id, group in groups.items()}
        following = []
        for id in sorted(groups, key=lambda id: (-widths[id], id)):
            if widths[id] < LEAST:
                break
            placed.append(Box(id, depth, left, widths[id]))
            if depth + 1 < _DEEPEST:
                following.append((groups[id], depth + 1, left))
            left += widths[id]
        waiting += reversed(following)
    return sorted(placed, key=lambda box: (box.depth, box.left))


def _with_callees(tree: ProfileTree) -> tuple[list[int], list[int], list[int]]:
    """(what each stack took with its callees, its first callee that took something, the next callee of its caller). The
    first of the outermost stacks is behind all others, at `NOWHERE`."""
    size = len(tree.parents)
    amounts, first_child, sibling = [0] * (size + 1), [NOWHERE] * (size + 1), [NOWHERE] * size
    for node, amount in tree.amounts.items():
        amounts[node] = amount
    for node in range(size - 1, -1, -1):
        amount = amounts[node]
        if amount:
            parent = tree.parents[node]
            amounts[parent] += amount
            sibling[node], first_child[parent] = first_child[parent], node
    return amounts, first_child, sibling


def picture(placed: Sequence[Box], name: dict[str, str], file: dict[str, str], address: dict[str, str]) -> str:
    """The boxes as SVG that is as wide as the page. `name`, `file` and `address` are those of the functions."""
    if not placed:
        return ""
    height = _ROW * (1 + max(box.depth for box in placed))
    parts = _drawn(placed, name, file, address)
    return (
        f'<svg id="flame" width="100%" height="{height}" role="group" aria-label="Flame graph: functions below their '
        f'callers, as wide as their share. Arrow keys move, Enter opens the source.">{"".join(parts)}</svg>'
    )


def _drawn(placed: Sequence[Box], name: dict[str, str], file: dict[str, str], address: dict[str, str]) -> Iterator[str]:
    for number, box in enumerate(placed):
        text = html.escape(name[box.function])
        hue = zlib.crc32(file[box.function].encode("utf-8", "surrogatepass")) % HUES
        label = f'<text x="4" y="13">{text}</text>' if box.width >= _NAMED else ""
        yield (
            f'<a href="{address[box.function]}" tabindex="{-1 if number else 0}" data-d="{box.depth}">'
            f'<svg x="{100 * box.left:.3f}%" y="{box.depth * _ROW}" width="{100 * box.width:.3f}%" height="{_ROW - 1}">'
            f'<title>{text} {100 * box.width:.2f} %</title><rect width="100%" height="100%" class="c{hue}"/>{label}'
            "</svg></a>"
        )
