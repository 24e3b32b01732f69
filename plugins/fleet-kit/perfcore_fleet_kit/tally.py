"""The counts of many segments, added up tree by tree: one tree is in memory at a time.

What does not depend on samples, the order of a tree's stacks and where an item is topmost, is kept in a cache.
"""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
import msgspec

from perfcore import files
from perfcore.errors import FormatError
from perfcore_fleet_kit import stack_order
from perfcore_fleet_kit.counting import (
    Counts,
    Frame,
    Item,
    add_exclusive,
    add_inclusive,
    count,
    function_id,
    items_of,
    kind_of_item,
)
from perfcore_fleet_kit.dynamic_code import UNKNOWN
from perfcore_fleet_kit.stack_order import KINDS, NO_ITEM, StackOrder
from perfcore_fleet_kit.stack_tree import ROOT
from perfcore_fleet_kit.union import Resolve, TreeColumns, Union

if TYPE_CHECKING:
    from perfcore_fleet_kit.stack_order import Numbers

_FORMAT = 1
_FEWEST = 2_000  # stacks of a tree that is kept in the cache: smaller ones are ordered as fast as read
_CACHE = 512 << 20  # bytes of all trees in the cache
_MOST = 1 << 53  # samples: sums are exact up to there


class _Stored(msgspec.Struct, frozen=True, array_like=True):
    """An ordered tree in the cache. `resolved` are the files of its unknown code when `topmost` was made."""

    format: int
    functions: list[tuple[str, str, int | None]]
    frames: list[tuple[int, int | None]]
    resolved: list[str]
    places: bytes
    ends: bytes
    pairs: bytes
    pair_frames: bytes
    topmost: bytes


@attrs.frozen(eq=False)
class _Tree:
    """An ordered tree, and by place in its order where items are topmost."""

    functions: Sequence[tuple[str, str, int | None]]
    frames: Sequence[tuple[int, int | None]]
    order: StackOrder
    topmost: Numbers


