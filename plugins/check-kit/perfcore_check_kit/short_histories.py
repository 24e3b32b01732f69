"""Histories with too few versions for a scan: each version is compared with the one before.

`perf check all` reports all of these comparisons, and whatever draws or searches a history takes the changes among
them, so that a short history has the same changes everywhere. Each pair is compared once, and the read model keeps all
verdicts on it.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

import msgspec
from msgspec.structs import replace

from perfcore.hookspecs import CHECK
from perfcore.model import Change, Pairing
from perfcore.repository.repository import Repository
from perfcore_check_kit import method_rules, outermost_versions, pairing
from perfcore_check_kit.benchmark_pairs import expanded
from perfcore_check_kit.history import SHORT, HistoryCheck, ScannedSeries, code_stamp, scan_series
from perfcore_check_kit.pair_checks import CHANGED, MethodVerdicts, compares_versions, placed, run_checks
from perfcore_check_kit.series import ConfigHistory

_Subject: TypeAlias = tuple[str, str, str]  # configuration, benchmark and metric

_RESULTS = "verdicts on short histories"
_DECODER = msgspec.msgpack.Decoder(tuple[str, tuple[Change, ...]])


def scan_branch(
    repository: Repository,
    selected: Sequence[ScannedSeries],
    check: HistoryCheck | None,
    thresholds: Mapping[str, float],
    progress: Callable[[int, int, str], None] = lambda done, total, text: None,
    among: Sequence[ScannedSeries] = (),
    *,
    with_unchanged: bool = False,
) -> list[ScannedSeries]:
    """The series with the changes that `perf check all` reports of them: of long ones a scan's and the steps that their
    outermost versions may be, and of short ones the steps between successive versions; `with_unchanged` the other
    verdicts on these, too. `among` are all series of the branch; where there are none, as of functions, which no two
    versions are compared by, all are scanned. Without a check that scans, long ones have no changes."""
    if not among:
        return scan_series(repository, selected, check, thresholds, progress) if check else list(selected)
    is_short = [len(series.line.versions) < SHORT for series in selected]
    # Of short ones a scan tells where another machine measures, which no comparison of two versions does.
    is_scanned = [
        check is not None and (not short or len(set(series.series.environments)) > 1)
        for series, short in zip(selected, is_short, strict=True)
    ]
    to_scan = list(itertools.compress(selected, is_scanned))
    of_scan = scan_series(repository, to_scan, check, thresholds, progress, among) if check and to_scan else []
    scanned = iter(outermost_versions.with_steps(repository, of_scan, thresholds, progress))
    verdicts = _verdicts_of(repository, list(itertools.compress(selected, is_short)), thresholds, progress, among)
    results = []
    for series, short, has_scan in zip(selected, is_short, is_scanned, strict=True):
        result = next(scanned) if has_scan else series
        subject = series.line.config_id, series.series.resource, series.series.metric
        found = [change for change in verdicts.get(subject, ()) if with_unchanged or change.kind in CHANGED]
        results.append(replace(result, changes=_merged(result, found)) if short else result)
    return results


def _merged(series: ScannedSeries, verdicts: Sequence[Change]) -> tuple[Change, ...]:
    """The verdicts on a short series and the changes of the machine that a scan shows, in the order of its versions."""
    machines = [change for change in series.changes if change.kind == "machine" and change.environments]
    of_series = [replace(change, primary=series.primary) for change in verdicts]
    positions = {measured.version.id[:10]: measured.position for measured in reversed(series.line.versions)}
    return tuple(sorted([*machines, *of_series], key=lambda change: positions.get(change.target[:10], 0)))


def _verdicts_of(
    repository: Repository,
    selected: Sequence[ScannedSeries],
    thresholds: Mapping[str, float],
    progress: Callable[[int, int, str], None],
    among: Sequence[ScannedSeries],
) -> dict[_Subject, list[Change]]:
    """The verdicts on short series; none where the check that compares two versions is not installed."""
    if not selected or not compares_versions(repository):
        return {}
    lines, metrics = dict[str, ConfigHistory](), dict[str, set[str]]()
    for series in selected:
        lines[series.line.config_id] = series.line
        metrics.setdefault(series.line.config_id, set()).add(series.series.metric)
    # The metric that decides is compared in any case: how sure the others have to be depends on it.
    for series in (series for series in among if series.primary and series.line.config_id in metrics):
        metrics[series.line.config_id].add(series.series.metric)
    comparisons, verdicts = _comparisons(among), dict[_Subject, list[Change]]()
    for id, line in lines.items():
        for change in _verdicts(repository, line, frozenset(metrics[id]), comparisons, thresholds, progress):
            verdicts.setdefault((change.config_id, change.resource, change.metric), []).append(change)
    return verdicts


def _verdicts(
    repository: Repository,
    line: ConfigHistory,
    metrics: frozenset[str],
    comparisons: int,
    thresholds: Mapping[str, float],
    progress: Callable[[int, int, str], None],
) -> tuple[Change, ...]:
    """The verdicts on some metrics of a line. `comparisons` are made in all short lines of the branch: the more there
    are, the surer a check has to be. The read model keeps them until a profile is added."""
    model, measured = repository.store.read_model, [(m.version.id, m.next_version, m.profiles) for m in line.versions]
    key = _digest([line.config_id, sorted(metrics)])
    question = _digest([_methods(repository), comparisons, sorted(thresholds.items()), measured])
    with contextlib.suppress(msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        stored_question, stored = _DECODER.decode(model.get(_RESULTS, key) or b"")
        if stored_question == question:
            return stored
    pairs = expanded(pairing.of_line(repository, line, metrics), repository.config.get("benchmarks.renamed"))
    of_pairs = run_checks(
        repository,
        [pair for pair in pairs if isinstance(pair, Pairing)],
        thresholds=thresholds,
        lines=[line],
        comparisons=comparisons,
        progress=progress,
    )
    verdicts = tuple(change for verdict in settled(of_pairs, [line]) for change in _of_versions(verdict))
    with contextlib.suppress(UnicodeEncodeError):  # what has a name that is no Unicode is not kept
        model.put(_RESULTS, {key: msgspec.msgpack.encode((question, verdicts))})
    return verdicts


def _of_versions(verdict: MethodVerdicts) -> Iterator[Change]:
    """Its changes, each with the full ids of the versions that it is of: those that are no steps are of one."""
    target = verdict.pairing.target.version or ""
    for change in verdict.changes:
        yield change if change.earliest else replace(change, earliest=target, latest=target)


def settled(verdicts: Sequence[MethodVerdicts], lines: Iterable[ConfigHistory]) -> list[MethodVerdicts]:
    """The verdicts on the successive versions of lines, oldest first, with the versions that each change may have come
    with, and the later version that took it back."""
    following = {measured.version.id: measured.next_version for line in lines for measured in line.versions}
    located = [[placed(change, verdict.pairing, following) for change in verdict.changes] for verdict in verdicts]
    for steps in _series(verdicts, located):
        for index, later in _undone([located[row][column] for row, column in steps]).items():
            row, column = steps[index]
            change, by = located[row][column], located[steps[later][0]][steps[later][1]].latest
            evidence = f"{change.evidence}; undone in {by[:10]}"
            located[row][column] = replace(change, undone=by, evidence=evidence)
    return [replace(verdict, changes=tuple(steps)) for verdict, steps in zip(verdicts, located, strict=True)]


def _comparisons(series: Iterable[ScannedSeries]) -> int:
    """How many comparisons of a version with the one before all short lines of a branch are."""
    counts: dict[tuple[str, str], int] = {}
    for scanned in series:
        if len(scanned.line.versions) >= SHORT:
            continue
        environments = [
            m.environment for m, values in zip(scanned.line.versions, scanned.series.values, strict=True) if values
        ]
        key = scanned.line.config_id, scanned.series.resource
        counts[key] = max(counts.get(key, 0), len(environments) - len(set(environments)))
    return sum(counts.values())


def _series(verdicts: Sequence[MethodVerdicts], changes: Sequence[Sequence[Change]]) -> Iterator[list[tuple[int, int]]]:
    """The places of the steps of each metric of a command or benchmark on one machine, as one method sees it."""
    places: dict[tuple[str, ...], list[tuple[int, int]]] = {}
    for row, verdict in enumerate(verdicts):
        machine = verdict.pairing.target.profiles[0].environment_id
        for column, change in enumerate(changes[row]):
            if change.kind in CHANGED and min(change.baseline_value or 0.0, change.target_value or 0.0) > 0:
                key = verdict.method, machine, change.config_id, change.resource, change.metric
                places.setdefault(key, []).append((row, column))
    yield from places.values()


def _undone(steps: Sequence[Change]) -> dict[int, int]:
    """The number of the later step that brought the level before a step back, for each that has one: to within a
    quarter of the step and the errors, at most half, as in a scan. All steps in between that the level passes on its
    way back are undone with it."""
    undone: dict[int, int] = {}
    for index, step in enumerate(steps):
        for later in range(index + 1, len(steps)):
            if not _takes_back(steps[later], step):
                continue
            between = (n for n in range(index, later) if steps[n].kind == step.kind)
            passed = (n for n in between if _beyond(steps[n], steps[later]) <= _near(steps[n], steps[later]))
            undone = {**dict.fromkeys(passed, later), **undone}
            break
    return undone


def takes_back(later: Change, step: Change) -> bool:
    """Whether a later step of the same series brought the level before a step back."""
    values = (step.baseline_value, step.target_value, later.target_value)
    is_step = later.kind in CHANGED and step.kind in CHANGED
    return is_step and all(value is not None and value > 0 for value in values) and _takes_back(later, step)


def _takes_back(later: Change, step: Change) -> bool:
    return later.kind != step.kind and abs(_beyond(step, later)) <= _near(step, later)


def _beyond(step: Change, later: Change) -> float:
    """How far the level after the later step is from that before the first, in the direction of the first."""
    assert step.baseline_value is not None
    assert step.target_value is not None
    assert later.target_value is not None
    distance = math.log(later.target_value / step.baseline_value)
    return math.copysign(1.0, step.target_value - step.baseline_value) * distance


def _near(step: Change, later: Change) -> float:
    assert step.baseline_value is not None
    assert step.target_value is not None
    size = abs(math.log(step.target_value / step.baseline_value))
    return min(size / 4 + math.hypot(_error(step), _error(later)), size / 2)


def _error(change: Change) -> float:
    """Half of the interval."""
    if not (change.low and change.high and change.low > 0):
        return 0.0
    return math.log(change.high / change.low) / 2


def _digest(facts: object) -> str:
    return hashlib.sha1(json.dumps(facts, default=str).encode(), usedforsecurity=False).hexdigest()


def _methods(repository: Repository) -> str:
    """What decides how two versions are compared: the configuration, and the plugins that it names."""
    rules = repository.trusted("check.rules")
    configured = [repository.config.get(key) for key in ("check.apply", "check.thresholds", "benchmarks.renamed")]
    names = {str(repository.trusted("check.name")), *(rule.method for rule in method_rules.read(rules))}
    drivers = []
    for name in sorted(names & set(repository.plugins.names("check"))):
        options = repository.plugin_options("check", name)
        plugin, driver = repository.plugins.make(CHECK, name, options)
        drivers.append((name, plugin.version, options, code_stamp(driver)))
    return json.dumps([rules, configured, drivers], sort_keys=True, default=str)
