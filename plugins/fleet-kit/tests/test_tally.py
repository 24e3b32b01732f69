"""Counts of ordered trees are those of a walk over one tree, in whatever order its stacks stand."""

from __future__ import annotations

import random
import tracemalloc
from array import array
from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING

import numpy as np
import pytest
from perfcore_fleet_kit import stack_order
from perfcore_fleet_kit.counting import Counts, Frame, count
from perfcore_fleet_kit.stack_tree import ROOT, StackSet, StackTree
from perfcore_fleet_kit.tally import Tally, count_tree
from perfcore_fleet_kit.union import TreeColumns, Union

from perfcore.errors import FormatError

if TYPE_CHECKING:
    from perfcore_fleet_kit.stack_order import Numbers

Amounts = dict[int, int]
FILES = ("a.pl", "b.pl", "xs:Native.pm", "qeval:s/(eval 1)", "qeval:s/(eval 2)", "qeval:s/(eval 3)")
RESOLVED = {FILES[3]: "eval:same", FILES[4]: "eval:same"}


def made(numbers: random.Random, depth: int = 12, stacks: int = 80) -> tuple[TreeColumns, Amounts]:
    """A tree with much recursion, code that is resolved to the same file, and native frames; some of its stacks have no
    samples. It is in the order of first use, or in preorder."""
    tree, in_preorder = StackTree(), StackSet()
    amounts: Amounts = {ROOT: 3}
    of_set: Amounts = {in_preorder.stack(()): 3}
    for _ in range(stacks):
        frames = []
        for _ in range(numbers.randint(1, depth)):
            file = numbers.choice(FILES)
            line = None if file.startswith("xs:") else numbers.choice((2, 3, -1))
            first = numbers.choice((None, 1, 2)) if line else None
            frames.append(tree.frame(numbers.choice("fgh"), file, line, first))
        node, stack, samples = tree.stack(frames), in_preorder.stack(frames), numbers.choice((0, 1, 500))
        amounts[node] = amounts.get(node, 0) + samples
        of_set[stack] = of_set.get(stack, 0) + samples
    if numbers.random() < 0.5:
        return TreeColumns.of(tree.tables()), amounts
    in_preorder.numbers = tree.numbers
    tables, nodes = in_preorder.tree()
    return TreeColumns.of(tables), {nodes[stack]: samples for stack, samples in of_set.items()}


def resolve(file: str) -> str:
    return RESOLVED.get(file, file)


def walked(trees: Iterable[tuple[TreeColumns, Amounts]], resolve: Callable[[str], str] = resolve) -> Counts:
    union = Union(resolve)
    for tree, amounts in trees:
        union.add(tree, [(amounts, 0)])
    return count(union.tree, union.samples)


def arrays(amounts: Amounts) -> tuple[Numbers, Numbers]:
    return np.array(list(amounts), np.int64), np.array(list(amounts.values()), np.int64)


def tallied(
    trees: Iterable[tuple[TreeColumns, Amounts]],
    resolve: Callable[[str], str] = resolve,
    items: Collection[str] = stack_order.ITEMS,
) -> Counts:
    sums = Tally(resolve, items=items)
    for tree, amounts in trees:
        sums.add(tree, *arrays(amounts))
    return sums.counts()


@pytest.mark.parametrize("seed", range(30))
def test_counts_are_those_of_a_walk(seed: int) -> None:
    numbers = random.Random(seed)
    trees = [made(numbers) for _ in range(3)]
    assert tallied(trees) == walked(trees)


@pytest.mark.parametrize("item", [*stack_order.ITEMS, "file"])
def test_what_is_not_asked_for_is_not_counted(item: str) -> None:
    numbers = random.Random(item)
    trees = [made(numbers) for _ in range(3)]
    everything, counts = tallied(trees), tallied(trees, items=(item,))
    sums = {"function": "functions", "line": "lines", "call-site": "call_sites", "callee": "callees"}
    for name, of_counts in sums.items():
        assert getattr(counts, of_counts) == (getattr(everything, of_counts) if name == item else {})
    assert (counts.total, counts.files) == (everything.total, everything.files)


