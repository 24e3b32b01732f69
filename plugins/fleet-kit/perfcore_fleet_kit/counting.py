"""Counts of functions, files, lines, call sites and callees, each once per sample.

What a stack has in common with its caller is counted with the caller: a walk over the tree, from the outermost frames
in, counts an item at the topmost stack of a path that has it, with the samples of everything below.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import attrs

from perfcore_fleet_kit.stack_tree import ROOT, Tree

Line = tuple[str, int]
Frame = tuple[str, str, int | None, int | None]
"""Name, file, line and first line."""
Placed = Callable[[Frame], Frame]
Item = str | Line | tuple[str, int, str, str] | tuple[str, int, str]
CallSite = tuple[str, int, str, str]
"""The caller's file and line, caller, callee."""
_KINDS = {2: 1, 4: 2, 3: 3}  # of items that are tuples, by their lengths


@attrs.define
class FunctionCounts:
    """`kind` is sub, xsub, op, main or eval; `first_line` is 0 if unknown."""

    name: str
    file: str
    first_line: int
    kind: str
    inclusive: int = 0
    exclusive: int = 0


@attrs.define
class Counts:
    """Everything that is counted, in the unit of the amounts. Functions are under their ids. `call_sites` and `callees`
    have [inclusive, exclusive]; a callee is at a caller and its line."""

    total: int = 0
    functions: dict[str, FunctionCounts] = attrs.field(factory=dict)
    files: dict[str, int] = attrs.field(factory=dict)
    lines: dict[Line, list[int]] = attrs.field(factory=dict)
    call_sites: dict[CallSite, list[int]] = attrs.field(factory=dict)
    callees: dict[tuple[str, int, str], int] = attrs.field(factory=dict)

    def add(self, others: Counts) -> None:
        """Add the counts of other samples, but not their total."""
        for id, function in others.functions.items():
            own = self.functions.setdefault(id, attrs.evolve(function, inclusive=0, exclusive=0))
            own.inclusive += function.inclusive
            own.exclusive += function.exclusive
        _add_pairs(others.lines, self.lines)
        _add_pairs(others.call_sites, self.call_sites)
        _add_each(others.files, self.files)
        _add_each(others.callees, self.callees)


K = TypeVar("K")


def _add_pairs(pairs: Mapping[K, Sequence[int]], target: dict[K, list[int]]) -> None:
    for key, (inclusive, exclusive) in pairs.items():
        pair = target.setdefault(key, [0, 0])
        pair[0] += inclusive
        pair[1] += exclusive


def _add_each(counts: Mapping[K, int], target: dict[K, int]) -> None:
    for key, amount in counts.items():
        target[key] = target.get(key, 0) + amount


def kind_of_item(item: Item) -> int:
    """0 for a function, 1 for a line, 2 for a call site, 3 for a callee."""
    return 0 if isinstance(item, str) else _KINDS[len(item)]


def kind_of(name: str, file: str) -> str:
    """The kind of a function by its name and file."""
    if file.startswith("xs:"):
        return "xsub"
    if name.startswith("CORE::"):
        return "op"
    return name if name in ("main", "eval") else "sub"


def function_id(name: str, file: str, first_line: int | None) -> str:
    """`file:name:first_line`, without a file or a line that is unknown; `(unknown):name` for a native function."""
    if file.startswith("xs:"):
        return f"(unknown):{name}"
    id = f"{file}:{name}" if file else name
    return f"{id}:{first_line}" if first_line and first_line > 0 else id


def count(tree: Tree, amounts: Mapping[int, int], placed: Placed | None = None) -> Counts:
    """The counts of these amounts by stack. `placed` says at which file and line a frame is counted; functions stay
    what they are."""
    frames = tree.frames()
    ids = [function_id(name, file, first) for name, file, _, first in frames]
    at = frames if placed is None else list(map(placed, frames))
    counts = Counts(total=sum(amounts.values()))
    parents = [parent for parent, _ in tree.nodes()]
    below = [0] * len(parents)
    for node, amount in amounts.items():
        if node != ROOT:
            below[node] = amount
    for node in range(len(parents) - 1, -1, -1):  # children come behind their parents
        if parents[node] != ROOT:
            below[parents[node]] += below[node]
    for item, (frame, amount) in _inclusive(tree, at, ids, below).items():
        if amount:
            add_inclusive(counts, frames[frame], item, amount)
    _count_innermost(tree, at, ids, amounts, counts)
    return counts


