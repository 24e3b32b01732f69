"""Two versions compared by all that is stored of both: the engine of `perf compare A B` without a command.

The comparisons are those of `perf check A B`; this module orders them by their effect and counts the others.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs
from perfcore_check_kit import checks
from perfcore_check_kit.checks import CheckOptions
from perfcore_check_kit.fail_rules import parse_rules
from perfcore_check_kit.target import VersionPair
from perfcore_command_check import selection
from perfcore_command_kit import report_text

from perfcore.analysis import verdict_text
from perfcore.analysis.check_result import CheckResult
from perfcore.analysis.fail_on import EMPTY_CHECK, FailRule
from perfcore.errors import UsageError, nearest
from perfcore.model import EMPTY, Change, Unpaired
from perfcore.model.listener import Listener
from perfcore.model.record import replace
from perfcore.repository.repository import Repository
from perfcore.text import brief

SCHEMA = 1
UNCHANGED, INCONCLUSIVE = "same", "cannot tell"
# Of histories and contracts, which two versions do not have.
_NOT_OF_PAIRS = ("earliest", "latest", "undone", "until", "pace", "contract")


@attrs.frozen(kw_only=True)
class StoredSide:
    """A version by the name that the user gave and by its full id, with the number of its registered profiles."""

    name: str
    version: str
    profiles: int

    @property
    def title(self) -> str:
        short = self.version[:10]
        return short if self.version.startswith(self.name) else f"{self.name} ({short})"


@attrs.frozen(kw_only=True)
class StoredComparison:
    """Everything that differs between two versions. `outcome` is the result of the check, with all metrics."""

    sides: tuple[StoredSide, StoredSide]
    outcome: CheckResult

    @property
    def changed(self) -> tuple[Change, ...]:
        """The changes of primary metrics, the largest first."""
        return tuple(c for c in self._primary() if c.kind not in (UNCHANGED, INCONCLUSIVE))

    @property
    def unchanged(self) -> tuple[Change, ...]:
        return tuple(c for c in self._primary() if c.kind == UNCHANGED)

    @property
    def inconclusive(self) -> tuple[Change, ...]:
        """The comparisons of primary metrics that are not decided; `reason` of each says why."""
        return tuple(c for c in self._primary() if c.kind == INCONCLUSIVE)

    @property
    def unpaired(self) -> tuple[Unpaired, ...]:
        """What was not compared: `side` says which version alone has it."""
        return self.outcome.unpaired

    @property
    def exit_code(self) -> int:
        """1 for a regression, 9 if nothing was compared, 8 if nothing was decided, and else 0."""
        return self.outcome.exit_code

    @property
    def conclusion(self) -> str:
        return report_text.conclusion(self.outcome)

    def hints(self, collectors: Mapping[str, str] = EMPTY, *, usual_collector: str = "time") -> Iterator[str]:
        """Which version has nothing stored, and the command that measures it, or decides what is inconclusive. For the
        latter, `collectors` are those of the configurations; what nothing stored says is measured by the usual one."""
        names = [shlex.quote(side.name) for side in self.sides]
        for side in self.sides:
            if not side.profiles:
                yield f"{side.title} has no registered profile, so nothing can be compared with it"
        if all(side.profiles for side in self.sides):
            if decide := report_text.way_to_decide(self.outcome.changes, collectors):
                yield decide
            return
        if any(side.profiles for side in self.sides):
            yield f"to measure both versions, interleaved: perf check {' '.join(names)} --collect"
        else:
            versions = " ".join(f"--version {name}" for name in names)
            yield f"to measure both versions, interleaved: perf collect {usual_collector} {versions} --add -- COMMAND"

    def as_json(self) -> dict[str, Any]:
        """The form of `docs/schemas/compare-stored.json`."""
        document = self.outcome.as_json()
        changes = zip(self.outcome.changes, document["changes"], strict=True)
        return {
            "schema": SCHEMA,
            "sides": [attrs.asdict(side) for side in self.sides],
            "compared": self.outcome.compared,
            "changed": len(self.changed),
            "unchanged": len(self.unchanged),
            "inconclusive": len(self.inconclusive),
            "changes": [self._change_json(change, row) for change, row in changes],
            "unpaired": document["unpaired"],
        }

    def _repr_html_(self) -> str:
        """The result as a table for notebooks."""
        return self.outcome._repr_html_()

    def _primary(self) -> Iterator[Change]:
        return (change for change in self.outcome.changes if change.primary)

    def _change_json(self, change: Change, row: Mapping[str, Any]) -> dict[str, Any]:
        return {
            **{key: setting for key, setting in row.items() if key not in _NOT_OF_PAIRS},
            "verdict": verdict_text.word(change),
            "baseline": self.sides[0].version,
            "target": self.sides[1].version,
        }


def compare_versions(
    repository: Repository,
    names: Sequence[str],
    listener: Listener,
    *,
    benchmarks: str | None = None,
    metric: str | None = None,
    threshold: float | None = None,
) -> StoredComparison:
    """The comparison of two versions, by revisions such as tags and branches; nothing is measured. `benchmarks` is a
    pattern of benchmarks and commands."""
    first, second = (
        StoredSide(name=name, version=version, profiles=len(repository.entries(version)))
        for name, version in ((name, repository.version(name)) for name in names)
    )
    if first.version == second.version:
        raise UsageError(
            f"both sides are version {first.version[:10]}", hint="name two versions, or a command that is measured"
        )
    rules = parse_rules(repository.config.get("check.fail_on"))
    options = CheckOptions(metric=metric, thresholds={} if threshold is None else {"": threshold}, rules=rules)
    outcome = checks.check(repository, VersionPair(first.version, second.version), options, listener)
    if metric is not None and outcome.metrics and metric not in outcome.metrics:
        raise UsageError(
            f"no metric {brief(metric)} was compared",
            hint=nearest(metric, outcome.metrics) or f"one of {', '.join(sorted(outcome.metrics))}",
        )
    if benchmarks is not None:
        outcome = selection.of_benchmarks(outcome, benchmarks, history=False, jobs=True)
    comparison = StoredComparison(sides=(first, second), outcome=outcome)
    if EMPTY_CHECK in rules and comparison.inconclusive and not (comparison.changed or comparison.unchanged):
        # As with two programs: a gate must not pass for want of any answer.
        outcome = replace(outcome, rules=(*rules, FailRule("cannot-tell")))
    return attrs.evolve(comparison, outcome=outcome)


def inconclusive_by_reason(changes: Sequence[Change]) -> list[tuple[str, list[Change]]]:
    """Inconclusive comparisons by their reason, the most frequent first."""
    groups: dict[str, list[Change]] = {}
    for change in changes:
        # What follows a colon is the number of pairs that would tell, which differs for each comparison.
        groups.setdefault(change.reason.partition(":")[0] or "without a reason", []).append(change)
    return sorted(groups.items(), key=lambda group: (-len(group[1]), group[0]))
