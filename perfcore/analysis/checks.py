"""A check from the question to its outcome: what `perf check` and the library do alike."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence

import attrs

from perfcore.analysis import acceptance, history, last_checked, verdict_text
from perfcore.analysis import pairing as pairings
from perfcore.analysis import series as histories
from perfcore.analysis.check_result import CheckResult
from perfcore.analysis.contracts import contract
from perfcore.analysis.contracts.evaluate import fulfilled
from perfcore.analysis.fail_on import DEFAULT, FailRule, combined
from perfcore.analysis.findings import Findings, Kept, of_contracts, of_pairs, of_scans
from perfcore.analysis.history import HistoryCheck
from perfcore.analysis.pair_checks import run_checks
from perfcore.analysis.pairing import Unpaired
from perfcore.analysis.stored_results import Results
from perfcore.analysis.target import CheckTarget, ProfilePair, Profiles, Range, Version
from perfcore.config.layers import KEYS, read_bytes
from perfcore.errors import NotFoundError, PerfError
from perfcore.model import EMPTY, Pairing
from perfcore.repository.repository import Repository
from perfcore.store.lookup import Ref
from perfcore.text import brief, printable

_UNMEASURED = "none of these versions has a profile that can be compared"
_MEASURE = "perf collect time --all --add -- COMMAND"


@attrs.frozen(kw_only=True)
class CheckOptions:
    """How a check is done: by one `method`, or else as configured; with `thresholds` beside those of the configuration.
    `progress(done, total, text)` and `note(text)` tell people."""

    method: str | None = None
    thresholds: Mapping[str, float] = EMPTY
    progress: Callable[[int, int, str], None] = lambda done, total, text: None
    note: Callable[[str], None] = lambda text: None


def check(
    repository: Repository, asked: CheckTarget, how: CheckOptions, *, rules: tuple[FailRule, ...] = DEFAULT, store: bool
) -> CheckResult:
    """What was found, with what people accepted of it. `rules` say what fails the build, and with `store` the result
    is kept with the versions it is of."""
    found = _found(repository, asked, how)
    outcome = CheckResult(
        changes=found.changes,
        unpaired=found.unpaired,
        accepted=acceptance.of_changes(found.changes, acceptance.accepted(repository.store)),
        rules=rules,
        conclusion="\n".join(found.conclusions),
        compared=found.compared,
        metrics=found.metrics,
    )
    for metric in filter(None, how.thresholds if found.metrics else ()):
        if metric not in found.metrics:
            known = ", ".join(map(printable, sorted(found.metrics)))
            how.note(f"the threshold of {brief(metric)} is of nothing that was compared ({known})")
    if store:
        _keep(repository, found.kept)
        if (version := _version_of(repository, asked)) is not None:
            last_checked.remember(repository, version, time.time_ns())
    repository.plugins.emit("check_done", changes=outcome.changes)
    return outcome


def scanning(repository: Repository, how: CheckOptions) -> HistoryCheck | None:
    """The check of histories; None where it is one that compares two versions."""
    name = how.method or str(repository.trusted("check.history"))
    default = how.method is None and name == KEYS["check.history"].default
    if default and name not in repository.plugins.names("check"):
        how.note(f"each version is compared with the one before; perfcore-check-{name} would see them all")
        return None
    return HistoryCheck.configured(repository, name)


def _found(repository: Repository, asked: CheckTarget, how: CheckOptions) -> Findings:
    if isinstance(asked, Range):
        return _of_history(repository, asked, how)
    if isinstance(asked, Version):
        agreed = contract.parse(read_bytes(repository.root / contract.FILE) or b"", contract.FILE)
        found = _of_pairs(repository, _of_version(repository, asked.id), how, registered=True)
        return _with_contracts(repository, found, asked.id, agreed)
    if isinstance(asked, ProfilePair):
        return _of_pairs(repository, [_of_two(repository, asked, how)], how, registered=False)
    return _of_profiles(repository, asked, how)


def _with_contracts(
    repository: Repository, found: Findings, version: str, agreed: Sequence[contract.Contract]
) -> Findings:
    """What was found of a version, with the verdicts on its contracts."""
    changes, judged = fulfilled(repository, version, agreed, found.changes) if agreed else (found.changes, ())
    configs = {entry.config_id for entry in repository.entries(version) if entry.config_id}
    found = attrs.evolve(found, kept=(*found.kept, of_contracts(version, configs, judged)))
    if not judged:
        return found
    allowed = verdict_text.comparisons(found.changes) - verdict_text.comparisons(changes)
    conclusions = (verdict_text.conclusion(changes, allowed), verdict_text.contracts_conclusion(judged))
    compared = found.compared + len(judged)
    return attrs.evolve(found, changes=(*changes, *judged), conclusions=conclusions, compared=compared)


def _of_history(repository: Repository, asked: Range, how: CheckOptions) -> Findings:
    """The changes of a history or a range of it, and a line that says what was looked at. Where a configuration has
    only few versions, or the check does not scan, each version is compared with the one before."""
    before = _before(repository, asked)
    if repository.version(asked.end or None) in before:
        return Findings(conclusions=(f"{printable(asked.start)}..{printable(asked.end)} holds no version",))
    scan = scanning(repository, how)
    lines = histories.config_histories(repository, repository.version(asked.end or None))
    if not lines:
        raise NotFoundError(_UNMEASURED, hint=_MEASURE)
    long = [line for line in lines if scan and (how.method or len(line.versions) >= history.SHORT)]
    found = history.select_series(repository, long)
    if scan:
        smallest = combined(pairings.thresholds_of(repository), how.thresholds)
        found = history.scan_series(repository, found, scan, smallest, how.progress)
    for label, metric, version in history.discontinued(found):
        last = f"{printable(metric)} was last measured at {version[:10]}"
        how.note(f"{printable(label)}: {last}; no later version is checked by it")
    changes = history.changes(found)
    changes = [change for change in changes if change.latest not in before]
    made = Findings()
    if scan and found:
        concluded = verdict_text.history_conclusion(changes, len(found), history.versions(found))
        kept = of_scans(scan.phases.found.name, found)
        metrics = frozenset(one.series.metric for one in found)
        made = Findings(
            changes=tuple(changes), conclusions=(concluded,), compared=len(found), metrics=metrics, kept=(kept,)
        )
    if short := {line.config_id for line in lines} - {line.config_id for line in long}:
        pairs = [p for p in _one_by_one(repository, asked, before) if p.config_id in short]
        if pairs or not made.conclusions:
            compared = attrs.evolve(how, method=None if scan else how.method)
            made = made.and_also(_of_pairs(repository, pairs, compared, registered=True))
    return made


def _before(repository: Repository, asked: Range) -> frozenset[str]:
    """A and what it comes from, where a range A..B was asked for."""
    if not asked.start:
        return frozenset()
    return frozenset(version.id for version in repository.vcs.walk_minor_versions(repository.version(asked.start)))


def _one_by_one(repository: Repository, asked: Range, before: Container[str]) -> Iterator[Pairing | Unpaired]:
    """The versions of a branch or a range of it, each against the one before: along the first parents, so that no
    version is compared with one that it does not come from."""
    walked = histories.first_parents(repository.walk(repository.version(asked.end or None)))
    line = [(version.id, entries) for version, entries in walked if entries][::-1]
    wanted = {version for version, _ in line if version not in before}
    return pairings.of_history(repository, line, wanted)


def _of_pairs(
    repository: Repository, pairs: Iterable[Pairing | Unpaired], how: CheckOptions, *, registered: bool
) -> Findings:
    given = list(pairs)
    found = run_checks(
        repository,
        [item for item in given if isinstance(item, Pairing)],
        method=how.method,
        thresholds=how.thresholds,
        progress=how.progress,
    )
    changes = tuple(change for each in found for change in each.changes)
    return Findings(
        changes=changes,
        unpaired=tuple(item for item in given if isinstance(item, Unpaired)),
        conclusions=(verdict_text.conclusion(changes),),
        compared=verdict_text.comparisons(changes),
        metrics=frozenset(change.metric for change in changes),
        kept=(of_pairs(found),) if registered else (),
    )


def _of_version(repository: Repository, version: str) -> Iterator[Pairing | Unpaired]:
    if not repository.entries(version):
        raise NotFoundError(
            f"version {version[:10]} has no profiles: there is nothing to check",
            hint="measure and register it: perf collect time --add -- COMMAND",
        )
    return pairings.of_version(repository, version)


def _of_profiles(repository: Repository, asked: Profiles, how: CheckOptions) -> Findings:
    pairs = itertools.chain.from_iterable(_of_profile(repository, ref) for ref in asked.refs)
    registered = all(ref.entry is not None for ref in asked.refs)
    return _of_pairs(repository, pairs, how, registered=registered)


def _of_profile(repository: Repository, ref: Ref) -> Iterable[Pairing | Unpaired]:
    if ref.entry is not None and ref.version is not None:
        return pairings.of_version(repository, ref.version, ref.entry.config_id)
    return [pairings.of_dirty(repository, repository.load(ref))]


def _of_two(repository: Repository, asked: ProfilePair, how: CheckOptions) -> Pairing:
    if unlike := pairings.configuration_difference(asked.baseline.profiles[0], asked.target.profiles[0]):
        how.note(f"these were not measured alike: {unlike}")
    return pairings.of_profiles(repository, asked.baseline, asked.target)


def _version_of(repository: Repository, asked: CheckTarget) -> str | None:
    """The version that was asked for, or the last one of a history."""
    if isinstance(asked, Range):
        return repository.version(asked.end or None)
    return asked.id if isinstance(asked, Version) else None


def _keep(repository: Repository, found: Sequence[Kept]) -> None:
    """Keep what was found, for `log` and `status`. A store that cannot be written is no reason to fail."""
    results = Results(repository.store, repository.vcs_name)
    try:
        for kept in found:
            for method, changes in sorted(kept.items()):
                results.keep(method, changes, time.time_ns())
    except (PerfError, OSError) as error:
        repository.plugins.warn(f"the result is not kept: {error}")
