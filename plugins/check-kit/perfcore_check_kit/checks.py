"""The engine of checks: from a target and options to one result, for the command line and the library."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from perfcore.analysis import decisions
from perfcore.analysis.change_json import by_beginning
from perfcore.analysis.check_result import CheckResult
from perfcore.analysis.fail_on import DEFAULT, FailRule
from perfcore.analysis.stored_results import Results, remember_check
from perfcore.config.layers import KEYS
from perfcore.errors import NotFoundError, PerfError
from perfcore.model import EMPTY, Change, Pairing
from perfcore.repository.repository import Repository
from perfcore.text import brief, plural, printable
from perfcore_check_kit import conclusions, history, missing_history, outermost_versions
from perfcore_check_kit import series as series_of
from perfcore_check_kit.findings import Findings, MethodResults, of_judgement, of_pairs, of_scans
from perfcore_check_kit.history import HistoryCheck, ScannedSeries
from perfcore_check_kit.run_values import is_judged
from perfcore_check_kit.series import ConfigHistory
from perfcore_check_kit.target import CheckTarget, ProfilePair, Profiles, Range, Version, VersionPair
from perfcore_check_kit.thresholds import combined, thresholds_of

if TYPE_CHECKING:
    from perfcore.model import Unpaired
    from perfcore.model.decisions import Standing
    from perfcore.model.listener import Listener
    from perfcore.store.lookup import Ref

_UNMEASURED = "none of these versions has a profile that can be compared"


class CheckOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How a check is done: by one `method`, or else as configured; with `thresholds` in addition to the configured
    ones. `metric` decides between two samples instead of the primary one, and those of `also` are judged where others
    tell more. `rules` say what fails the build, and `store` whether the result is stored with the versions."""

    method: str | None = None
    metric: str | None = None
    also: tuple[str, ...] = ()
    thresholds: Mapping[str, float] = EMPTY
    rules: tuple[FailRule, ...] = DEFAULT
    store: bool = False


def check(
    repository: Repository, target: CheckTarget, options: CheckOptions, listener: Listener | None = None
) -> CheckResult:
    """The changes of a target, with the acceptances that hold for them."""
    if listener is None:
        from perfcore.model.listener import SilentListener

        listener = SilentListener()
    run = _Run(repository, options, listener)
    findings = run.findings(target)
    standings = _decisions(repository, target, findings)
    result = CheckResult(
        changes=findings.changes,
        unpaired=findings.unpaired,
        accepted={id: standing.decision for id, standing in standings.items() if standing.silences},
        decisions=standings,
        rules=options.rules,
        conclusion="\n".join(findings.conclusions),
        compared=findings.compared,
        metrics=findings.metrics,
        benchmarks=findings.benchmarks,
        versions=findings.versions,
    )
    run.note_unused_thresholds(findings.metrics)  # else a mistyped metric keeps its default without a word
    if options.store and not (isinstance(target, Range) and target.part):  # a part tells less than the whole
        _store(repository, findings.results)
        if (version := _version_of(repository, target)) is not None:
            remember_check(repository.store, version, time.time_ns())
    repository.plugins.emit("check_done", changes=result.changes)
    return result


def contracts(repository: Repository, version: str, listener: Listener | None = None) -> CheckResult:
    """The verdicts of the judges on a version, without the comparisons that they rest on."""
    result = check(repository, Version(version), CheckOptions(), listener)
    verdicts = tuple(change for change in result.changes if change.contract)
    conclusion = conclusions.of_contracts(verdicts)
    return replace(result, changes=verdicts, unpaired=(), conclusion=conclusion, compared=len(verdicts))


def history_check(repository: Repository, method: str | None, listener: Listener) -> HistoryCheck | None:
    """The check of histories; None where it is one that compares two versions."""
    name = method or str(repository.trusted("check.history"))
    default = method is None and name == KEYS["check.history"].default
    if default and name not in repository.plugins.names("check"):  # one that was chosen is an error
        listener.note(f"each version is compared with the one before; perfcore-check-{name} uses all at once")
        return None
    return HistoryCheck.configured(repository, name)


