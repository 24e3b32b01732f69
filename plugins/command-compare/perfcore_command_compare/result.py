"""The result of a comparison of two programs."""

from __future__ import annotations

from typing import Any, Literal

import attrs

from perfcore.analysis import change_json, verdict_text
from perfcore.model import Change, Unpaired
from perfcore.text import percent, printable, quantity

SCHEMA = 1
COLUMNS = ("", "metric", "A", "B", "change", "interval")

Reason = Literal["decided", "hopeless", "pairs", "budget"]


@attrs.frozen(kw_only=True)
class Side:
    """One of the two programs: the name that the user gave it, its command, and its version."""

    name: str
    command: str
    version: str | None = None
    dirty: bool = False


@attrs.frozen(kw_only=True)
class ComparisonResult:
    """The first of `changes` is that of the metric that decides, and of a suite the worst; `unpaired` are benchmarks of
    one side alone. There are no changes if both sides are `identical`,
    and nothing was measured. `seconds` is None for stored runs. `stopped` says why no more pairs were measured."""

    sides: tuple[Side, Side]
    changes: tuple[Change, ...] = ()
    threshold: float = 0.0
    pairs: int = 0
    looks: int = 0
    seconds: float | None = None
    stopped: Reason | None = None
    identical: bool = False
    unpaired: tuple[Unpaired, ...] = ()

    @property
    def is_suite(self) -> bool:
        """Whether each of several benchmarks was decided."""
        return bool(self.changes and self.changes[0].resource)

    @property
    def kind(self) -> str:
        """`degradation`, `optimization`, `same` or `cannot tell`."""
        return self.changes[0].kind if self.changes else "same" if self.identical else "cannot tell"

    def _repr_html_(self) -> str:
        """The changes as a table for notebooks, below the names of both sides."""
        from perfcore.html_table import html_table

        sides = html_table(("", "program"), zip("AB", map(title, self.sides), strict=True))
        return sides + html_table(COLUMNS, map(cells, self.changes), len(self.changes))

    def _answer(self) -> str:
        if not self.changes:
            return self.kind if self.identical else "inconclusive"
        return verdict_text.word(self.changes[0])

    def as_json(self) -> dict[str, Any]:
        """The form of `docs/schemas/compare.json`."""
        first = self.changes[0] if self.changes else None
        versions = change_json.by_beginning(side.version for side in self.sides)
        return {
            "schema": SCHEMA,
            "answer": self._answer(),
            "kind": self.kind.replace(" ", "-"),
            "identical": self.identical,
            "metric": first.metric if first else None,
            "threshold": self.threshold,
            "pairs": self.pairs,
            "looks": self.looks,
            "seconds": self.seconds,
            "stopped": self.stopped,
            "needed": first.needed if first else None,
            "sides": [attrs.asdict(side) for side in self.sides],
            "changes": [change_json.as_json(change, versions) for change in self.changes],
            "unpaired": [{"benchmark": part.benchmark, "side": part.side} for part in self.unpaired],
        }


def interval(change: Change) -> str:
    """`+5.8 % (+5.1 % to +6.3 %)`; shorter without bounds, empty without a ratio."""
    if change.ratio is None:
        return ""
    if change.low is None or change.high is None:
        return percent(change.ratio)
    return f"{percent(change.ratio)} ({percent(change.low)} to {percent(change.high)})"


def title(side: Side) -> str:
    """A program in one line."""
    return f"{printable(side.name)}: {printable(side.command)}" if side.name != side.command else printable(side.name)


def cells(change: Change) -> tuple[str, ...]:
    """The row of a metric, a text for each of `COLUMNS`."""
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
