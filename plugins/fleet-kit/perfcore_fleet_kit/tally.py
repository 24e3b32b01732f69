"""The counts of many segments, added up tree by tree: one tree is in memory at a time, and of it only the stacks that
have samples. What is done for each stack is done by NumPy, what is done for each frame in Python.
"""

from __future__ import annotations

import functools
import itertools
from array import array
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from perfcore.errors import FormatError
from perfcore.named_tuple import NamedTuple
from perfcore_fleet_kit import stack_order
from perfcore_fleet_kit.counting import Counts, Frame, FunctionCounts, Line, Placed, count, function_id, kind_of
from perfcore_fleet_kit.dynamic_code import UNKNOWN
from perfcore_fleet_kit.stack_order import ITEMS, KINDS, NO_ITEM, StackOrder
from perfcore_fleet_kit.stack_tree import ROOT, Tree
from perfcore_fleet_kit.union import Resolve, TreeColumns, Union

if TYPE_CHECKING:
    from perfcore_fleet_kit.stack_order import Numbers

_MOST = 1 << 53  # samples: sums are exact up to there
_MANY = 20_000  # stacks: below, NumPy is not loaded before a walk in Python is over
_FUNCTION, _LINE, _SITE, _CALLEE = range(KINDS)
_SELF_FUNCTION, _SELF_LINE, _SELF_SITE, _SELF_FILE = range(KINDS, 2 * KINDS)
_SHIFT = 32  # a call site and a callee are the number of a caller, and that of a function behind it
_LOWEST = (1 << _SHIFT) - 1
K = TypeVar("K")


class _Items(NamedTuple):
    """What a frame counts to, as numbers: its function, line and file, and the first halves of the call sites and
    callees of which it is the caller."""

    function: int
    line: int
    site: int
    callee: int
    file: int


class _Numbering:
    """Numbers for the items of frames."""

    def __init__(self, placed: Placed | None) -> None:
        self._placed = placed
        self._items: dict[Frame, _Items] = {}
        self._function_numbers: dict[str, int] = {}
        self.functions: list[tuple[str, Frame]] = []
        self._numbers: tuple[dict[Line, int], dict[tuple[str, int, str], int], dict[tuple[str, int], int]]
        self._numbers = ({}, {}, {})
        self._files: dict[str, int] = {}

    def items(self, frame: Frame) -> _Items:
        """The items of a frame."""
        items = self._items.get(frame)
        if items is None:
            items = self._items[frame] = self._new(frame)
        return items

    def _new(self, frame: Frame) -> _Items:
        name, file, _, first = frame
        id = function_id(name, file, first)
        function = _number(self._function_numbers, id)
        if function == len(self.functions):
            self.functions.append((id, frame))
        _, file, line, _ = frame if self._placed is None else self._placed(frame)
        lines, sites, callees = self._numbers
        return _Items(
            function,
            _number(lines, (file, line)) if line is not None and line > 0 else NO_ITEM,
            _number(sites, (file, line or 0, id)),
            _number(callees, (id, line or 0)),
            _number(self._files, file),
        )

    def lists(self) -> tuple[list[Line], list[tuple[str, int, str]], list[tuple[str, int]], list[str]]:
        """Lines, callers of call sites, callers of callees, and files by their numbers."""
        lines, sites, callees = self._numbers
        return list(lines), list(sites), list(callees), list(self._files)


def _number(numbers: dict[K, int], key: K) -> int:
    return numbers.setdefault(key, len(numbers))


