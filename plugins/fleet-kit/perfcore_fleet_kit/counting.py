"""Counts of functions, files, lines, call sites and callees, each once per sample.

What a stack has in common with its caller is counted with the caller: a walk over the tree, from the outermost frames
in, counts an item at the topmost stack of a path that has it, with the samples of everything below.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs

from perfcore_fleet_kit.stack_tree import ROOT, StackTree

Line = tuple[str, int]
_Item = str | Line | tuple[str, int, str, str] | tuple[str, int, str]
CallSite = tuple[str, int, str, str]
"""The caller's file and line, caller, callee."""


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


def count(tree: StackTree, amounts: Mapping[int, int]) -> Counts:
    """The counts of these amounts by stack."""
    frames = tree.frames()
    ids = [function_id(name, file, first) for name, file, _, first in frames]
    counts = Counts(total=sum(amounts.values()))
    parents = [parent for parent, _ in tree.nodes()]
    below = [0] * len(parents)
    for node, amount in amounts.items():
        if node != ROOT:
            below[node] = amount
    for node in range(len(parents) - 1, -1, -1):  # children come behind their parents
        if parents[node] != ROOT:
            below[parents[node]] += below[node]
    _walk(tree, frames, ids, below, counts)
    _count_innermost(tree, frames, ids, amounts, counts)
    return counts


def _walk(
    tree: StackTree,
    frames: Sequence[tuple[str, str, int | None, int | None]],
    ids: Sequence[str],
    below: Sequence[int],
    counts: Counts,
) -> None:
    """The inclusive counts."""
    # Items are numbered by kind, so that a path is a set of integers; `above` holds those of each path in use.
    children: dict[int, list[int]] = {}
    node_frames = []
    for node, (parent, frame) in enumerate(tree.nodes()):
        children.setdefault(parent, []).append(node)
        node_frames.append(frame)
    path: list[int] = []  # frames from the outermost one in
    on_path: set[_Item] = set()
    added: list[list[_Item]] = []
    todo = [(node, 0) for node in reversed(children.get(ROOT, ()))]
    while todo:
        node, depth = todo.pop()
        while len(path) > depth:
            path.pop()
            on_path.difference_update(added.pop())
        amount = below[node]
        if not amount:
            continue
        frame = node_frames[node]
        new: list[_Item] = []
        for item in _items(frames, ids, path[-1] if path else None, frame):
            if item not in on_path:
                new.append(item)
                _add(counts, frames[frame], item, amount)
        on_path.update(new)
        added.append(new)
        path.append(frame)
        todo += [(child, depth + 1) for child in reversed(children.get(node, ()))]


def _items(
    frames: Sequence[tuple[str, str, int | None, int | None]], ids: Sequence[str], caller: int | None, frame: int
) -> list[_Item]:
    """A text for the function, a pair for the line, four for the call site, three for the callee."""
    _, file, line, _ = frames[frame]
    items: list[_Item] = [ids[frame]]
    if line is not None and line > 0:
        items.append((file, line))
    if caller is not None:
        caller_file, caller_line = frames[caller][1], frames[caller][2] or 0
        items.append((caller_file, caller_line, ids[caller], ids[frame]))
        items.append((ids[caller], caller_line, ids[frame]))
    return items


def _add(counts: Counts, frame: tuple[str, str, int | None, int | None], item: _Item, amount: int) -> None:
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
    tree: StackTree,
    frames: Sequence[tuple[str, str, int | None, int | None]],
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
        _, file, line, _ = frames[frame]
        counts.functions[ids[frame]].exclusive += amount
        counts.files[file] = counts.files.get(file, 0) + amount
        if line is not None and line > 0:
            counts.lines[(file, line)][1] += amount
        if parent != ROOT:
            caller = nodes[parent][1]
            site = (frames[caller][1], frames[caller][2] or 0, ids[caller], ids[frame])
            counts.call_sites[site][1] += amount