def _inclusive(
    tree: Tree,
    frames: Sequence[Frame],
    ids: Sequence[str],
    below: Sequence[int],
) -> dict[Item, tuple[int, int]]:
    """(a frame that has it, inclusive amount) of each item."""
    # A stack has the items of its innermost frame and that one's caller. They are numbered once for each such pair, and
    # the walk marks those of the path that it is on.
    items: dict[Item, int] = {}
    item_frames: list[int] = []
    pairs: dict[tuple[int, int], tuple[int, ...]] = {}
    of_node: list[tuple[int, ...]] = []
    node_frames: list[int] = []
    depths: list[int] = []
    for parent, frame in tree.nodes():
        caller = ROOT if parent == ROOT else node_frames[parent]
        node_frames.append(frame)
        depths.append(0 if parent == ROOT else depths[parent] + 1)
        numbers = pairs.get((caller, frame))
        if numbers is None:
            new = items_of(frames, ids, None if caller == ROOT else caller, frame)
            numbers = pairs[caller, frame] = tuple(items.setdefault(item, len(items)) for item in new)
            item_frames += [frame] * (len(items) - len(item_frames))
        of_node.append(numbers)
    amounts = _walk(tree, depths, of_node, below, len(items))
    return {item: (item_frames[index], amounts[index]) for item, index in items.items()}


def _walk(
    tree: Tree, depths: Sequence[int], of_node: Sequence[tuple[int, ...]], below: Sequence[int], items: int
) -> list[int]:
    """The amount of each item: of the topmost stack of each path that has it."""
    first, following = [ROOT] * len(depths), [ROOT] * len(depths)
    top = ROOT
    for node, (parent, _) in enumerate(tree.nodes()):
        if parent == ROOT:
            following[node], top = top, node
        else:
            following[node], first[parent] = first[parent], node
    amounts, on_path = [0] * items, bytearray(items)
    added: list[list[int]] = []
    todo = [top] if top != ROOT else []
    while todo:
        node = todo.pop()
        if following[node] != ROOT:
            todo.append(following[node])
        while len(added) > depths[node]:
            for item in added.pop():
                on_path[item] = 0
        amount = below[node]
        if not amount:
            continue
        new = []
        for item in of_node[node]:
            if not on_path[item]:
                on_path[item] = 1
                amounts[item] += amount
                new.append(item)
        added.append(new)
        if first[node] != ROOT:
            todo.append(first[node])
    return amounts


def items_of(frames: Sequence[Frame], ids: Sequence[str], caller: int | None, frame: int) -> list[Item]:
    """A text for the function, a pair for the line, four for the call site, three for the callee."""
    _, file, line, _ = frames[frame]
    items: list[Item] = [ids[frame]]
    if line is not None and line > 0:
        items.append((file, line))
    if caller is not None:
        caller_file, caller_line = frames[caller][1], frames[caller][2] or 0
        items.append((caller_file, caller_line, ids[caller], ids[frame]))
        items.append((ids[caller], caller_line, ids[frame]))
    return items


def add_inclusive(counts: Counts, frame: Frame, item: Item, amount: int) -> None:
    """Count an item of a frame."""
    name, file, _, first = frame
    if isinstance(item, str):
        function = counts.functions.get(item)
        if function is None:
            function = counts.functions[item] = FunctionCounts(name, file, first or 0, kind_of(name, file))
        function.inclusive += amount
    elif len(item) == 2:
        counts.lines.setdefault(item, [0, 0])[0] += amount
    elif len(item) == 4:
        counts.call_sites.setdefault(item, [0, 0])[0] += amount
    else:
        counts.callees[item] = counts.callees.get(item, 0) + amount


def _count_innermost(
    tree: Tree,
    frames: Sequence[Frame],
    ids: Sequence[str],
    amounts: Mapping[int, int],
    counts: Counts,
) -> None:
    """The exclusive counts."""
    nodes = list(tree.nodes())
    for node, amount in amounts.items():
        if node == ROOT or not amount:
            continue
        parent, frame = nodes[node]
        add_exclusive(counts, frames, ids, None if parent == ROOT else nodes[parent][1], frame, amount)


def add_exclusive(
    counts: Counts, frames: Sequence[Frame], ids: Sequence[str], caller: int | None, frame: int, amount: int
) -> None:
    """Count an innermost frame, whose items are there."""
    _, file, line, _ = frames[frame]
    counts.functions[ids[frame]].exclusive += amount
    counts.files[file] = counts.files.get(file, 0) + amount
    if line is not None and line > 0:
        counts.lines[(file, line)][1] += amount
    if caller is not None:
        site = (frames[caller][1], frames[caller][2] or 0, ids[caller], ids[frame])
        counts.call_sites[site][1] += amount
