"""The stacks of a tree in preorder, where those below a stack stand next to it.

The samples of everything below a stack are then a difference of two running sums, and the topmost stack of a path that
has an item is the one that lies in the interval of no other with this item.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from numpy import dtype, int64, ndarray

    Numbers = ndarray[tuple[int, ...], dtype[int64]]

MAX_DEPTH = 2_000  # each level is a step of its own: a chain of 2,000,000 frames is the work of an attacker
ITEMS = ("function", "line", "call-site", "callee")
KINDS = len(ITEMS)
NO_ITEM = -1


@attrs.frozen(eq=False)
class StackOrder:
    """`places` has the place of each stack of the tree; `ends` and `pairs` are by place: one behind the last stack
    below, and the pair of caller and frame. `pair_frames` has a row for each pair, with -1 for no caller."""

    places: Numbers
    ends: Numbers
    pairs: Numbers
    pair_frames: Numbers

    def __len__(self) -> int:
        return len(self.places)

    def below(self, amounts: Numbers) -> Numbers:
        """By place, the sums of these amounts by stack over the stack and all below."""
        import numpy as np

        sums = np.zeros(len(self) + 1, np.int64)
        sums[1:][self.places] = amounts
        np.cumsum(sums, out=sums)
        return sums[self.ends] - sums[:-1]


@attrs.frozen(eq=False)
class PartOfTree:
    """The stacks of a tree that have samples, with their callers, in the order of the tree."""

    parents: Numbers
    node_frames: Numbers
    amounts: Numbers


def with_callers(parents: Sequence[int], node_frames: Sequence[int], amounts: Numbers) -> PartOfTree | None:
    """The part of a tree that has these amounts by stack; None where it is too deep."""
    import numpy as np

    parent = np.asarray(parents)
    is_used = np.zeros(len(parent), bool)
    stacks = amounts.nonzero()[0]
    for _ in range(MAX_DEPTH + 2):
        is_used[stacks] = True
        stacks = parent[stacks]
        stacks = stacks[stacks >= 0]
        stacks = stacks[~is_used[stacks]]
        if not stacks.size:
            break
    else:
        return None
    used = is_used.nonzero()[0]
    places = np.append(np.cumsum(is_used) - 1, -1)  # the last one is that of the parent -1
    return PartOfTree(places[parent[used]], np.asarray(node_frames)[used], amounts[used])


def order(parents: Sequence[int] | Numbers, node_frames: Sequence[int] | Numbers) -> StackOrder | None:
    """The order of a tree whose parents stand before their children; None where it is too deep."""
    import numpy as np

    parent = np.asarray(parents, np.int64)
    frame = np.asarray(node_frames, np.int64)
    depths = _summed((parent >= 0).astype(np.int64), parent)
    if len(parent) and depths.max() > MAX_DEPTH:
        return None
    sizes = _sizes(parent, depths)
    rows = np.arange(len(parent))
    places = rows if _is_preorder(parent, rows + sizes) else _places(parent, depths, sizes)
    callers = np.where(parent >= 0, frame[parent], -1)
    frames = int(frame.max()) + 1 if len(frame) else 1
    keys, pair_of_node = np.unique((callers + 1) * frames + frame, return_inverse=True)
    pairs, ends = np.empty_like(places), np.empty_like(places)
    pairs[places] = pair_of_node
    ends[places] = places + sizes
    return StackOrder(places, ends, pairs, np.stack((keys // frames - 1, keys % frames), axis=1))


def topmost(stacks: StackOrder, pair_items: Numbers, kinds: Iterable[int] = range(KINDS)) -> Numbers:
    """By place, a bit for each of these kinds of items: set where no stack above has the item. `pair_items` has a row
    for each pair and a column for each kind, with `NO_ITEM` for none."""
    import numpy as np

    bits = np.zeros(len(stacks), np.uint8)
    same: dict[bytes, int] = {}  # kinds with the same items are looked at once: a caller's line and its place in a file
    for kind in kinds:
        if (alike := same.setdefault(pair_items[:, kind].tobytes(), kind)) != kind:
            bits |= (bits >> alike & 1) << kind
            continue
        # Small numbers are sorted by a radix sort.
        distinct, ranks = np.unique(pair_items[:, kind], return_inverse=True)
        items = ranks.astype(np.uint16 if len(distinct) < 1 << 16 else np.int64)[stacks.pairs]
        has_item = pair_items[:, kind][stacks.pairs] != NO_ITEM
        ordered = np.argsort(items, kind="stable")
        ordered = ordered[has_item[ordered]]
        # Intervals of later items begin behind those of earlier ones, so one running maximum serves all.
        offsets = items[ordered].astype(np.int64) * (len(stacks) + 1)
        reach = np.maximum.accumulate(offsets + stacks.ends[ordered])
        is_first = np.ones(len(ordered), bool)
        is_first[1:] = reach[:-1] <= offsets[1:] + ordered[1:]
        bits[ordered[is_first]] |= 1 << kind
    return bits  # type: ignore[return-value]  # numbers of one byte


def _summed(values: Numbers, parent: Numbers) -> Numbers:
    """The sums of values over each path. Most stacks stand on the row before them, so there are few runs of such rows,
    which are summed by pointer jumping: twice as far in each step."""
    import numpy as np

    begins = parent != np.arange(-1, len(parent) - 1)
    begins[:1] = True
    firsts, run = begins.nonzero()[0], np.cumsum(begins) - 1
    totals = np.cumsum(values)
    sums: Numbers = totals - (totals[firsts] - values[firsts])[run]  # from the first row of the run on
    callers = parent[firsts]
    has_caller = callers >= 0
    before, above = np.where(has_caller, sums[callers], 0), np.where(has_caller, run[callers], -1)
    while (rows := (above >= 0).nonzero()[0]).size:
        far = above[rows]
        before[rows] += before[far]
        above[rows] = above[far]
    sums += before[run]
    return sums


def _sizes(parent: Numbers, depths: Numbers) -> Numbers:
    """The number of stacks in each subtree, from the innermost level out."""
    import numpy as np

    sizes = np.ones(len(parent), np.int64)
    by_depth = np.argsort(depths.astype(np.int16), kind="stable")
    bounds = np.searchsorted(depths[by_depth], np.arange(depths.max() + 2)) if len(parent) else np.zeros(1, np.int64)
    for level in range(len(bounds) - 2, 0, -1):
        rows = by_depth[bounds[level] : bounds[level + 1]]
        np.add.at(sizes, parent[rows], sizes[rows])
    return sizes


def _is_preorder(parent: Numbers, ends: Numbers) -> bool:
    """Whether all below a stack stand next to it: their number is right, so it is enough that none lies beyond."""
    return bool(((parent < 0) | (ends <= ends[parent])).all())


def _places(parent: Numbers, depths: Numbers, sizes: Numbers) -> Numbers:
    """Behind the parent and the subtrees of the siblings in front."""
    import numpy as np

    by_parent = np.argsort(parent, kind="stable")
    before = np.cumsum(sizes[by_parent]) - sizes[by_parent]
    of = parent[by_parent]
    starts = np.ones(len(of), bool)
    starts[1:] = of[1:] != of[:-1]
    group_starts = before[starts][np.cumsum(starts) - 1] if len(of) else before
    steps = np.empty_like(sizes)
    steps[by_parent] = before - group_starts + (of >= 0)
    return _summed(steps, parent)
