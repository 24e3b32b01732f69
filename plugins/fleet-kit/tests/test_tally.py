"""Counts of ordered trees are those of a walk over one tree, whatever the cache holds."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from perfcore_fleet_kit import stack_order, tally
from perfcore_fleet_kit.counting import Counts, count
from perfcore_fleet_kit.stack_tree import ROOT, StackTree
from perfcore_fleet_kit.tally import Tally
from perfcore_fleet_kit.union import TreeColumns, Union

from perfcore.errors import FormatError

if TYPE_CHECKING:
    from perfcore_fleet_kit.stack_order import Numbers

Amounts = dict[int, int]
FILES = ("a.pl", "b.pl", "xs:Native.pm", "qeval:s/(eval 1)", "qeval:s/(eval 2)", "qeval:s/(eval 3)")
RESOLVED = {FILES[3]: "eval:same", FILES[4]: "eval:same"}


def made(numbers: random.Random, depth: int = 12, stacks: int = 80) -> tuple[TreeColumns, Amounts]:
    """A tree with much recursion, code that is resolved to the same file, and native frames."""
    tree = StackTree()
    amounts: Amounts = {ROOT: 3}
    for _ in range(stacks):
        frames = []
        for _ in range(numbers.randint(1, depth)):
            file = numbers.choice(FILES)
            line = None if file.startswith("xs:") else numbers.choice((2, 3, -1))
            first = numbers.choice((None, 1, 2)) if line else None
            frames.append(tree.frame(numbers.choice("fgh"), file, line, first))
        node = tree.stack(frames)
        amounts[node] = amounts.get(node, 0) + numbers.choice((0, 1, 500))
    return TreeColumns.of(tree.tables()), amounts


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
    cache: Path | None = None,
    resolve: Callable[[str], str] = resolve,
) -> Counts:
    sums = Tally(resolve, cache)
    for number, (tree, amounts) in enumerate(trees):
        sums.add(f"{number}", lambda tree=tree: tree, *arrays(amounts))  # type: ignore[misc]
    return sums.counts()


@pytest.mark.parametrize("seed", range(30))
def test_counts_are_those_of_a_walk(seed: int) -> None:
    numbers = random.Random(seed)
    trees = [made(numbers) for _ in range(3)]
    assert tallied(trees) == walked(trees)


def test_a_tree_that_is_too_deep_is_walked() -> None:
    numbers = random.Random(1)
    tree = StackTree()
    frame = [tree.frame("f", "a.pl", line, 1) for line in (2, 3)]
    chain = tree.stack(frame[number % 2] for number in range(stack_order.MAX_DEPTH + 2))
    deep = (TreeColumns.of(tree.tables()), {chain: 5, 7: 1})
    assert stack_order.order(deep[0].parents, deep[0].node_frames) is None
    trees = [deep, made(numbers)]
    assert tallied(trees) == walked(trees)


def test_a_cache_is_used_and_may_be_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tally, "_FEWEST", 0)
    trees = [made(random.Random(2))]
    assert tallied(trees, tmp_path) == walked(trees)
    path = tmp_path / "0"
    whole = path.read_bytes()

    def unread() -> TreeColumns:
        raise AssertionError("the tree is read although it is in the cache")

    sums = Tally(resolve, tmp_path)
    sums.add("0", unread, *arrays(trees[0][1]))
    assert sums.counts() == walked(trees)
    for data in (b"", whole[:-1], whole[:100] + b"x" + whole[101:]):
        path.write_bytes(data)
        assert tallied(trees, tmp_path) == walked(trees)
        assert path.read_bytes() == whole


def test_code_that_arrives_later_changes_what_is_topmost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tally, "_FEWEST", 0)
    trees = [made(random.Random(3))]
    for known in (str, resolve, str):
        assert tallied(trees, tmp_path, known) == walked(trees, known)


def test_the_cache_keeps_its_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tally, "_FEWEST", 0)
    monkeypatch.setattr(tally, "_CACHE", 40_000)
    tallied((made(random.Random(seed)) for seed in range(20)), tmp_path)
    assert 0 < sum(path.stat().st_size for path in tmp_path.iterdir()) <= 40_000


@pytest.mark.parametrize("stack", [-2, 1, 1 << 40])
def test_a_stack_that_is_not_there_is_refused(stack: int) -> None:
    tree = StackTree()
    tree.stack([tree.frame("f", "a", 1, 1)])
    columns = TreeColumns.of(tree.tables())
    with pytest.raises(FormatError, match="not there"):
        Tally(resolve).add("", lambda: columns, *arrays({stack: 1}))


def test_more_samples_than_can_be_counted_are_refused() -> None:
    tree = StackTree()
    tree.stack([tree.frame("f", "a", 1, 1)])
    columns = TreeColumns.of(tree.tables())
    with pytest.raises(FormatError, match="more samples"):
        Tally(resolve).add("", lambda: columns, *arrays({0: 1 << 62, ROOT: 1 << 62}))
