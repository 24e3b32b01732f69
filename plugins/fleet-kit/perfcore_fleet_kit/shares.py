"""Which functions take another share of the samples in another release, and how sure that is.

Samples of one process are not independent, so they are no replicates. The cells are: the samples of one host in one
box. The share of a function is the ratio of two sums over the cells, p = sum(x) / sum(n), and its variance is that of a
ratio estimator, C / (C - 1) * sum((x - p n)^2) / sum(n)^2 (W. G. Cochran, Sampling Techniques, 1977, chapter 6). The
releases are compared with Student's t and the smaller of both degrees of freedom, which keeps the coverage where few
cells estimate a variance.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Literal

import attrs

from perfcore.store.store import Store
from perfcore_fleet_kit.query import Selected, read_samples
from perfcore_fleet_kit.retention import box_of
from perfcore_fleet_kit.stack_tree import ROOT
from perfcore_fleet_kit.union import TreeColumns

FEWEST_CELLS = 3  # a variance of two cells has one degree of freedom, whose quantiles decide nothing
Verdict = Literal["degradation", "optimization", "shift", "same", "not enough samples"]
Quantile = Callable[[float, int], float]
"""(confidence, degrees of freedom) to the two-sided quantile of Student's t."""


@attrs.define
class Cell:
    """The samples of one host in one box: all, and those with a function innermost."""

    total: int = 0
    exclusive: dict[str, int] = attrs.field(factory=dict)


@attrs.define
class Sample:
    """The cells of a release, and the functions that call each other."""

    cells: dict[tuple[str, int], Cell] = attrs.field(factory=dict)
    neighbours: dict[str, set[str]] = attrs.field(factory=dict)
    problems: list[str] = attrs.field(factory=list)

    @property
    def total(self) -> int:
        return sum(cell.total for cell in self.cells.values())

    def amount(self, function: str) -> int:
        return sum(cell.exclusive.get(function, 0) for cell in self.cells.values())


@attrs.frozen
class Estimate:
    """A share with its standard error, of so many cells."""

    share: float
    error: float
    cells: int


@attrs.frozen
class ShareChange:
    """The shares of a function before and after, the interval of their difference, and the verdict. `moved_to` are the
    neighbours to which, or from which, the cost of a shift went."""

    function: str
    before: float
    after: float
    low: float
    high: float
    verdict: Verdict
    moved_to: tuple[str, ...] = ()


def sample_of(store: Store, selected: Collection[Selected], box: int) -> Sample:
    """The cells of what was selected. A function is its file and name: lines move with every edit."""
    sample = Sample()
    for tree, members in read_samples(store, selected, sample.problems):
        names = [f"{file}:{name}" if file else name for name, file, _ in tree.functions]
        _note_calls(tree, names, sample.neighbours)
        of_node = [tree.frames[frame][0] for frame in tree.node_frames]
        for segment, by_node in members:
            key = (segment.receipt.host, box_of(segment.receipt.end, box))
            cell = sample.cells.setdefault(key, Cell())
            for node, amount in by_node.items():
                cell.total += amount
                if node != ROOT:
                    name = names[of_node[node]]
                    cell.exclusive[name] = cell.exclusive.get(name, 0) + amount
    return sample


def compare(
    before: Sample, after: Sample, quantile: Quantile, *, threshold: float = 0.01, confidence: float = 0.95
) -> list[ShareChange]:
    """The changes of all functions that take more than `threshold` of the samples of a release, or seem to, the largest
    first. `confidence` holds for all of them together (Bonferroni)."""
    candidates = sorted(_candidates(before, threshold) | _candidates(after, threshold))
    segment = 1 - (1 - confidence) / max(1, len(candidates))
    changes = [_change(function, (function,), before, after, quantile, threshold, segment) for function in candidates]
    by_name = {change.function: change for change in changes}
    changes = [_shifted(change, by_name, before, after, quantile, threshold, segment) for change in changes]
    return sorted(changes, key=lambda change: (-abs(change.after - change.before), change.function))


def estimate(sample: Sample, functions: Iterable[str]) -> Estimate:
    """The share of some functions together."""
    names = tuple(functions)
    totals = [cell.total for cell in sample.cells.values()]
    amounts = [sum(cell.exclusive.get(name, 0) for name in names) for cell in sample.cells.values()]
    whole, cells = sum(totals), len(totals)
    if not whole:
        return Estimate(0.0, math.inf, cells)
    share = sum(amounts) / whole
    if cells < FEWEST_CELLS:
        return Estimate(share, math.inf, cells)
    squares = sum((amount - share * total) ** 2 for amount, total in zip(amounts, totals, strict=True))
    error = math.sqrt(cells / (cells - 1) * squares) / whole
    # Where no cell has a sample the cells agree, and prove nothing: one sample more would be 1 / whole.
    return Estimate(share, max(error, 1 / whole), cells)


def _candidates(sample: Sample, threshold: float) -> set[str]:
    functions = {name for cell in sample.cells.values() for name in cell.exclusive}
    return {name for name in functions if sample.amount(name) > threshold * sample.total}


def _change(
    function: str,
    functions: Sequence[str],
    before: Sample,
    after: Sample,
    quantile: Quantile,
    threshold: float,
    confidence: float,
) -> ShareChange:
    old, new = estimate(before, functions), estimate(after, functions)
    difference = new.share - old.share
    freedom = min(old.cells, new.cells) - 1
    half = math.inf
    if math.isfinite(old.error + new.error):
        half = quantile(confidence, freedom) * math.hypot(old.error, new.error)
    low, high = max(-1.0, difference - half), min(1.0, difference + half)
    verdict: Verdict = "not enough samples"
    if low > threshold:
        verdict = "degradation"
    elif high < -threshold:
        verdict = "optimization"
    elif -threshold <= low and high <= threshold:
        verdict = "same"
    return ShareChange(function, old.share, new.share, low, high, verdict)


def _shifted(
    change: ShareChange,
    by_name: Mapping[str, ShareChange],
    before: Sample,
    after: Sample,
    quantile: Quantile,
    threshold: float,
    confidence: float,
) -> ShareChange:
    """A change that neighbours make up for is a shift: the share of all of them together is the same."""
    opposite = {"degradation": "optimization", "optimization": "degradation"}.get(change.verdict)
    if opposite is None:
        return change
    near = before.neighbours.get(change.function, set()) | after.neighbours.get(change.function, set())
    file = change.function.rpartition(":")[0]
    partners = sorted(
        name
        for name, partner in by_name.items()
        if partner.verdict == opposite and (name in near or (file and name.rpartition(":")[0] == file))
    )
    if not partners:
        return change
    together = _change("", (change.function, *partners), before, after, quantile, threshold, confidence)
    if together.verdict != "same":
        return change
    return attrs.evolve(change, verdict="shift", moved_to=tuple(partners))


def _note_calls(tree: TreeColumns, names: Sequence[str], neighbours: dict[str, set[str]]) -> None:
    of_node = [tree.frames[frame][0] for frame in tree.node_frames]
    calls = {(of_node[parent], of_node[node]) for node, parent in enumerate(tree.parents) if parent != ROOT}
    for caller, callee in calls:
        if caller != callee:
            neighbours.setdefault(names[caller], set()).add(names[callee])
            neighbours.setdefault(names[callee], set()).add(names[caller])
