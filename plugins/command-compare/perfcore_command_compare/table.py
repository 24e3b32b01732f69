"""The result of a comparison as a table on the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from perfcore_command_check import companions

from perfcore.analysis import verdict_text
from perfcore.model import Change
from perfcore.text import align, plural, printable, quantity
from perfcore_command_compare import stored_table
from perfcore_command_compare.result import COLUMNS, ComparisonResult, cells, interval, title
from perfcore_command_compare.suites import deciding

_ALWAYS = ("cpu", "wall")  # the metrics that users expect in every table
_CHANGED = ("degradation", "optimization")


def lines(result: ComparisonResult, *, everything: bool, columns: int | None = None) -> list[str]:
    """Both sides, and a table: the metric that decides, CPU and wall time, and others that changed by themselves; of a
    suite what changed, and how many benchmarks did not."""
    text = [f"{letter}  {title(side)}" for letter, side in zip("AB", result.sides, strict=True)]
    if result.is_suite:
        return [*text, "", *_suite(result, everything, columns)]
    visible = result.changes if everything else companions.shown(result.changes, metrics=_ALWAYS)
    selected = [change for index, change in enumerate(result.changes) if index == 0 or change in visible]
    if selected:
        rows = [COLUMNS, *map(cells, selected)]
        text += ["", *align(rows, right=(2, 3, 4))]
    return text


def _suite(result: ComparisonResult, everything: bool, columns: int | None) -> Iterator[str]:
    primary = deciding(result.changes)
    yield from stored_table.section_rows(stored_table.sections_of(primary, everything), (), columns)
    if not everything:
        unchanged, inconclusive = ([c for c in primary if c.kind == kind] for kind in ("same", "cannot tell"))
        yield from stored_table.counts(unchanged, inconclusive, "--verbose", columns)
    yield from stored_table.one_sided(result.unpaired, everything, "--verbose", columns)


def evidence(changes: Sequence[Change]) -> Iterator[str]:
    """The evidence of each verdict."""
    for change in changes:
        if change.evidence:
            name = f"{change.metric} of {change.resource}" if change.resource else change.metric
            yield f"{printable(name)}: {printable(change.evidence)}"


def conclusion(result: ComparisonResult) -> str:
    """One line: the answer, its interval, its cost, and the number of pairs that would decide."""
    if result.identical:
        return "same: both sides run the same command in the same state; nothing was measured"
    if not result.changes:
        return "inconclusive: nothing was measured that could be compared"
    if result.is_suite:
        return _suite_conclusion(result)
    first, cost = result.changes[0], _cost(result)
    size = f"{printable(first.metric)} {interval(first)}".rstrip()
    share = f"{result.threshold * 100:.3g} %"
    if first.kind in _CHANGED:
        return f"B is {verdict_text.word(first)}: {size}; {cost}"
    if first.kind == "same":
        return f"B is the same as A within {share}: {size}; {cost}"
    if result.stopped == "hopeless":
        return f"inconclusive: {printable(first.evidence)}"
    return f"inconclusive whether they differ by more than {share}: {size}; {cost}; {_needed(result, first)}"


def _suite_conclusion(result: ComparisonResult) -> str:
    """How many benchmarks became slower or faster, how many are undecided, and what would decide them."""
    changes = deciding(result.changes)
    words = Counter(verdict_text.word(change) for change in changes if change.kind in _CHANGED)
    undecided = [change for change in changes if change.kind == "cannot tell"]
    parts = [f"B is {word} in {count:,}" for word, count in words.items()]
    parts += [f"{len(undecided):,} inconclusive"] * bool(undecided)
    text = f"{', '.join(parts) or 'B is the same as A in all'} of {plural(len(changes), 'benchmark')}; {_cost(result)}"
    if needed := max((change.needed or 0 for change in undecided), default=0):
        text += f"; about {plural(needed, 'pair')} would decide all"
    return text


def _cost(result: ComparisonResult) -> str:
    pairs = plural(result.pairs, "pair")
    if result.seconds is None:
        return f"{pairs} of stored runs" if result.pairs else "runs that were not interleaved"
    why = {"budget": ", all that the budget allows", "pairs": ", as many as allowed"}.get(result.stopped or "", "")
    return f"{pairs} in {quantity(result.seconds, 's')}{why}"


def _needed(result: ComparisonResult, first: Change) -> str:
    if first.needed is None:
        return "no reasonable number of runs would tell: raise --threshold, or measure on a quieter machine"
    estimate = f"about {plural(first.needed, 'pair')} would tell"
    if result.seconds is None or not result.pairs:
        return estimate
    seconds = first.needed * result.seconds / result.pairs
    if result.stopped == "budget":
        # A fifth more than the estimate, which assumes that pairs go on taking as long as they did.
        return f"{estimate}: --budget {max(1, round(1.2 * seconds))}"
    return f"{estimate}, in about {quantity(seconds, 's', 2)}: --max-pairs {first.needed}"
