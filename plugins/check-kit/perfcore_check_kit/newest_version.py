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
    far = [series for series in scanned if _is_far(series)]
    if not far:
        return list(scanned)
    from perfcore_check_kit.pair_checks import compares_versions  # seldom needed, and most of a start is imports

    if not compares_versions(repository):
        return list(scanned)
    steps: dict[_Subject, Change] = {}
    for line in {series.line.config_id: series.line for series in far}.values():
        metrics = {_subject(series): series.primary for series in scanned if series.line.config_id == line.config_id}
        steps |= _steps(repository, line, metrics, set(map(_subject, far)), thresholds, progress)
    return [
        replace(series, changes=(*series.changes, steps[_subject(series)])) if _subject(series) in steps else series
        for series in scanned
    ]


def _subject(series: ScannedSeries) -> _Subject:
    return series.line.config_id, series.series.resource, series.series.metric


def _is_far(scanned: ScannedSeries) -> bool:
    """Whether the newest version of a long line is far from the level that those before it have, without a change that
    the scan shows there."""
    versions, series = scanned.line.versions, scanned.series
    newest = versions[-1]
    if len(versions) < SHORT or not series.values[-1] or _ends_with_change(scanned, newest.version.id):
        return False
    level = list(itertools.islice(_level_before(scanned), _MOST))
    if len(level) < _FEWEST:
        return False
    middle = _middle(level)
    distances = [abs(amount - middle) for amount in level]
    usual = max(_FAR * _NORMAL * _middle(distances), _BEYOND * max(distances))
    return abs(_middle(series.values[-1]) - middle) > usual


def _middle(amounts: Sequence[float]) -> float:
    """The median, of an even number the greater of the two in the middle."""
    return sorted(amounts)[len(amounts) // 2]


def _ends_with_change(scanned: ScannedSeries, newest: str) -> bool:
    return any(newest in (change.latest, change.until) for change in scanned.changes)


def _level_before(scanned: ScannedSeries) -> Iterator[float]:
    """The amounts of the versions before the newest one back to the last change, as its machine measured them."""
    starts, newest = {change.target[:10] for change in scanned.changes}, scanned.line.versions[-1]
    for measured, runs in zip(scanned.line.versions[-2::-1], scanned.series.values[-2::-1], strict=True):
        if runs and measured.environment == newest.environment:
            yield _middle(runs)
        if measured.version.id[:10] in starts:
            return


def _steps(
    repository: Repository,
    line: ConfigHistory,
    metrics: Mapping[_Subject, bool],
    wanted: Container[_Subject],
    thresholds: Mapping[str, float],
    progress: Callable[[int, int, str], None],
) -> dict[_Subject, Change]:
    """Those of the wanted series of a line. `metrics` are all of its series, and whether each is a primary one: all are
    looked at, so that a check has to be as sure as if it compared them all."""
    from perfcore_check_kit import pairing
    from perfcore_check_kit.benchmark_pairs import expanded
    from perfcore_check_kit.pair_checks import CHANGED, placed, run_checks

    newest = line.versions[-1]
    before = [m for m in line.versions[:-1] if m.environment == newest.environment]
    last_two = replace(line, versions=(*before[-1:], newest))
    pairs = expanded(
        pairing.of_line(repository, last_two, {metric for _, _, metric in metrics}),
        repository.config.get("benchmarks.renamed"),
    )
    resources = {resource for _, resource, metric in metrics if (line.config_id, resource, metric) in wanted}
    verdicts = run_checks(
        repository,
        [pair for pair in pairs if isinstance(pair, Pairing) and pair.benchmark in resources],
        thresholds=thresholds,
        lines=[line],
        comparisons=sum(metrics.values()),
        progress=progress,
    )
    following = {measured.version.id: measured.next_version for measured in line.versions}
    changes = (placed(change, verdict.pairing, following) for verdict in verdicts for change in verdict.changes)
    found = {(change.config_id, change.resource, change.metric): change for change in changes if change.kind in CHANGED}
    return {
        subject: replace(change, primary=metrics[subject]) for subject, change in found.items() if subject in wanted
    }
