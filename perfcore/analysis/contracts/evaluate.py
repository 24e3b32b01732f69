"""Whether a version keeps its contracts: every sentence for every command that it fits, as a verdict."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence

import attrs

from perfcore.analysis import series as histories
from perfcore.analysis.contracts import contract as contracts
from perfcore.analysis.contracts.budgets import of_budget
from perfcore.analysis.contracts.context import Case, verdict
from perfcore.analysis.contracts.contract import Budget, Contract, Growth
from perfcore.analysis.contracts.relative import of_drift, of_growth
from perfcore.errors import UsageError
from perfcore.model import Change, Series
from perfcore.repository.repository import Repository
from perfcore.text import brief


def fulfilled(
    repository: Repository, version: str, agreed: Sequence[Contract], changes: Sequence[Change]
) -> tuple[tuple[Change, ...], tuple[Change, ...]]:
    """(the changes, those that a contract allows deciding nothing any more; a verdict on every contract). UsageError
    for a sentence that says of a metric what cannot be said of it, before any is judged."""
    cases = [
        Case(
            repository=repository,
            version=version,
            line=line,
            known={series.metric: series for series in histories.metrics(repository, line)},
            changes=tuple(change for change in changes if change.config_id == line.config_id),
        )
        for line in histories.of_version(repository, repository.vcs.get_minor_version_info(version))
    ]
    meant = [(case, agreement) for case in cases for agreement in agreed if agreement.fits(case.line.label)]
    for case, agreement in meant:
        _refuse_nonsense(agreement, case.known)
    judged: list[Change] = []
    allowed: set[str] = set()
    for case, agreement in meant:
        metric = case.metric(agreement.promise.metric)
        found = _judged(case, agreement, metric)
        if isinstance(agreement.promise, Growth) and found.kind == "same":
            mine = (change for change in case.changes if change.metric == metric)
            allowed |= {change.id for change in mine if change.kind == "degradation"}
        line = case.line
        judged.append(_named(found, agreement, version, metric, config_id=line.config_id, label=line.label))
    judged += _of_nothing(repository, version, agreed, [agreement for _, agreement in meant])
    return tuple(attrs.evolve(c, primary=False) if c.id in allowed else c for c in changes), tuple(judged)


def verdict_id(agreement: Contract, config_id: str, version: str) -> str:
    """The id of the verdict on a sentence for a configuration at a version, whatever it is."""
    question = json.dumps([agreement.command, agreement.sentence, config_id, version])
    return hashlib.sha256(question.encode("utf-8", "backslashreplace")).hexdigest()[:20]


def _judged(case: Case, agreement: Contract, metric: str) -> Change:
    if isinstance(agreement.promise, Budget):
        return of_budget(case, agreement.promise, metric)
    if isinstance(agreement.promise, Growth):
        return of_growth(case, agreement.promise, metric)
    return of_drift(case, agreement.promise, metric, agreement.place)


def _named(
    found: Change, agreement: Contract, version: str, metric: str, *, config_id: str = "", label: str = ""
) -> Change:
    return attrs.evolve(
        found,
        id=verdict_id(agreement, config_id, version),
        contract=agreement.sentence,
        metric=metric,
        config_id=config_id,
        label=label or agreement.command,
        target=version[:10],
        primary=True,
    )


def _of_nothing(
    repository: Repository, version: str, agreed: Sequence[Contract], meant: Sequence[Contract]
) -> Iterator[Change]:
    """Of sentences about commands that the version was not measured with: nobody can tell."""
    idle = [agreement for agreement in agreed if agreement not in meant]
    labels = {entry.label for _, entry in repository.everywhere()} if idle else set()
    for agreement in idle:
        pattern = brief(agreement.command)
        evidence = f"no measured command fits {pattern}"
        if any(map(agreement.fits, labels)):
            evidence = f"this version was not measured with a command that fits {pattern}; others were"
        yield _named(verdict("cannot tell", evidence), agreement, version, agreement.promise.metric)


def _refuse_nonsense(agreement: Contract, known: Mapping[str, Series]) -> None:
    """UsageError where a budget has no unit of its metric, or what may grow is better for it."""
    promise = agreement.promise
    series = known.get(contracts.metric_of(promise.metric, known))
    if series is None:
        return
    try:
        if isinstance(promise, Budget):
            promise.limit(series.unit)
        elif isinstance(promise, Growth):
            promise.check_direction(series.better)
    except UsageError as error:
        raise UsageError(f"{agreement.place}: {brief(agreement.sentence)}: {error.message}", hint=error.hint) from error
