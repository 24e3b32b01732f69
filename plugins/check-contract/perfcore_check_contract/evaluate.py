"""Whether a version keeps its contracts: every sentence for every command that it fits, as a verdict."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence

from perfcore_check_kit.version_history import MeasuredCommand, VersionHistory

from perfcore.errors import UsageError
from perfcore.model import Change, Judgement, Series
from perfcore.model.record import replace
from perfcore.text import brief
from perfcore_check_contract import contract as contracts
from perfcore_check_contract.budgets import of_budget
from perfcore_check_contract.context import metric_name, verdict
from perfcore_check_contract.contract import Budget, Contract, Growth
from perfcore_check_contract.relative import of_drift, of_growth


def evaluate(history: VersionHistory, version: str, agreed: Sequence[Contract]) -> Judgement:
    """A verdict on every contract, with the changes that a contract allows. UsageError for a sentence that does not fit
    its metric, before any is judged."""
    pairs = [
        (command, contract)
        for command in history.commands(version)
        for contract in agreed
        if contract.fits(command.label)
    ]
    for command, contract in pairs:
        _check_sense(contract, command.series)
    verdicts: list[Change] = []
    allowed: set[str] = set()
    for command, contract in pairs:
        metric = metric_name(command, contract.promise.metric)
        verdict_on = _verdict(command, contract, metric)
        if isinstance(contract.promise, Growth) and verdict_on.kind == "same":
            on_metric = (change for change in command.changes if change.metric == metric)
            allowed |= {change.id for change in on_metric if change.kind == "degradation"}
        verdicts.append(_of_command(verdict_on, contract, version, metric, command))
    applied = [contract for _, contract in pairs]
    verdicts += _unmatched(history, version, [contract for contract in agreed if contract not in applied])
    return Judgement(source=contracts.FILE, verdicts=tuple(verdicts), allowed=frozenset(allowed))


def verdict_id(contract: Contract, config_id: str, version: str, benchmark: str = "") -> str:
    """The id of the verdict on a sentence for a configuration, or a benchmark of its suite, at a version, whatever it
    is."""
    question = json.dumps([contract.command, contract.sentence, config_id, version, *filter(None, (benchmark,))])
    return hashlib.sha256(question.encode("utf-8", "backslashreplace")).hexdigest()[:20]


def _verdict(command: MeasuredCommand, contract: Contract, metric: str) -> Change:
    if isinstance(contract.promise, Budget):
        return of_budget(command, contract.promise, metric)
    if isinstance(contract.promise, Growth):
        return of_growth(command, contract.promise, metric)
    return of_drift(command, contract.promise, metric, contract.location)


def _of_command(verdict_on: Change, contract: Contract, version: str, metric: str, command: MeasuredCommand) -> Change:
    return replace(
        _named(verdict_on, contract, version, metric),
        id=verdict_id(contract, command.config_id, version, command.benchmark),
        config_id=command.config_id,
        resource=command.benchmark,
        label=command.label,
    )


def _named(verdict_on: Change, contract: Contract, version: str, metric: str) -> Change:
    return replace(
        verdict_on,
        id=verdict_id(contract, "", version),
        contract=contract.sentence,
        metric=metric,
        label=contract.command,
        target=version[:10],
        primary=True,
    )


def _unmatched(history: VersionHistory, version: str, contracts: Sequence[Contract]) -> Iterator[Change]:
    """Contracts of commands that the version was not measured with are inconclusive."""
    labels = history.labels() if contracts else set()
    for contract in contracts:
        pattern = brief(contract.command)
        evidence = f"no measured command fits {pattern}"
        if any(map(contract.fits, labels)):
            evidence = f"this version was not measured with a command that fits {pattern}; others were"
        yield _named(verdict("cannot tell", evidence), contract, version, contract.promise.metric)


def _check_sense(contract: Contract, series_by_metric: Mapping[str, Series]) -> None:
    """UsageError where a budget has no unit of its metric, or growth is an improvement of it."""
    promise = contract.promise
    series = series_by_metric.get(contracts.metric_of(promise.metric, series_by_metric))
    if series is None:
        return
    try:
        if isinstance(promise, Budget):
            promise.limit(series.unit)
        elif isinstance(promise, Growth):
            promise.check_direction(series.better)
    except UsageError as error:
        raise UsageError(
            f"{contract.location}: {brief(contract.sentence)}: {error.message}", hint=error.hint
        ) from error