class _Run(msgspec.Struct, frozen=True):
    """One run of the checks."""

    repository: Repository
    options: CheckOptions
    listener: Listener

    def findings(self, target: CheckTarget) -> Findings:
        if isinstance(target, Range):
            return self._of_history(target)
        if isinstance(target, Version):
            compared = self._of_pairs(self._of_version(target.id), registered=True)
            return self._judged(self._with_drifts(compared, target.id), target.id)
        if isinstance(target, VersionPair):
            return self._of_versions(target)
        if isinstance(target, ProfilePair):
            return self._of_pairs([self._named_pair(target)], registered=False)
        return self._of_profiles(target)

    def note_unused_thresholds(self, metrics: frozenset[str]) -> None:
        for metric in filter(None, self.options.thresholds if metrics else ()):  # "" is every metric
            if metric not in metrics:
                compared = ", ".join(map(printable, sorted(metrics)))
                self.listener.note(f"--threshold names {brief(metric)}, but the compared metrics are {compared}")

    def _with_drifts(self, findings: Findings, version: str) -> Findings:
        """The findings with the drifts that go on until this version, which no comparison of two versions shows."""
        name = str(self.repository.trusted("check.history"))
        if self.options.method or name not in self.repository.plugins.names("check"):
            return findings
        lines = series_of.config_histories(self.repository, version)
        every = history.select_series(self.repository, [x for x in lines if len(x.versions) >= history.SHORT])
        named = {rule.metric for rule in self.options.rules}
        deciding = [scanned for scanned in every if scanned.primary or scanned.series.metric in named]
        scan = HistoryCheck.configured(self.repository, name) if deciding else None
        if scan is None:
            return findings
        smallest = combined(thresholds_of(self.repository), self.options.thresholds)
        scanned = history.scan_series(self.repository, deciding, scan, smallest, self.listener.progress, every)
        drifts = [change for change in history.changes(scanned) if change.until == version and not change.undone]
        changes = (*findings.changes, *drifts)
        versions = {**findings.versions, **_full_ids(lines)}
        return replace(findings, changes=changes, conclusions=(conclusions.of_comparisons(changes),), versions=versions)

    def _judged(self, findings: Findings, version: str) -> Findings:
        """The findings on a version with the verdicts of its judges."""
        from perfcore_check_kit import judges

        configs = {entry.config_id for entry in self.repository.entries(version) if entry.config_id}
        compared = findings
        for judgement in judges.judgements(self.repository, version, compared.changes):
            results = (*findings.results, of_judgement(version, configs, judgement))
            findings = replace(findings, results=results)
            if not judgement.verdicts:
                continue
            changes = tuple(
                replace(change, primary=False) if change.id in judgement.allowed else change
                for change in findings.changes
            )
            findings = replace(
                findings,
                changes=(*changes, *judgement.verdicts),
                compared=findings.compared + len(judgement.verdicts),
                versions={**findings.versions, version[:10]: version},
            )
        verdicts = [change for change in findings.changes if change.contract]
        if not verdicts:
            return findings
        allowed = conclusions.count(compared.changes) - conclusions.count(findings.changes)
        lines = conclusions.of_comparisons(findings.changes, allowed), conclusions.of_contracts(verdicts)
        return replace(findings, conclusions=lines)

    def _of_history(self, target: Range) -> Findings:
        """The changes of a history or a range of it. Where a configuration has only few versions, or the check does not
        scan, each version is compared with the one before."""
        repository, options = self.repository, self.options
        ancestors = _ancestors(repository, target)
        if repository.version(target.end or None) in ancestors:
            return Findings(conclusions=(f"{printable(target.start)}..{printable(target.end)} holds no version",))
        scan = history_check(repository, options.method, self.listener)
        lines = series_of.config_histories(repository, repository.version(target.end or None))
        if missing := missing_history.note(repository):
            self.listener.note(missing)
        part: frozenset[str] | None = None
        if target.part:
            part = frozenset(v.id for v in target.part.of(repository, series_of.branch_versions(lines)))
            lines, scan = series_of.restricted(lines, part), scan and replace(scan, key="")
        if not lines:
            collector = repository.plugins.usual_collector()
            raise NotFoundError(_UNMEASURED, hint=f"perf collect {collector} --all --add -- COMMAND")
        # A check that the user named scans short histories, too.
        long = [line for line in lines if scan and (options.method or len(line.versions) >= history.SHORT)]
        findings = self._of_scan(scan, long, ancestors) if scan else Findings()
        if short := {line.config_id for line in lines} - {line.config_id for line in long}:
            pairs = [pair for pair in _successive_pairs(repository, target, ancestors, part) if pair.config_id in short]
            if pairs or not findings.conclusions:
                # A method that scans cannot compare two versions: the configured one does.
                pairwise = replace(self, options=replace(options, method=None if scan else options.method))
                findings = findings.merge(pairwise._of_pairs(pairs, registered=True, lines=lines))
        if findings.compared or findings.unpaired:
            return findings
        return replace(findings, unpaired=tuple(_alone(line) for line in lines if _newest(line) not in ancestors))

    def _of_scan(self, scan: HistoryCheck, lines: Sequence[ConfigHistory], ancestors: Container[str]) -> Findings:
        """The changes of long histories, and a line that says how much was scanned."""
        smallest = combined(thresholds_of(self.repository), self.options.thresholds)
        every, measured = history.select_series(self.repository, lines), dict[tuple[str, str], set[str]]()
        for of_metric in every:
            measured.setdefault(_subject(of_metric), set()).add(of_metric.series.metric)
        selected = [s for s in every if is_judged(s.series.metric, measured[_subject(s)], self._named)]
        scanned = history.scan_series(self.repository, selected, scan, smallest, self.listener.progress)
        scanned = outermost_versions.with_steps(self.repository, scanned, smallest, self.listener.progress)
        for label, last in history.discontinued(scanned):
            self.listener.note(f"{printable(label)}: {printable(last)}; no later version is checked by it")
        if not scanned:
            return Findings()
        changes = [change for change in history.changes(scanned) if change.latest not in ancestors]
        extent = f"{plural(len(scanned), 'series', 'series')} over {plural(history.versions(scanned), 'version')}"
        return Findings(
            changes=tuple(changes),
            unpaired=tuple(
                _elsewhere(line) for line in lines if _newest(line) not in ancestors and _is_elsewhere(line)
            ),
            conclusions=(conclusions.of_history(changes, extent),),
            compared=len(scanned),
            metrics=frozenset(series.series.metric for series in scanned),
            benchmarks=frozenset(series.series.resource for series in scanned),
            results=(of_scans(scan.phases.info.name, scanned),),
            versions=_full_ids(lines),
        )

    def _of_pairs(
        self, pairs: Iterable[Pairing | Unpaired], *, registered: bool, lines: Sequence[ConfigHistory] = ()
    ) -> Findings:
        """The verdicts on pairs; those of a history, if they are of `lines`."""
        from perfcore.model import Unpaired
        from perfcore_check_kit.benchmark_pairs import expanded
        from perfcore_check_kit.pair_checks import run_checks
        from perfcore_check_kit.short_histories import settled

        candidates = list(expanded(pairs, self.repository.config.get("benchmarks.renamed")))
        verdicts = run_checks(
            self.repository,
            [pair for pair in candidates if isinstance(pair, Pairing)],
            method=self.options.method,
            metric=self.options.metric,
            thresholds=self.options.thresholds,
            progress=self.listener.progress,
        )
        if lines:
            verdicts = settled(verdicts, lines)
        for index, verdict in enumerate(verdicts):
            measured = {change.metric for change in verdict.changes}
            judged = tuple(c for c in verdict.changes if is_judged(c.metric, measured, self._named))
            verdicts[index] = replace(verdict, changes=judged)
        changes = tuple(change for verdict in verdicts for change in verdict.changes)
        return Findings(
            changes=changes,
            unpaired=tuple(pair for pair in candidates if isinstance(pair, Unpaired)),
            conclusions=(conclusions.of_comparisons(changes),),
            compared=conclusions.count(changes),
            metrics=frozenset(change.metric for change in changes),
            benchmarks=frozenset(change.resource for change in changes),
            results=(of_pairs(verdicts),) if registered else (),
            versions=by_beginning(
                sample.version for each in verdicts for sample in (each.pairing.baseline, each.pairing.target)
            ),
        )

    @property
    def _named(self) -> set[str | None]:
        """The metrics that the user names, by an option or in the configuration."""
        thresholds = combined(thresholds_of(self.repository), self.options.thresholds)
        return {self.options.metric, *self.options.also, *thresholds, *(rule.metric for rule in self.options.rules)}

    def _of_version(self, version: str) -> Iterator[Pairing | Unpaired]:
        from perfcore_check_kit import missing_measurements
        from perfcore_check_kit import pairing as pairings

        if not self.repository.entries(version):
            raise NotFoundError(
                f"version {version[:10]} has no profiles: there is nothing to check",
                hint=_way_to_measure(self.repository, version),
            )
        pairs = pairings.of_version(self.repository, version)
        return itertools.chain(pairs, missing_measurements.of_version(self.repository, version))

    def _of_versions(self, target: VersionPair) -> Findings:
        """The largest changes first: of two releases everything that differs is of interest."""
        from perfcore_check_kit import pairing as pairings

        pairs = pairings.of_versions(self.repository, target.baseline, target.target)
        findings = self._of_pairs(pairs, registered=False)
        return replace(findings, changes=tuple(sorted(findings.changes, key=_by_effect)))

    def _of_profiles(self, target: Profiles) -> Findings:
        pairs = itertools.chain.from_iterable(self._of_profile(ref) for ref in target.refs)
        return self._of_pairs(pairs, registered=all(ref.entry is not None for ref in target.refs))

    def _of_profile(self, ref: Ref) -> Iterable[Pairing | Unpaired]:
        from perfcore_check_kit import pairing as pairings

        if ref.entry is not None and ref.version is not None:
            return pairings.of_version(self.repository, ref.version, ref.entry.config_id)
        return [pairings.of_dirty(self.repository, self.repository.load(ref))]

    def _named_pair(self, target: ProfilePair) -> Pairing:
        from perfcore_check_kit import pairing as pairings

        difference = pairings.configuration_difference(target.baseline.profiles[0], target.target.profiles[0])
        if difference:
            self.listener.note(f"the two profiles differ in configuration: {difference}")
        return pairings.of_profiles(self.repository, target.baseline, target.target)


