"""The newest version of a long history, of which a scan cannot tell whether it is an outlier or the first of a level.

Where its runs are far beyond all that the versions of its level vary by, and the comparison with the version before
calls them different as well, that is a step: the next version shows whether it stays.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from typing import TypeAlias

from msgspec.structs import replace

from perfcore.model import Change, Pairing
from perfcore.repository.repository import Repository
from perfcore_check_kit.history import SHORT, ScannedSeries
from perfcore_check_kit.series import ConfigHistory

_Subject: TypeAlias = tuple[str, str, str]  # configuration, benchmark and metric

# The comparison calls 0.9 % of unchanged versions different, which would be many in a history that is asked after each
# of its versions. What is also this far from its level is one in some ten thousand of normal noise.
_FAR = 5.0  # times the spread of the versions of a level
_BEYOND = 1.5  # times the distance of the farthest of them: a level may have outliers, or two modes
_FEWEST = 6  # versions of a level that tell how much they vary
_MOST = 24  # of them
_NORMAL = 1.4826  # standard deviations in a median absolute deviation of normal noise


def with_steps(
    repository: Repository,
    scanned: Sequence[ScannedSeries],
    thresholds: Mapping[str, float],
    progress: Callable[[int, int, str], None] = lambda done, total, text: None,
) -> list[ScannedSeries]:
    """The scanned series, each with the step that its newest version may be."""
    far = {_subject(series): machines for series in scanned if (machines := _machines_far(series))}
    if not far:
        return list(scanned)
    from perfcore_check_kit.pair_checks import compares_versions  # seldom needed, and most of a start is imports

    if not compares_versions(repository):
        return list(scanned)
    steps: dict[_Subject, list[Change]] = {}
    for line in {s.line.config_id: s.line for s in scanned if _subject(s) in far}.values():
        metrics = {_subject(series): series.primary for series in scanned if series.line.config_id == line.config_id}
        for subject, step in _steps(repository, line, metrics, far, thresholds, progress):
            steps.setdefault(subject, []).append(step)
    return [
        replace(series, changes=(*series.changes, *steps[_subject(series)])) if _subject(series) in steps else series
        for series in scanned
    ]


def _subject(series: ScannedSeries) -> _Subject:
    return series.line.config_id, series.series.resource, series.series.metric


def _machines_far(scanned: ScannedSeries) -> set[str]:
    """The machines on which the newest version of a long line is far from the level that those before it have, without
    a change that the scan shows there."""
    versions, newest = scanned.line.versions, scanned.line.versions[-1].version.id
    if len(versions) < SHORT or any(newest in (change.latest, change.until) for change in scanned.changes):
        return set()
    last = itertools.takewhile(lambda measured: measured.version.id == newest, reversed(versions))
    return {measured.environment for measured in last if _is_far(scanned, measured.environment)}


def _is_far(scanned: ScannedSeries, machine: str) -> bool:
    amounts = _amounts(scanned, machine)
    version, amount = next(amounts, ("", 0.0))
    level = [before for _, before in itertools.islice(amounts, _MOST)]
    if version != scanned.line.versions[-1].version.id or len(level) < _FEWEST:
        return False
    middle = _middle(level)
    distances = [abs(before - middle) for before in level]
    return abs(amount - middle) > max(_FAR * _NORMAL * _middle(distances), _BEYOND * max(distances))


def _amounts(scanned: ScannedSeries, machine: str) -> Iterator[tuple[str, float]]:
    """The versions that a machine measured, with their amounts, from the newest back to the last change."""
    starts = {change.target[:10] for change in scanned.changes}
    for measured, runs in zip(reversed(scanned.line.versions), reversed(scanned.series.values), strict=True):
        if runs and measured.environment == machine:
            yield measured.version.id, _middle(runs)
        if measured.version.id[:10] in starts:
            return


def _middle(amounts: Sequence[float]) -> float:
    """The median, of an even number the greater of the two in the middle."""
    return sorted(amounts)[len(amounts) // 2]


def _steps(
    repository: Repository,
    line: ConfigHistory,
    metrics: Mapping[_Subject, bool],
    far: Mapping[_Subject, Container[str]],
    thresholds: Mapping[str, float],
    progress: Callable[[int, int, str], None],
) -> Iterator[tuple[_Subject, Change]]:
    """Those of the series of a line that are far on these machines. `metrics` are all of its series, and whether each
    is a primary one: all are looked at, so that a check has to be as sure as if it compared them all."""
    from perfcore_check_kit import pairing
    from perfcore_check_kit.benchmark_pairs import expanded
    from perfcore_check_kit.pair_checks import CHANGED, placed, run_checks

    newest = line.versions[-1].version.id
    last = [measured for measured in line.versions if measured.version.id == newest]
    before = {m.environment: m for m in line.versions[: -len(last)]}  # the last one of each machine
    ends = replace(line, versions=(*(before[m.environment] for m in last if m.environment in before), *last))
    pairs = expanded(
        pairing.of_line(repository, ends, {metric for _, _, metric in metrics}),
        repository.config.get("benchmarks.renamed"),
    )
    resources = {resource for _, resource, metric in metrics if (line.config_id, resource, metric) in far}
    verdicts = run_checks(
        repository,
        [pair for pair in pairs if isinstance(pair, Pairing) and pair.benchmark in resources],
        thresholds=thresholds,
        lines=[line],
        comparisons=sum(metrics.values()),
        progress=progress,
    )
    following = {measured.version.id: measured.next_version for measured in line.versions}
    for verdict in verdicts:
        machine = verdict.pairing.target.profiles[0].environment_id
        for change in verdict.changes:
            subject = change.config_id, change.resource, change.metric
            if change.kind in CHANGED and machine in far.get(subject, ()):
                yield subject, replace(placed(change, verdict.pairing, following), primary=metrics[subject])
