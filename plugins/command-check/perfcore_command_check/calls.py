"""What `History.check`, `contracts` and `calibrate` of the library do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfcore_check_kit import checks, judges
from perfcore_check_kit import target as targets
from perfcore_check_kit.checks import CheckOptions
from perfcore_check_kit.fail_rules import parse_rules
from perfcore_check_kit.target import CheckTarget, ProfilePair, Profiles

from perfcore.errors import UsageError
from perfcore.model import Entry, Sample
from perfcore.model.listener import SilentListener

if TYPE_CHECKING:
    from perfcore.analysis.check_result import CheckResult
    from perfcore.analysis.sensitivity import CalibrationReport
    from perfcore.library import History, Name
    from perfcore.model.listener import Listener


def answer(
    history: History,
    *,
    target: Name | None = None,
    baseline: Name | None = None,
    contracts_of: str | None = None,
    calibrate: bool = False,
    method: str | None = None,
    threshold: float | None = None,
    keep: bool = False,
    listener: Listener | None = None,
) -> CheckResult | CalibrationReport:
    """The changes of a target; the contracts of a version, by its full id; or a calibration."""
    repository = history.repository
    if calibrate:
        return judges.calibrate(repository, method, store=keep, listener=listener or SilentListener())
    if contracts_of is not None:
        return checks.contracts(repository, contracts_of, listener)
    options = CheckOptions(
        method=method,
        thresholds={} if threshold is None else {"": threshold},
        rules=parse_rules(repository.config.get("check.fail_on")),
        store=keep,
    )
    return checks.check(repository, _asked(history, target, baseline), options, listener)


def _asked(history: History, target: Name | None, baseline: Name | None) -> CheckTarget:
    repository = history.repository
    if baseline is not None:
        if target is None:
            raise UsageError("a baseline wants a target")
        if isinstance(baseline, str) and isinstance(target, str):
            return targets.parse(repository, [baseline, target], repository.find)
        return ProfilePair(_sample(history, baseline), _sample(history, target))
    if isinstance(target, Entry):
        raise UsageError("an entry wants a baseline; a version has one of its own")
    if target is None or isinstance(target, str):
        return targets.parse(repository, [] if target is None else [target], repository.find)
    return Profiles(tuple(history.refs(target)))


def _sample(history: History, side: Name) -> Sample:
    profile = history.profile(side)
    version = history.refs(side)[0].version if isinstance(side, str) else None
    return Sample(version=version or profile.origin, profiles=(profile,), dirty=profile.dirty)
