"""The answer of a comparison as a table for people and as JSON for machines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import attrs

from perfcore.analysis import verdict_text
from perfcore.measure.comparison.batches import Reason
from perfcore.model import Change
from perfcore.text import align, percent, plural, printable, quantity

SCHEMA = 1
_ALWAYS = ("cpu", "wall")
_CHANGED = ("degradation", "optimization")


@attrs.frozen(kw_only=True)
class Side:
    """One of the two: what the user called it, and what ran."""

    name: str
    command: str
    version: str | None = None
    dirty: bool = False


@attrs.frozen(kw_only=True)
class Answer:
    """What a comparison found. The first of `changes` is the one that decides; there is none where both sides are
    `identical` and nothing was measured. `seconds` is None where nothing was measured either: the runs were there."""

    sides: tuple[Side, Side]
    changes: tuple[Change, ...] = ()
    threshold: float = 0.0
    pairs: int = 0
    looks: int = 0
    seconds: float | None = None
    stopped: Reason | None = None
    identical: bool = False

    @property
    def kind(self) -> str:
        return self.changes[0].kind if self.changes else "same" if self.identical else "cannot tell"


def as_json(answer: Answer) -> dict[str, Any]:
    first = answer.changes[0] if answer.changes else None
    return {
        "schema": SCHEMA,
        "answer": verdict_text.word(first) if first else answer.kind,
        "kind": answer.kind,
        "identical": answer.identical,
        "metric": first.metric if first else None,
        "threshold": answer.threshold,
        "pairs": answer.pairs,
        "looks": answer.looks,
        "seconds": answer.seconds,
        "stopped": answer.stopped,
        "needed": first.needed if first else None,
        "sides": [attrs.asdict(side) for side in answer.sides],
        "changes": [attrs.asdict(change) for change in answer.changes],
    }


def lines(answer: Answer, *, everything: bool) -> list[str]:
    """The two sides, and a table: the metric that decides, CPU and wall time, and the others that changed."""
    text = [f"{letter}  {_title(side)}" for letter, side in zip("AB", answer.sides, strict=True)]
    shown = [
        change
        for number, change in enumerate(answer.changes)
        if everything or number == 0 or change.metric in _ALWAYS or change.kind in _CHANGED
    ]
    if shown:
        rows = [("", "metric", "A", "B", "change", "interval"), *map(_row, shown)]
        text += ["", *align(rows, right=(2, 3, 4))]
    return text


def evidence(changes: Sequence[Change]) -> Iterator[str]:
    """What each verdict rests on."""
    return (f"{printable(change.metric)}: {printable(change.evidence)}" for change in changes if change.evidence)


def conclusion(answer: Answer) -> str:
    """One line: the answer, how sure it is, what it took, and what would give a better one."""
    if answer.identical:
        return "same: one program, one input and one environment on both sides; nothing was measured"
    if not answer.changes:
        return "cannot tell: nothing was measured that could be compared"
    first, taken = answer.changes[0], _taken(answer)
    size = f"{printable(first.metric)} {interval(first)}".rstrip()
    share = f"{answer.threshold * 100:.3g} %"
    if first.kind in _CHANGED:
        return f"B is {verdict_text.word(first)}: {size}; {taken}"
    if first.kind == "same":
        return f"B is the same as A within {share}: {size}; {taken}"
    if answer.stopped == "hopeless":
        return f"cannot tell: {printable(first.evidence)}"
    return f"cannot tell whether they differ by more than {share}: {size}; {taken}; {_needed(answer, first)}"


def interval(change: Change) -> str:
    """`+5.8 % (+5.1 % to +6.3 %)`, as far as it is known."""
    if change.ratio is None:
        return ""
    if change.low is None or change.high is None:
        return percent(change.ratio)
    return f"{percent(change.ratio)} ({percent(change.low)} to {percent(change.high)})"


def _taken(answer: Answer) -> str:
    pairs = plural(answer.pairs, "pair")
    if answer.seconds is None:
        return f"{pairs} of runs that were there" if answer.pairs else "runs that were not taken in turn"
    why = {"budget": ", all that the budget allows", "pairs": ", as many as allowed"}.get(answer.stopped or "", "")
    return f"{pairs} in {quantity(answer.seconds, 's')}{why}"


def _needed(answer: Answer, first: Change) -> str:
    if first.needed is None:
        return "no reasonable number of runs would tell: raise --threshold, or measure on a quieter machine"
    text = f"about {plural(first.needed, 'pair')} would tell"
    if answer.seconds is None or not answer.pairs:
        return text
    seconds = first.needed * answer.seconds / answer.pairs
    if answer.stopped == "budget":
        return f"{text}: --budget {max(1, round(1.2 * seconds))}"
    return f"{text}, in about {quantity(seconds, 's', 2)}: --max-pairs {first.needed}"


def _title(side: Side) -> str:
    return f"{printable(side.name)}: {printable(side.command)}" if side.name != side.command else printable(side.name)


def _row(change: Change) -> tuple[str, ...]:
    bounds = ""
    if change.low is not None and change.high is not None:
        bounds = f"{percent(change.low)} to {percent(change.high)}"
    return (
        verdict_text.word(change),
        printable(change.metric),
        quantity(change.baseline_value, change.unit),
        quantity(change.target_value, change.unit),
        percent(change.ratio) if change.ratio is not None else "-",
        bounds,
    )
