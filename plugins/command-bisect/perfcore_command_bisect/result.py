"""The state and the result of a bisection."""

from __future__ import annotations

import math
from typing import Any, Literal

import attrs
import msgspec

from perfcore.model import MinorVersion
from perfcore_command_bisect.journal import Journal
from perfcore_command_bisect.search import Belief, Candidates

SCHEMA = 1

Stopped = Literal["found", "same", "identical", "runs", "time", "stuck"]


@attrs.frozen
class Step:
    """One step of the search: the values of a version, the reason why it is `broken`, or the version whose program is
    identical (`like`). With `more`, the next step is of a version that was measured in the same session."""

    version: MinorVersion
    values: tuple[float, ...] = ()
    broken: str = ""
    like: str = ""
    more: bool = False


@attrs.frozen
class Status:
    """The state of a bisection. `stopped` is the reason why it has ended, None while it goes on."""

    journal: Journal
    belief: Belief
    candidates: Candidates
    threshold: float
    stopped: Stopped | None = None

    @property
    def own_change_is_sure(self) -> bool:
        """Whether the likeliest version surely made a change of its own: the whole interval is on one side of 0. How
        likely it is to be the answer comes from what all versions explain, and may be sure before."""
        _, low, high = self.belief.change
        return low > 0 or high < 0

    @property
    def rises(self) -> bool:
        """Whether the metric became larger, as far as is known."""
        gap = self.belief.gap
        return (self.belief.change[0] if self.own_change_is_sure or gap is None else gap.value) > 0

    @property
    def is_worse(self) -> bool:
        """Whether the change is for the worse, as its direction is understood."""
        return self.rises == (self.journal.better != "higher")


@attrs.frozen
class BisectResult:
    """The end of a bisection. `versions` are the likeliest to have made the change, which no measurement tells apart;
    `found` says whether they are as sure as was asked. With `known` the bisection had ended before."""

    status: Status
    versions: tuple[MinorVersion, ...]
    known: bool = False

    @property
    def found(self) -> bool:
        return self.status.stopped == "found"

    @property
    def stopped(self) -> Stopped | None:
        return self.status.stopped

    @property
    def probability(self) -> float:
        """The probability that one of `versions` made the change."""
        return self.status.candidates.probability

    @property
    def runs(self) -> int:
        return self.status.belief.runs[2]

    def as_json(self) -> dict[str, Any]:
        """The document that `perf bisect --json` prints; docs/schemas/bisect.json describes it."""
        journal, belief = self.status.journal, self.status.belief
        ends = belief.gap
        exact = math.exp if belief.logarithmic else float
        return {
            "schema": SCHEMA,
            "stopped": self.stopped,
            "found": [version._asdict() for version in self.versions] if self.found else [],
            "ends_from": journal.ends_from or None,
            "probability": self.probability,
            "no_change": belief.nothing,
            "command": journal.command.job.label,
            "argv": list(journal.command.argv),
            "collector": journal.command.collector,
            "metric": journal.metric,
            "function": journal.function or None,
            "unit": journal.unit,
            "change": {"as": "ratio" if belief.logarithmic else "difference"}
            | dict(zip(("value", "low", "high"), map(exact, belief.change), strict=True)),
            "ends": ends and {"value": exact(ends.value), "low": exact(ends.low), "high": exact(ends.high)},
            "threshold": self.status.threshold,
            "runs": self.runs,
            "versions": [
                {"id": version, "probability": probability, "broken": journal.broken.get(version)}
                for version, probability in zip(journal.versions, belief.probabilities, strict=True)
            ],
            "readings": [msgspec.to_builtins(reading) for reading in journal.readings],
        }