class Tally:
    """Adds up segments. `resolve` gives the files of dynamic code, and `placed` the lines where frames are counted,
    which depend on the frames alone. Of `ITEMS`, those that are asked for are counted; files always are."""

    def __init__(self, resolve: Resolve, placed: Placed | None = None, items: Collection[str] = ITEMS) -> None:
        self.total = 0
        self.time = 0
        self._resolve = functools.cache(resolve)
        self._placed = placed
        self._kinds = [kind for kind, name in enumerate(ITEMS) if name in items]
        self._numbering = _Numbering(placed)
        # By kind: numbers of items, and their samples.
        self._sums: list[list[tuple[Numbers, Numbers]]] = [[] for _ in range(2 * KINDS)]
        self._deep: list[tuple[TreeColumns, dict[int, int]]] = []

    def add(self, columns: TreeColumns, stacks: Numbers, samples: Numbers, time: int = 0) -> None:
        """Add samples of stacks of a tree, `ROOT` for no frames, and the time in ns that all of them stand for.
        FormatError where they do not fit."""
        if samples.size and float(abs(samples.astype(float)).sum()) >= _MOST:
            raise FormatError("there are more samples than can be counted")
        amounts = _by_stack(stacks, samples, len(columns.parents))[:-1]
        part = stack_order.with_callers(columns.parents, columns.node_frames, amounts)
        order = None if part is None else stack_order.order(part.parents, part.node_frames)
        if part is None or order is None:
            self._deep.append((columns, {stack: int(amounts[stack]) for stack in amounts.nonzero()[0].tolist()}))
        else:
            self._add(columns, order, part.amounts)
        self.total += int(samples.sum())
        self.time += time

    def counts(self) -> Counts:
        """The sum of what was added."""
        sums = list(map(_joined, self._sums))
        lines, sites, callees, files = self._numbering.lists()
        ids = [id for id, _ in self._numbering.functions]
        counts = Counts(total=self.total)
        for function, (id, (name, file, _, first)) in enumerate(self._numbering.functions):
            if inclusive := sums[_FUNCTION].get(function):
                exclusive = sums[_SELF_FUNCTION].get(function, 0)
                counts.functions[id] = FunctionCounts(name, file, first or 0, kind_of(name, file), inclusive, exclusive)
        counts.files = {files[number]: amount for number, amount in sums[_SELF_FILE].items()}
        counts.lines = {lines[line]: pair for line, pair in _pairs(sums[_LINE], sums[_SELF_LINE])}
        counts.call_sites = {
            (*sites[site >> _SHIFT], ids[site & _LOWEST]): pair for site, pair in _pairs(sums[_SITE], sums[_SELF_SITE])
        }
        counts.callees = {
            (*callees[callee >> _SHIFT], ids[callee & _LOWEST]): amount for callee, amount in sums[_CALLEE].items()
        }
        for tree, by_node in self._deep:
            union = Union(self._resolve)
            union.add(tree, [(by_node, 0)])
            counts.add(count(union.tree, union.samples, self._placed))
        return counts

    def _add(self, columns: TreeColumns, order: StackOrder, amounts: Numbers) -> None:
        import numpy as np

        pair_items, files = self._pair_items(columns, order.pair_frames)
        topmost = stack_order.topmost(order, pair_items, self._kinds)
        below = order.below(amounts)
        for kind in self._kinds:
            self._note(kind, pair_items[:, kind], _by_pair(order.pairs, np.where(topmost & 1 << kind, below, 0), order))
        innermost = amounts.nonzero()[0]
        own = _by_pair(order.pairs[order.places[innermost]], amounts[innermost], order)
        for kind in set(self._kinds) - {_CALLEE}:
            self._note(KINDS + kind, pair_items[:, kind], own)
        self._note(_SELF_FILE, files, own)

    def _note(self, kind: int, items: Numbers, sums: Numbers) -> None:
        has_samples = (sums != 0) & (items != NO_ITEM)
        self._sums[kind].append((items[has_samples], sums[has_samples]))

    def _pair_items(self, columns: TreeColumns, pair_frames: Numbers) -> tuple[Numbers, Numbers]:
        """(items by pair of caller and frame, and kind; the file of each pair)"""
        import numpy as np

        used, places = np.unique(pair_frames, return_inverse=True)
        places = places.reshape(pair_frames.shape)
        rows = [self._frame_items(columns, frame) for frame in used.tolist()]
        items: Numbers = np.array(rows, np.int64).reshape(-1, len(_Items._fields))
        frame, caller = items[places[:, 1]], items[places[:, 0]]
        function, has_caller = frame[:, 0], pair_frames[:, 0] != ROOT
        site, callee = (
            np.where(has_caller, (caller[:, kind] << _SHIFT) + function, NO_ITEM) for kind in (_SITE, _CALLEE)
        )
        return np.stack((function, frame[:, _LINE], site, callee), axis=1), frame[:, 4]

    def _frame_items(self, columns: TreeColumns, frame: int) -> Sequence[int]:
        if frame == ROOT:
            return (NO_ITEM,) * len(_Items._fields)
        function, offset = columns.frames[frame]
        name, file, first = columns.functions[function]
        file = self._resolve(file) if file.startswith(UNKNOWN) else file
        return self._numbering.items((name, file, None if offset is None else offset + (first or 0), first))


def count_tree(tree: Tree, amounts: Mapping[int, int], placed: Placed | None = None) -> Counts:
    """As `count`, which takes much longer for a tree with many stacks."""
    nodes = array("q", itertools.chain.from_iterable(tree.nodes()))
    if len(nodes) < 2 * _MANY or not 0 <= min(amounts.values(), default=0) <= sum(amounts.values()) < _MOST:
        return count(tree, amounts, placed)
    import numpy as np

    frames = tree.frames()
    functions = dict.fromkeys((name, file, first) for name, file, _, first in frames)
    numbers = {function: number for number, function in enumerate(functions)}
    columns = TreeColumns(
        functions=list(functions),
        frames=[
            (numbers[name, file, first], None if line is None else line - (first or 0))
            for name, file, line, first in frames
        ],
        parents=nodes[::2],
        node_frames=nodes[1::2],
    )
    tally = Tally(lambda file: file, placed)
    tally.add(columns, np.array(list(amounts), np.int64), np.array(list(amounts.values()), np.int64))
    return tally.counts()


def _by_pair(pairs: Numbers, amounts: Numbers, order: StackOrder) -> Numbers:
    import numpy as np

    sums: Numbers = np.bincount(pairs, amounts, len(order.pair_frames)).astype(np.int64)  # whole numbers below 2^53
    return sums


def _by_stack(stacks: Numbers, samples: Numbers, size: int) -> Numbers:
    """The samples of each stack, behind them those of `ROOT`. FormatError where there is no such stack."""
    import numpy as np

    if len(stacks) and not ROOT <= stacks.min() <= stacks.max() < size:
        raise FormatError("a sample has a stack that is not there")
    amounts = np.zeros(size + 1, np.int64)
    np.add.at(amounts, stacks, samples)
    return amounts


def _joined(chunks: Sequence[tuple[Numbers, Numbers]]) -> dict[int, int]:
    """The sums by item."""
    import numpy as np

    if not chunks:
        return {}
    items, places = np.unique(np.concatenate([items for items, _ in chunks]), return_inverse=True)
    sums = np.zeros(len(items), np.int64)
    np.add.at(sums, places, np.concatenate([amounts for _, amounts in chunks]))
    return dict(zip(items.tolist(), sums.tolist(), strict=True))


def _pairs(inclusive: Mapping[int, int], exclusive: Mapping[int, int]) -> list[tuple[int, list[int]]]:
    get: Callable[[int, int], int] = exclusive.get
    return [(item, [amount, get(item, 0)]) for item, amount in inclusive.items()]