class Tally:
    """Adds up segments. `resolve` gives the files of dynamic code; `cache` is a folder."""

    def __init__(self, resolve: Resolve, cache: Path | None = None) -> None:
        import numpy as np

        self.total = 0
        self.time = 0
        self._resolve = functools.cache(resolve)
        self._cache = cache
        self._has_written = False
        self._frames: dict[Frame, int] = {}
        self._frame_list: list[Frame] = []
        self._ids: list[str] = []
        self._pairs: dict[tuple[int, int], int] = {}
        self._sums: Numbers = np.zeros((KINDS + 1, 0), np.int64)  # by pair: of each kind of item, and exclusive
        self._deep: list[tuple[TreeColumns, dict[int, int]]] = []

    def add(self, key: str, read: Callable[[], TreeColumns], stacks: Numbers, samples: Numbers, time: int = 0) -> None:
        """Add samples of stacks, `ROOT` for no frames, and the time in ns that all of them stand for. `key` is the
        identity of the tree that `read` gives. FormatError where they do not fit."""
        if samples.size and float(abs(samples.astype(float)).sum()) >= _MOST:
            raise FormatError("there are more samples than can be counted")
        tree = self._tree(key, read)
        if tree is not None:
            self._add(tree, _by_stack(stacks, samples, len(tree.order))[:-1])
        else:
            columns = read()
            amounts = _by_stack(stacks, samples, len(columns.parents))[:-1]
            self._deep.append((columns, {stack: int(amounts[stack]) for stack in amounts.nonzero()[0].tolist()}))
        self.total += int(samples.sum())
        self.time += time

    def counts(self) -> Counts:
        """The sum of what was added."""
        counts = Counts(total=self.total)
        frames, ids = self._frame_list, self._ids
        sums = dict(zip(self._pairs, self._sums.T.tolist(), strict=False))  # pairs without samples are behind
        for (caller, frame), amounts in sums.items():
            for item in items_of(frames, ids, None if caller < 0 else caller, frame):
                if amount := amounts[kind_of_item(item)]:
                    add_inclusive(counts, frames[frame], item, amount)
        for (caller, frame), amounts in sums.items():
            if amount := amounts[KINDS]:
                add_exclusive(counts, frames, ids, None if caller < 0 else caller, frame, amount)
        for tree, by_node in self._deep:
            union = Union(self._resolve)
            union.add(tree, [(by_node, 0)])
            counts.add(count(union.tree, union.samples))
        self._prune()
        return counts

    def _add(self, tree: _Tree, amounts: Numbers) -> None:
        import numpy as np

        order, size = tree.order, len(tree.order.pair_frames)
        below = order.below(amounts)
        used = below.nonzero()[0]
        below, pairs, topmost = below[used], order.pairs[used], tree.topmost[used]
        by_kind = [np.bincount(pairs, np.where(topmost & 1 << kind, below, 0), size) for kind in range(KINDS)]
        innermost = amounts.nonzero()[0]
        by_kind.append(np.bincount(order.pairs[order.places[innermost]], amounts[innermost], size))
        sums = np.array(by_kind).astype(np.int64)  # whole numbers below 2^53
        counted = np.flatnonzero(sums.any(axis=0))
        numbers = self._numbers(tree.functions, tree.frames, order.pair_frames[counted])
        if self._sums.shape[1] < len(self._pairs):
            missing = len(self._pairs) - self._sums.shape[1]
            self._sums = np.pad(self._sums, ((0, 0), (0, missing)))
        # Two pairs of the tree may be one here, where their code is resolved.
        for kind, of_kind in enumerate(sums):
            np.add.at(self._sums[kind], numbers, of_kind[counted])

    def _numbers(
        self,
        functions: Sequence[tuple[str, str, int | None]],
        frames: Sequence[tuple[int, int | None]],
        pair_frames: Numbers,
    ) -> Numbers:
        """The numbers here of pairs of frames of a tree."""
        import numpy as np

        frame_numbers = {-1: -1}
        for at in np.unique(pair_frames).tolist():
            if at >= 0:
                function, offset = frames[at]
                name, file, first = functions[function]
                line = None if offset is None else offset + (first or 0)
                frame_numbers[at] = self._frame((name, self._file(file), line, first))
        numbers, get = [], self._pairs.get
        for caller_there, frame_there in pair_frames.tolist():
            pair = (frame_numbers[caller_there], frame_numbers[frame_there])
            index = get(pair)
            if index is None:
                index = self._pairs[pair] = len(self._pairs)
            numbers.append(index)
        return np.array(numbers, np.int64)

    def _file(self, file: str) -> str:
        return self._resolve(file) if file.startswith(UNKNOWN) else file

    def _frame(self, frame: Frame) -> int:
        index = self._frames.get(frame)
        if index is None:
            index = self._frames[frame] = len(self._frames)
            self._frame_list.append(frame)
            self._ids.append(function_id(frame[0], frame[1], frame[3]))
        return index

    def _tree(self, key: str, read: Callable[[], TreeColumns]) -> _Tree | None:
        """None for a tree that is too deep."""
        path = None if self._cache is None else self._cache / key
        stored = None if path is None else _stored(path)
        if stored is not None and stored.resolved == self._resolved(stored.functions):
            return _tree_of(stored)
        columns = read()
        order = stack_order.order(columns.parents, columns.node_frames)
        if order is None:
            return None
        numbers = self._numbers(columns.functions, columns.frames, order.pair_frames)
        topmost = stack_order.topmost(order, self._items(numbers))
        tree = _Tree(columns.functions, columns.frames, order, topmost)
        if path is not None and len(order) >= _FEWEST:
            files.cache(path, msgspec.msgpack.encode(_stored_of(tree, self._resolved(tree.functions))))
            self._has_written = True
        return tree

    def _items(self, pairs: Numbers) -> Numbers:
        """The items of pairs by their kinds."""
        import numpy as np

        keys, numbers = list(self._pairs), dict[Item, int]()
        table = np.full((len(pairs), KINDS), NO_ITEM, np.int64)
        for row, (caller, frame) in enumerate(keys[pair] for pair in pairs.tolist()):
            for item in items_of(self._frame_list, self._ids, None if caller < 0 else caller, frame):
                table[row, kind_of_item(item)] = numbers.setdefault(item, len(numbers))
        return table

    def _resolved(self, functions: Sequence[tuple[str, str, int | None]]) -> list[str]:
        """The files of the code that was unknown when the tree was stored, as far as they are known now."""
        return [self._resolve(file) for _, file, _ in functions if file.startswith(UNKNOWN)]

    def _prune(self) -> None:
        """Keep the cache within its bound: the trees that were made first go first."""
        if self._cache is None or not self._has_written:
            return
        with contextlib.suppress(OSError), os.scandir(self._cache) as entries:
            trees = sorted((entry.stat().st_mtime_ns, entry.stat().st_size, entry.path) for entry in entries)
            size = sum(tree[1] for tree in trees)
            for _, length, path in trees:
                if size > _CACHE:
                    os.unlink(path)
                    size -= length


def _by_stack(stacks: Numbers, samples: Numbers, size: int) -> Numbers:
    """The samples of each stack, behind them those of `ROOT`. FormatError where there is no such stack."""
    import numpy as np

    if len(stacks) and not ROOT <= stacks.min() <= stacks.max() < size:
        raise FormatError("a sample has a stack that is not there")
    amounts = np.zeros(size + 1, np.int64)
    np.add.at(amounts, stacks, samples)
    return amounts


def _stored(path: Path) -> _Stored | None:
    data = files.cached(path)
    if data is not None:
        with contextlib.suppress(msgspec.MsgspecError):
            stored = msgspec.msgpack.decode(data, type=_Stored)
            return stored if stored.format == _FORMAT else None
    return None


def _tree_of(stored: _Stored) -> _Tree:
    import numpy as np

    places, ends, pairs = (np.frombuffer(array, "<i4") for array in (stored.places, stored.ends, stored.pairs))
    order = StackOrder(places, ends, pairs, np.frombuffer(stored.pair_frames, "<i4").reshape(-1, 2))
    return _Tree(stored.functions, stored.frames, order, np.frombuffer(stored.topmost, np.uint8))


def _stored_of(tree: _Tree, resolved: list[str]) -> _Stored:
    order = tree.order
    places, ends, pairs, pair_frames = (
        array.astype("<i4").tobytes() for array in (order.places, order.ends, order.pairs, order.pair_frames)
    )
    return _Stored(
        format=_FORMAT,
        functions=list(tree.functions),
        frames=list(tree.frames),
        resolved=resolved,
        places=places,
        ends=ends,
        pairs=pairs,
        pair_frames=pair_frames,
        topmost=tree.topmost.tobytes(),
    )
