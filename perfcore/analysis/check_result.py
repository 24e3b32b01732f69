"""The result of a check with the data of its reports: verdicts, accepted changes, and rules that fail the build."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict, force_setattr

from perfcore.analysis import change_json
from perfcore.analysis.fail_on import DEFAULT, EMPTY_CHECK, INCONCLUSIVE, NOT_COMPARED, REGRESSED, FailRule
from perfcore.model import EMPTY
from perfcore.model.record import Record
from perfcore.text import percent

if TYPE_CHECKING:
    from perfcore.model import Change, Unpaired
    from perfcore.model.decisions import Decision, Standing

SCHEMA = 1


class CheckResult(Record, frozen=True, kw_only=True):
    """The changes of a check in the order of their report. `decisions` are those of people on them, by the id of the
    change, and `accepted` those by which one fails no build; `rules` say what fails it. `conclusion` says in a line
    what was looked at and found, `compared` how many comparisons or series that were, and `metrics` and `benchmarks` of
    what. `versions` has full ids by their first ten characters."""

    changes: tuple[Change, ...] = ()
    unpaired: tuple[Unpaired, ...] = ()
    accepted: Mapping[str, Decision] = EMPTY
    rules: tuple[FailRule, ...] = DEFAULT
    conclusion: str = ""
    compared: int = -1  # as many as there are changes of primary metrics
    metrics: frozenset[str] = frozenset()
    benchmarks: frozenset[str] = frozenset()
    versions: Mapping[str, str] = EMPTY
    decisions: Mapping[str, Standing] = EMPTY

    def __post_init__(self) -> None:
        if self.compared < 0:
            force_setattr(self, "compared", sum(change.primary for change in self.changes))

    def fails(self, change: Change) -> bool:
        """Whether this change fails the build: one that was accepted never does, nor one that was taken back."""
        stands = change.id not in self.accepted and not change.undone
        return stands and any(rule.fits(change) for rule in self.rules)

    @property
    def failing(self) -> tuple[Change, ...]:
        return tuple(filter(self.fails, self.changes))

    @property
    def degraded(self) -> bool:
        """Whether the exit code is 1."""
        return any(change.kind not in ("cannot tell", "machine") for change in self.failing)

    @property
    def requires_all(self) -> bool:
        """Whether the build fails where something could not be compared."""
        required = (FailRule("cannot-tell"), FailRule("not-compared"), *(() if self.compared else (EMPTY_CHECK,)))
        return any(rule in self.rules for rule in required)

    @property
    def inconclusive(self) -> bool:
        """Whether a verdict that the rules require is inconclusive, or was not compared at all."""
        doubted = FailRule("cannot-tell") in self.rules and self.incomplete  # no comparison is doubt, too
        return doubted or any(change.kind in ("cannot tell", "machine") for change in self.failing)

    @property
    def incomplete(self) -> bool:
        """Whether something could not be compared, or nothing was."""
        return bool(self.unpaired or not self.compared)

    @property
    def unmatched_metrics(self) -> tuple[str, ...]:
        """The metrics that rules name and no compared profile has; empty where nothing was compared."""
        named = (rule.metric for rule in self.rules if rule.metric)
        return tuple(metric for metric in named if self.metrics and metric not in self.metrics)

    @property
    def exit_code(self) -> int:
        """1 for a change for the worse and for nothing else."""
        if self.degraded:
            return REGRESSED
        gap = FailRule("not-compared") in self.rules and self.incomplete
        if gap or (EMPTY_CHECK in self.rules and not self.compared):
            return NOT_COMPARED
        return INCONCLUSIVE if self.inconclusive else 0

    def _repr_html_(self) -> str:
        """The changes as a table for notebooks."""
        from perfcore.html_table import html_table

        head = ("command", "metric", "verdict", "change", "versions", "build")
        return html_table(head, map(self._cells, self.changes), len(self.changes))

    def _cells(self, change: Change) -> tuple[str, ...]:
        size = "" if change.ratio is None else percent(change.ratio)
        build = "fails" if self.fails(change) else "accepted" if change.id in self.accepted else ""
        return change.label, change.metric, change.kind, size, f"{change.baseline}..{change.target}", build

    def as_json(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "degraded": self.degraded,
            "compared": self.compared,
            "fail_on": [str(rule) for rule in self.rules],
            "changes": [self._change_json(change) for change in self.changes],
            "unpaired": [asdict(missing) for missing in self.unpaired],
        }

    def _change_json(self, change: Change) -> dict[str, Any]:
        note = self.accepted.get(change.id)
        accepted = None if note is None else {"author": note.author, "why": note.why, "time": note.time}
        values = change_json.as_json(change, self.versions)
        return {**values, "accepted": accepted, "decision": self._decision(change), "fails": self.fails(change)}

    def _decision(self, change: Change) -> dict[str, Any] | None:
        if (standing := self.decisions.get(change.id)) is None:
            return None
        fields = ("state", "author", "why", "time", "fixed_in", "until_date", "until_version", "limit")
        return {**{name: getattr(standing.decision, name) for name in fields}, "reopened": standing.reopened}