def _full_ids(lines: Iterable[ConfigHistory]) -> Mapping[str, str]:
    return by_beginning(measured.version.id for line in lines for measured in line.versions)


def _subject(scanned: ScannedSeries) -> tuple[str, str]:
    """The command or benchmark of a series."""
    return scanned.series.config_id, scanned.series.resource


def _by_effect(change: Change) -> tuple[bool, bool, float]:
    """Primary metrics first, and of these what changed, by the size of the change."""
    size = abs(math.log(change.ratio)) if change.ratio is not None and change.ratio > 0 else 0.0
    return not change.primary, change.kind not in ("degradation", "optimization"), -size


def _decisions(repository: Repository, target: CheckTarget, findings: Findings) -> Mapping[str, Standing]:
    """The decisions on what was found, those of the working tree among them."""
    if not (findings.changes and decisions.exist(repository)):
        return EMPTY
    engine = decisions.standings(repository, _version_of(repository, target))
    standings: Mapping[str, Standing] = engine.on(findings.changes, frozenset(findings.versions.values()))
    return standings


def _ancestors(repository: Repository, target: Range) -> frozenset[str]:
    """A and its ancestors, where a range A..B was asked for."""
    if not target.start:
        return frozenset()
    return frozenset(version.id for version in repository.vcs.walk_minor_versions(repository.version(target.start)))


