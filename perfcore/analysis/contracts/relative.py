"""Whether something grew by more than was agreed: since the version before, or since an earlier one.

The check itself decides, with what was agreed as the smallest change that matters.
"""

from __future__ import annotations

import attrs

from perfcore.analysis.contracts import contract as contracts
from perfcore.analysis.contracts.context import Case, verdict
from perfcore.analysis.contracts.contract import Drift, Growth
from perfcore.analysis.pairing import Unpaired
from perfcore.errors import AmbiguousError, NotFoundError, VersionError
from perfcore.model import Change, ChangeKind, Pairing
from perfcore.text import percent

_ROUNDING = 1e-9  # what fell by exactly 10 % fell by 10 %
_LEAST = 1e-12  # of what was there before: whoever lets a metric fall by all of it


def of_growth(case: Case, growth: Growth, metric: str) -> Change:
    """Broken where it got worse by more; and where it got worse at all, as the check has it, though what it is given
    for did not happen. Where nobody knows whether that happened, only what is the same in both cases can be told."""
    pair = case.before
    found = _against(case, pair, metric, growth.ratio)
    if growth.given is None or found.kind == "degradation" or isinstance(pair, Unpaired):
        return found
    grew = _grew(case, pair, metric)
    if grew is False:
        return _adding(found, found.kind, ", which the check calls no change for the worse")
    happened, told = _happened(case, pair, *growth.given)
    if happened:
        return _adding(found, found.kind, f", and {told}")
    broken = grew and happened is False
    return _adding(found, "degradation" if broken else "cannot tell", f", but {told}")


def of_drift(case: Case, drift: Drift, metric: str, place: str) -> Change:
    """Broken where it got worse by more since a version that may be long ago."""
    try:
        release = _release(case, drift.since)
    except (VersionError, NotFoundError, AmbiguousError) as error:
        hint = f" ({error.hint})" if error.hint else ""
        return verdict("cannot tell", f"{place}: {error.message}{hint}")
    if release is None:
        return verdict("cannot tell", "there is no release before this version")
    allowed = max(1 - drift.share, _LEAST) if case.is_better_higher(metric) else 1 + drift.share
    return _against(case, case.since(release), metric, allowed)


def _against(case: Case, pair: Pairing | Unpaired, metric: str, allowed: float) -> Change:
    """Broken where the check says so; kept where it says the opposite, or the whole interval is within what is
    allowed: a ratio, below 1 where less is worse."""
    if isinstance(pair, Unpaired):
        return verdict("cannot tell", pair.reason)
    change = case.compared(pair, metric, _threshold(allowed))
    if change is None:
        return verdict("cannot tell", "it was not measured")
    kind: ChangeKind = "degradation" if change.kind == "degradation" else "same"
    if change.kind == "cannot tell" and not _within(change, allowed, case.is_better_higher(metric)):
        kind = "cannot tell"
    moved = f"{percent(change.ratio)} since {change.baseline}" if change.ratio is not None else ""
    return attrs.evolve(change, kind=kind, evidence="; ".join(filter(None, (moved, change.evidence))))


def _adding(found: Change, kind: ChangeKind, told: str) -> Change:
    """The verdict with something to what it says first."""
    moved, semicolon, rest = found.evidence.partition("; ")
    return attrs.evolve(found, kind=kind, evidence=f"{moved}{told}{semicolon}{rest}")


def _within(change: Change, allowed: float, is_better_higher: bool) -> bool:
    if change.low is None or change.high is None:
        return False
    return change.low >= allowed if is_better_higher else change.high <= allowed


def _happened(case: Case, pair: Pairing, name: str, wanted: float) -> tuple[bool | None, str]:
    """Whether a metric changed by as much as a ratio says, None where nobody can tell; and the same in words."""
    metric = case.metric(name)
    change = case.compared(pair, metric, _threshold(wanted) * (1 - _ROUNDING))
    if change is None:
        return None, f"{metric} was not measured"
    size = f"{metric} changed" + (f" by {percent(change.ratio)}" if change.ratio is not None else "")
    if change.kind in ("degradation", "optimization"):
        grew = (change.kind == "degradation") != case.is_better_higher(metric)
        return grew == (wanted > 1), size
    if change.low is None or change.high is None:
        if change.kind != "cannot tell":
            return False, f"{metric} is the same"
        interval = ""
    elif change.low > wanted if wanted < 1 else change.high < wanted:
        return False, size
    else:
        interval = f" ({percent(change.low)} to {percent(change.high)})"
    moved = f"{'fell' if wanted < 1 else 'grew'} by {abs(wanted - 1) * 100:g} %"
    return None, f"whether {metric} {moved} cannot be told{interval}"


def _grew(case: Case, pair: Pairing, metric: str) -> bool | None:
    """Whether the check itself finds it worse than in the version before; None where it cannot tell."""
    mine = (change for change in case.changes if change.metric == metric and change.baseline == pair.baseline.label)
    change = next(mine, None)
    return None if change is None or change.kind == "cannot tell" else change.kind == "degradation"


def _threshold(ratio: float) -> float:
    """This ratio as the smallest change of a check, to which half as much and twice as much are alike."""
    return ratio - 1 if ratio >= 1 else 1 / ratio - 1


def _release(case: Case, since: str) -> str | None:
    """The version that a drift is measured from: a tagged profile's, or a revision's."""
    repository = case.repository
    if since == contracts.RELEASE:
        last = getattr(repository.vcs, "last_release", None)
        if last is None:
            raise VersionError(f"{repository.vcs_name} does not know releases", hint="name the version it is since")
        return last(case.version)  # type: ignore[no-any-return]
    tagged = [found for found, entry in repository.everywhere() if since in entry.tags]
    return tagged[-1] if tagged else repository.version(since)