def test_a_tree_that_is_too_deep_is_walked() -> None:
    numbers = random.Random(1)
    tree = StackTree()
    frame = [tree.frame("f", "a.pl", line, 1) for line in (2, 3)]
    chain = tree.stack(frame[number % 2] for number in range(stack_order.MAX_DEPTH + 2))
    deep = (TreeColumns.of(tree.tables()), {chain: 5, 7: 1})
    assert stack_order.order(deep[0].parents, deep[0].node_frames) is None
    trees = [deep, made(numbers)]
    assert tallied(trees) == walked(trees)


@pytest.mark.parametrize("seed", range(20))
def test_a_set_is_the_tree_of_its_stacks_in_preorder(seed: int) -> None:
    numbers = random.Random(seed)
    stacks, tree = StackSet(), StackTree()
    frames = [stacks.numbers.frame(name, "a.pl", 2, 1) for name in "abcd"]
    assert [tree.frame(name, "a.pl", 2, 1) for name in "abcd"] == frames
    drawn = [[numbers.choice(frames) for _ in range(numbers.randint(0, 6))] for _ in range(60)]
    places = [stacks.stack(stack) for stack in drawn]
    assert places == [stacks.stack(stack) for stack in drawn]
    assert stacks.size == sum(map(len, {tuple(stack) for stack in drawn}))
    tables, nodes = stacks.tree()
    columns = TreeColumns.of(tables)
    for stack, place in zip(drawn, places, strict=True):
        node, path = nodes[place], list[int]()
        while node != ROOT:
            path.append(columns.node_frames[node])
            node = columns.parents[node]
        assert path[::-1] == stack
        tree.stack(stack)
    assert len(columns.parents) == len(tree)
    order = stack_order.order(columns.parents, columns.node_frames)
    assert order is not None
    assert order.places.tolist() == list(range(len(tree)))


def test_code_that_arrives_later_changes_what_is_topmost() -> None:
    trees = [made(random.Random(3))]
    for known in (str, resolve, str):
        assert tallied(trees, known) == walked(trees, known)


@pytest.mark.parametrize("stack", [-2, 1, 1 << 40])
def test_a_stack_that_is_not_there_is_refused(stack: int) -> None:
    tree = StackTree()
    tree.stack([tree.frame("f", "a", 1, 1)])
    columns = TreeColumns.of(tree.tables())
    with pytest.raises(FormatError, match="not there"):
        Tally(resolve).add(columns, *arrays({stack: 1}))


def test_more_samples_than_can_be_counted_are_refused() -> None:
    tree = StackTree()
    tree.stack([tree.frame("f", "a", 1, 1)])
    columns = TreeColumns.of(tree.tables())
    with pytest.raises(FormatError, match="more samples"):
        Tally(resolve).add(columns, *arrays({0: 1 << 62, ROOT: 1 << 62}))


@pytest.mark.parametrize("scale", [1, 1 << 50])
@pytest.mark.parametrize("seed", range(3))
def test_one_large_tree_is_counted_as_by_a_walk(seed: int, scale: int) -> None:
    """Also where the amounts are beyond what floats hold exactly."""
    columns, amounts = made(random.Random(seed), depth=20, stacks=5_000)
    union = Union(resolve)
    union.add(columns, [({node: amount * scale for node, amount in amounts.items()}, 0)])
    assert len(list(union.tree.nodes())) > 20_000

    def placed(frame: Frame) -> Frame:
        name, file, line, first = frame
        return (name, "page.tt", 7, first) if file == "eval:same" and line == 3 else frame

    for at in (None, placed):
        counts = count_tree(union.tree, union.samples, at)
        assert counts == count(union.tree, union.samples, at)
        assert counts.total == scale * sum(amounts.values())


def test_a_large_tree_without_samples_counts_nothing() -> None:
    columns, _ = made(random.Random(1), depth=20, stacks=5_000)
    union = Union(resolve)
    union.add(columns, [(dict.fromkeys(range(len(columns.parents)), 0), 0)])
    assert count_tree(union.tree, {}) == Counts()


def test_stacks_are_added_to_a_tree_in_a_few_bytes_each() -> None:
    """Beside those of the tree, which has them already."""
    size = 20_000
    tree = TreeColumns([("f", "a.py", 1)], [(0, 1)], array("q", range(-1, size - 1)), array("q", [0]) * size)
    union = Union(resolve)
    union.add(tree, [({size - 1: 1}, 1)])
    tracemalloc.start()
    try:
        union.add(tree, [({size - 1: 2, -1: 3}, 1)])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert union.samples == {size - 1: 3, -1: 3}
    assert peak < 20 * size