def _way_to_measure(repository: Repository, version: str) -> str:
    """The command that registers what was measured of a version, or measures it, with its baseline where others
    were."""
    profiles = (pending.profile for pending in repository.pending())
    if any(p is not None and p.origin == version and not p.dirty and not p.incomplete for p in profiles):
        return "its profiles are still pending: perf status lists them, perf add registers them"
    is_head = version == repository.version()
    if any(entries for _, entries in repository.walk(version)):
        return f"measure it with its baseline: perf check {'' if is_head else f'{version[:10]} '}--collect"
    option = "" if is_head else f"--version {version[:10]} "
    return f"measure and register it: perf collect {repository.plugins.usual_collector()} {option}--add -- COMMAND"


def _newest(line: ConfigHistory) -> str:
    return line.versions[-1].version.id


def _alone(line: ConfigHistory) -> Unpaired:
    """Why a configuration was compared with nothing, where nothing was."""
    return _unpaired(line, "no other of these versions was measured in this configuration")


def _is_elsewhere(line: ConfigHistory) -> bool:
    """Whether the newest version of a line is the first that its machine measured."""
    newest = [m.environment for m in line.versions if m.version.id == _newest(line)]
    before = {m.environment for m in line.versions if m.version.id != _newest(line)}
    return bool(before) and before.isdisjoint(newest)


def _elsewhere(line: ConfigHistory) -> Unpaired:
    """That it is compared with nothing: what comes later on the machine will be."""
    before = [m.version.id for m in line.versions if m.version.id != _newest(line)]
    return _unpaired(line, f"{before[-1][:10]} was measured on another machine")


def _unpaired(line: ConfigHistory, reason: str) -> Unpaired:
    from perfcore.model import Unpaired

    return Unpaired(label=line.label, config_id=line.config_id, version=_newest(line), reason=reason)


def _successive_pairs(
    repository: Repository, target: Range, ancestors: Container[str], part: Container[str] | None
) -> Iterator[Pairing | Unpaired]:
    """The versions of a branch or a range of it, each against the one before; of a `part` against the one in it."""
    # Along first parents: what stands before a version in the walk may be of a side line, and no ancestor of it.
    from perfcore_check_kit import pairing as pairings

    walk = series_of.first_parents(repository.walk(repository.version(target.end or None)))
    measured = [(v.id, entries) for v, entries in walk if entries and (part is None or v.id in part)][::-1]
    return pairings.of_history(repository, measured, {version for version, _ in measured if version not in ancestors})


def _version_of(repository: Repository, target: CheckTarget) -> str | None:
    """The version that was asked for, or the last one of a history."""
    if isinstance(target, Range):
        return repository.version(target.end or None)
    return target.id if isinstance(target, Version) else None


def _store(repository: Repository, findings: Sequence[MethodResults]) -> None:
    """Store the results, for `log` and `status`."""
    results = Results(repository.store, repository.vcs_name)
    try:
        for by_method in findings:
            for method, changes in sorted(by_method.items()):
                results.keep(method, changes, time.time_ns())
    except (PerfError, OSError) as error:  # a store that cannot be written is no reason to fail
        repository.plugins.warn(f"the result is not kept: {error}")
