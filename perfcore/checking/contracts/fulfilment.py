"""Whether a version keeps its contracts: every sentence for every command that it fits, as a verdict."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Sequence

import attrs

from perfcore.checking import pairing as pairings
from perfcore.checking import series as histories
from perfcore.checking.compared import verdicts
from perfcore.checking.contracts import contract as contracts
from perfcore.checking.contracts.contract import Budget, Contract, Drift, Growth
from perfcore.checking.pairing import Unpaired
from perfcore.checking.series import Line
from perfcore.errors import VersionError
from perfcore.model import Change, ChangeKind, Pairing, Series
from perfcore.repository import Repository
from perfcore.text import percent, plural, quantity

ALPHA = 0.05  # the chance at which more runs beyond a budget than its quantile lets pass are no accident


def fulfilled(
    repository: Repository, version: str, agreed: Sequence[Contract], changes: Sequence[Change]
) -> tuple[tuple[Change, ...], tuple[Change, ...]]:
    """(the changes, those that a contract allows deciding nothing any more; a verdict on every contract)."""
    judged: list[Change] = []
    allowed: set[str] = set()
    for line in histories.of_version(repository, repository.vcs.get_minor_version_info(version)):
        known = {series.metric: series for series in histories.metrics(repository, line)}
        mine = [change for change in changes if change.config_id == line.config_id]
        for agreement in agreed:
            if not agreement.fits(line.label):
                continue
            metric = contracts.metric_of(agreement.promise.metric, known)
            if isinstance(agreement.promise, Budget):
                verdict = _of_budget(agreement, agreement.promise, known.get(metric))
            elif isinstance(agreement.promise, Growth):
                verdict = _of_growth(agreement.promise, metric, known, mine)
                allowed |= {c.id for c in mine if c.metric == metric} if verdict.kind == "same" else set()
            else:
                better = known[metric].better if metric in known else "lower"
                verdict = _of_drift(repository, version, line, agreement.promise, metric, better)
            judged.append(_named(verdict, agreement, line, version, metric))
    return tuple(attrs.evolve(c, primary=False) if c.id in allowed else c for c in changes), tuple(judged)


def verdict_id(agreement: Contract, config_id: str, version: str) -> str:
    """The id of the verdict on a sentence for a configuration at a version, whatever it is."""
    question = json.dumps([agreement.command, agreement.sentence, config_id, version])
    return hashlib.sha256(question.encode("utf-8", "backslashreplace")).hexdigest()[:20]


def _named(verdict: Change, agreement: Contract, line: Line, version: str, metric: str) -> Change:
    return attrs.evolve(
        verdict,
        id=verdict_id(agreement, line.config_id, version),
        contract=agreement.sentence,
        metric=metric,
        config_id=line.config_id,
        label=line.label,
        target=version[:10],
        primary=True,
    )


def _verdict(kind: ChangeKind, evidence: str, **facts: object) -> Change:
    return Change(id="", kind=kind, metric="", evidence=evidence, **facts)  # type: ignore[arg-type]


def _of_budget(agreement: Contract, budget: Budget, series: Series | None) -> Change:
    """A budget is broken where more runs are beyond it than its quantile lets pass, by more than chance (binomial
    test at 5 %); where only the estimate is beyond it, nobody can tell."""
    values = sorted(series.values[0]) if series is not None else []
    if series is None or not values:
        return _verdict("cannot tell", "it was not measured")
    limit = budget.limit(series.unit)
    ordered = values[::-1] if budget.least else values
    found = ordered[math.ceil(budget.quantile * len(values)) - 1]
    beyond = sum(value < limit if budget.least else value > limit for value in values)
    broken = found < limit if budget.least else found > limit
    chance = _at_least(beyond, len(values), 1 - budget.quantile)
    facts = {
        "unit": series.unit,
        "baseline_value": limit,
        "target_value": found,
        "ratio": found / limit if limit > 0 and found >= 0 else None,
        "p_value": chance,
    }
    evidence = (
        f"{quantity(found, series.unit)} of {quantity(limit, series.unit)}; "
        f"{beyond} of {plural(len(values), 'run')} beyond it"
    )
    kind: ChangeKind = "same" if not broken else "degradation" if chance < ALPHA else "cannot tell"
    return _verdict(kind, evidence, **facts)


def _at_least(count: int, runs: int, chance: float) -> float:
    """How likely at least so many of the runs are beyond what each is beyond with this chance."""
    return min(1.0, sum(math.comb(runs, k) * chance**k * (1 - chance) ** (runs - k) for k in range(count, runs + 1)))


def _of_growth(growth: Growth, metric: str, known: Iterable[str], changes: Sequence[Change]) -> Change:
    found = {change.metric: change for change in changes}
    change = found.get(metric)
    if change is None or change.kind == "cannot tell":
        return _verdict("cannot tell", change.evidence if change is not None else "it was compared with nothing")
    facts = {name: getattr(change, name) for name in ("unit", "baseline_value", "target_value", "ratio", "low", "high")}
    facts |= {"baseline": change.baseline, "confidence": change.confidence}
    if change.kind != "degradation" or change.ratio is None:
        return _verdict("same", f"it is {change.kind}", **facts)
    ratios = {name: other.ratio for name, other in found.items() if other.ratio is not None}
    given = growth.given and (contracts.metric_of(growth.given[0], known), growth.given[1])
    if not attrs.evolve(growth, given=given).is_given(ratios):
        assert given is not None
        other = f"{given[0]} changed by {percent(ratios[given[0]])}" if given[0] in ratios else f"{given[0]} is unknown"
        return _verdict("degradation", f"it grew by {percent(change.ratio)}, but {other}", **facts)
    if growth.allows(change.ratio):
        return _verdict("same", f"{percent(change.ratio)} is allowed", **facts)
    nearest = change.low if growth.ratio >= 1 else change.high
    sure = nearest is None or not growth.allows(nearest)
    return _verdict("degradation" if sure else "cannot tell", f"it changed by {percent(change.ratio)}", **facts)


def _of_drift(repository: Repository, version: str, line: Line, drift: Drift, metric: str, better: str) -> Change:
    release = _release(repository, version, drift.since)
    if release is None:
        return _verdict("cannot tell", "there is no release before this version")
    pair = _pair_of(pairings.of_release(repository, version, release), line)
    if isinstance(pair, Unpaired):
        return _verdict("cannot tell", pair.reason)
    (found, *_) = verdicts(repository, [pair], thresholds={metric: drift.share})
    change = next((change for change in found.changes if change.metric == metric), None)
    if change is None:
        return _verdict("cannot tell", "it was not measured")
    moved = f"{percent(change.ratio)} since {change.baseline}" if change.ratio is not None else ""
    evidence = "; ".join(filter(None, (moved, change.evidence)))
    return attrs.evolve(change, kind=_drifted(change, drift, better), evidence=evidence)


def _drifted(change: Change, drift: Drift, better: str) -> ChangeKind:
    """Broken where the check says so; kept where it says the opposite, or the whole interval is within the share."""
    if change.kind in ("degradation", "same", "optimization"):
        return "degradation" if change.kind == "degradation" else "same"
    if change.low is None or change.high is None:
        return "cannot tell"
    within = change.low >= 1 - drift.share if better == "higher" else change.high <= 1 + drift.share
    return "same" if within else "cannot tell"


def _release(repository: Repository, version: str, since: str) -> str | None:
    """The version that a drift is measured from: a tagged profile's, or a revision's."""
    if since == contracts.RELEASE:
        last = getattr(repository.vcs, "last_release", None)
        if last is None:
            raise VersionError(f"{repository.vcs_name} does not know releases", hint="name the version it is since")
        return last(version)  # type: ignore[no-any-return]
    tagged = [found for found, entry in repository.everywhere() if since in entry.tags]
    return tagged[-1] if tagged else repository.version(since)


def _pair_of(pairs: Iterator[Pairing | Unpaired], line: Line) -> Pairing | Unpaired:
    return next(pair for pair in pairs if pair.config_id == line.config_id)
