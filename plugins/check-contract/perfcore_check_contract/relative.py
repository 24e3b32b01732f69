"""Whether something grew by more than was agreed: since the version before, or since an earlier one.

The check itself decides, with the agreed limit as the smallest change that matters.
"""

from __future__ import annotations

from perfcore_check_kit.version_history import MeasuredCommand

from perfcore.errors import AmbiguousError, NotFoundError, VersionError
from perfcore.model import Change, ChangeKind, Pairing, Unpaired
from perfcore.model.record import replace
from perfcore.text import percent
from perfcore_check_contract import contract as contracts
from perfcore_check_contract.context import is_better_higher, metric_name, verdict
from perfcore_check_contract.contract import Drift, Growth

_ROUNDING = 1e-9  # relative tolerance: a fall of exactly 10 % meets `falls 10 %` although 0.9 is no binary fraction
_LEAST = 1e-12  # smallest allowed ratio, since a limit of 0 for a drift of 100 % has no threshold 1 / ratio - 1


def of_growth(command: MeasuredCommand, growth: Growth, metric: str) -> Change:
    """Broken where the metric got worse by more than allowed; and where it got worse at all although the condition is
    not met. If the condition is inconclusive, so is a verdict that depends on it."""
    pair = command.before
    verdict_of_check = _against(command, pair, metric, growth.ratio)
    if growth.condition is None or verdict_of_check.kind == "degradation" or isinstance(pair, Unpaired):
        return verdict_of_check
    grew = _grew(command, pair, metric)
    if grew is False:
        return _adding(verdict_of_check, verdict_of_check.kind, ", which the check calls no change for the worse")
    happened, remark = _happened(command, pair, *growth.condition)
    if happened:
        return _adding(verdict_of_check, verdict_of_check.kind, f", and {remark}")
    broken = grew and happened is False
    return _adding(verdict_of_check, "degradation" if broken else "cannot tell", f", but {remark}")


def of_drift(command: MeasuredCommand, drift: Drift, metric: str, location: str) -> Change:
    """Broken where it got worse by more since a version that may be long ago."""
    try:
        release = _release(command, drift.since)
    except (VersionError, NotFoundError, AmbiguousError) as error:
        hint = f" ({error.hint})" if error.hint else ""
        return verdict("cannot tell", f"{location}: {error.message}{hint}")
    if release is None:
        return verdict("cannot tell", "there is no release before this version")
    allowed = max(1 - drift.share, _LEAST) if is_better_higher(command, metric) else 1 + drift.share
    return _against(command, command.since(release), metric, allowed)


def _against(command: MeasuredCommand, pair: Pairing | Unpaired, metric: str, allowed: float) -> Change:
    """Broken where the check says so; kept where it says the opposite, or the whole interval is within what is
    allowed: a ratio, below 1 where less is worse."""
    if isinstance(pair, Unpaired):
        return verdict("cannot tell", pair.reason)
    change = command.compare(pair, metric, _threshold(allowed))
    if change is None:
        return verdict("cannot tell", "it was not measured")
    kind: ChangeKind = "degradation" if change.kind == "degradation" else "same"
    if change.kind == "cannot tell" and not _within(change, allowed, is_better_higher(command, metric)):
        kind = "cannot tell"
    moved = f"{percent(change.ratio)} since {change.baseline}" if change.ratio is not None else ""
    return replace(change, kind=kind, evidence="; ".join(filter(None, (moved, change.evidence))))


def _adding(found: Change, kind: ChangeKind, told: str) -> Change:
    """The verdict with a remark after the first part of its evidence."""
    moved, semicolon, details = found.evidence.partition("; ")
    return replace(found, kind=kind, evidence=f"{moved}{told}{semicolon}{details}")


def _within(change: Change, allowed: float, is_better_higher: bool) -> bool:
    if change.low is None or change.high is None:
        return False
    return change.low >= allowed if is_better_higher else change.high <= allowed


def _happened(command: MeasuredCommand, pair: Pairing, name: str, wanted: float) -> tuple[bool | None, str]:
    """Whether a metric changed by at least a ratio (None if that is inconclusive), and the same in words."""
    metric = metric_name(command, name)
    # A hair below the wanted change, so that a change of exactly that size is called one.
    change = command.compare(pair, metric, _threshold(wanted) * (1 - _ROUNDING))
    if change is None:
        return None, f"{metric} was not measured"
    size = f"{metric} changed" + (f" by {percent(change.ratio)}" if change.ratio is not None else "")
    if change.kind in ("degradation", "optimization"):
        grew = (change.kind == "degradation") != is_better_higher(command, metric)
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
    return None, f"it is inconclusive whether {metric} {moved}{interval}"


def _grew(command: MeasuredCommand, pair: Pairing, metric: str) -> bool | None:
    """Whether the check itself finds it worse than in the version before; None if that is inconclusive."""
    mine = (change for change in command.changes if change.metric == metric and change.baseline == pair.baseline.label)
    change = next(mine, None)
    return None if change is None or change.kind == "cannot tell" else change.kind == "degradation"


def _threshold(ratio: float) -> float:
    """This ratio as the smallest change of a check, to which half as much and twice as much are alike."""
    # Checks compare the size of the logarithm: a fall to 1 / 1.25 = 0.8 is as large as a growth by 0.25.
    return ratio - 1 if ratio >= 1 else 1 / ratio - 1


def _release(command: MeasuredCommand, since: str) -> str | None:
    """The version that a drift is measured from: a tagged profile's, or a revision's."""
    repository = command.repository
    if since == contracts.RELEASE:
        last = getattr(repository.vcs, "last_release", None)
        if last is None:
            raise VersionError(f"{repository.vcs_name} does not know releases", hint="name the version it is since")
        return last(command.version)  # type: ignore[no-any-return]
    tagged = sorted({tagged_version for tagged_version, entry in repository.everywhere() if since in entry.tags})
    if len(tagged) > 1:  # as two clones may have given it
        names = ", ".join(tagged_version[:10] for tagged_version in tagged)
        raise AmbiguousError(f"the tag {since} names profiles of several versions: {names}", hint="perf tag --delete")
    return tagged[0] if tagged else repository.version(since)
