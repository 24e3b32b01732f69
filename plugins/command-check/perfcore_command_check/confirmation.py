"""`perf check --confirm`: a regression is measured again, interleaved with its baseline, before it fails the build.

A gate makes many comparisons, and those of stored runs rest on what a machine did that day. The second measurement is a
comparison of its own (`perf compare`). Each has a false-positive rate of at most 5 % for both directions together, so
chance alone calls an unchanged program slower in both with 2.5 % of 2.5 % at most, if they are independent. A
regression that cannot be measured again fails the build as before.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from perfcore_check_kit import conclusions
from perfcore_check_kit.thresholds import combined, thresholds_of

from perfcore.analysis.check_result import CheckResult
from perfcore.analysis.stored_results import Checked, Results
from perfcore.errors import PerfError, VersionError
from perfcore.library import History
from perfcore.model import Change
from perfcore.model.listener import Listener
from perfcore.model.record import replace
from perfcore.text import percent, plural
from perfcore_command_check import stored_commands
from perfcore_command_check.companions import Key, key

# The defaults of the check `pair` for the primary metric, and for the others.
_SMALLEST, _SMALLEST_OTHER = 0.02, 0.05


def confirmed(
    history: History, result: CheckResult, given: Mapping[str, float], listener: Listener, *, store: bool
) -> CheckResult:
    """The result after every regression that fails the build was measured again. `given` are thresholds of the command
    line; with `store`, stored results say what the second measurement said."""
    suspects = [change for change in result.failing if change.kind == "degradation" and not change.contract]
    answers: dict[Key, Change] = {}
    for first, *others in _measured_together(suspects):
        listener.progress(len(answers), len(suspects), f"measuring again: {first.label}")
        answers |= _measured_again(history, (first, *others), given, listener)
    changes = tuple(answers.get(key(change), change) for change in result.changes)
    if store:
        _store(history, answers)
    refuted = sum(change.kind != "degradation" for change in answers.values())
    suffix = f"; {refuted} of {plural(len(suspects), 'regression')} not confirmed" if refuted else ""
    return replace(result, changes=changes, conclusion=_conclusion(result, changes) + suffix)


def _conclusion(result: CheckResult, changes: Sequence[Change]) -> str:
    """The conclusion of comparisons, counted anew; a history's is about the stored runs alone."""
    before = conclusions.of_comparisons(result.changes)
    return result.conclusion.replace(before, conclusions.of_comparisons(changes)) if before else result.conclusion


def _measured_together(suspects: Iterable[Change]) -> Iterable[Sequence[Change]]:
    """The benchmarks of a suite that one comparison measures; everything else alone."""
    groups: dict[tuple[str, ...], list[Change]] = {}
    for change in suspects:
        question = (change.config_id, change.metric, change.baseline, change.target)
        groups.setdefault(question, []).append(change)
    return groups.values()


def _measured_again(
    history: History, suspects: Sequence[Change], given: Mapping[str, float], listener: Listener
) -> dict[Key, Change]:
    """The changes after a second measurement; as they are, with the reason, if there was none."""
    try:
        comparison = _compare(history, suspects, given, listener)
    except PerfError as error:
        answers = [replace(change, reason=f"not measured again: {error}") for change in suspects]
    else:
        answers = [_answer(change, comparison) for change in suspects]
    return {
        key(change): replace(answer, reason="; ".join(filter(None, (answer.reason, change.reason))))
        for change, answer in zip(suspects, answers, strict=True)
    }


def _answer(change: Change, comparison: Any) -> Change:
    if comparison.identical:
        return _refuted(change, "both versions run the same program")
    again: Change | None = comparison.changes[0] if comparison.changes else None
    if comparison.is_suite:
        names = [(found.metric, found.resource) for found in comparison.changes]
        named = (change.metric, change.resource)
        again = comparison.changes[names.index(named)] if named in names else None
    if again is None or again.ratio is None:
        return replace(change, reason="not measured again: no pair of runs within the budget")
    if again.config_id != change.config_id:
        # Profiles hold neither variables nor the directory that a command had.
        return replace(change, reason="not measured again: the command ran with other variables or elsewhere")
    estimate = f"{_interval(again)} in {plural(comparison.pairs, 'new pair')}"
    if again.kind == "degradation":
        evidence = f"{change.evidence}; measured again: {again.evidence}"
        return replace(change, reason=f"confirmed: {estimate}", evidence=evidence)
    if again.kind == "cannot tell" and comparison.stopped != "pairs" and not _contradicts(again, change):
        return replace(change, reason=f"neither confirmed nor refuted within the budget: {estimate}")
    return _refuted(change, estimate, again.evidence)


def _contradicts(again: Change, change: Change) -> bool:
    """Whether the interval of the second measurement holds no change, and no size that the first one left open: two
    intervals of 95 % that have nothing in common are not of one regression."""
    if change.low is None or change.high is None or again.low is None or again.high is None:
        return False
    return again.low <= 1.0 <= again.high and (again.high < change.low or change.high < again.low)


def _compare(history: History, suspects: Sequence[Change], given: Mapping[str, float], listener: Listener) -> Any:
    repository, change = history.repository, suspects[0]
    versions = repository.version(change.baseline), _version(history, change)
    command = stored_commands.of_configuration(repository, versions[1], change.config_id)
    command = stored_commands.of_benchmarks(repository, command, [suspect.resource for suspect in suspects])
    thresholds = combined(thresholds_of(repository), given)
    default = _SMALLEST if change.primary else _SMALLEST_OTHER
    return history.command(
        "compare",
        first=command.job,
        versions=versions,
        metric=change.metric,
        threshold=thresholds.get(change.metric, thresholds.get("", default)),
        listener=listener,
    )


def _version(history: History, change: Change) -> str:
    if "+" in change.target:  # a label of uncommitted changes, which may be others by now
        raise VersionError(f"{change.target} has uncommitted changes")
    return history.repository.version(change.target)


def _refuted(change: Change, estimate: str, evidence: str = "") -> Change:
    words = "; ".join(filter(None, (change.evidence, f"measured again: {evidence or estimate}")))
    return replace(change, kind="cannot tell", reason=f"not confirmed: {estimate}", evidence=words)


def _interval(change: Change) -> str:
    size = percent(change.ratio) if change.ratio is not None else "-"
    if change.low is None or change.high is None:
        return size
    return f"{size} ({percent(change.low)} to {percent(change.high)})"


def _store(history: History, answers: Mapping[Key, Change]) -> None:
    """Replace the changes in the stored results, which `log` and `status` show."""
    repository = history.repository
    results = Results(repository.store, repository.vcs_name)
    for result in list(results.every()):
        if any(key(change) in answers for change in result.changes):
            changes = [answers.get(key(change), change) for change in result.changes]
            checked = Checked(version=result.version, config_id=result.config_id)
            results.keep(result.method, {checked: changes}, time.time_ns())
