"""The newest and the oldest version of a long history, of which a scan cannot tell whether they are outliers or levels.

Where the runs of one are far beyond all that the versions of the level beside it vary by, and the comparison with the
version beside it calls them different as well, that is a step. The next version shows whether a new one stays.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from typing import TypeAlias

from msgspec.structs import replace

from perfcore.model import Change, Pairing
from perfcore.repository.repository import Repository
from perfcore_check_kit.history import SHORT, ScannedSeries
from perfcore_check_kit.series import ConfigHistory, MeasuredVersion

_Subject: TypeAlias = tuple[str, str, str]  # configuration, benchmark and metric
_Level: TypeAlias = list[tuple[str, float]]  # versions and their amounts, from the outermost one inwards

# The comparison calls 0.9 % of unchanged versions different, which would be many in a history that is asked after each
# of its versions. What is also this far from its level is one in some ten thousand of normal noise.
_FAR = 5.0  # times the spread of the versions of a level
_BEYOND = 1.5  # times the distance of the farthest of them: a level may have outliers, or two modes
_FEWEST = 6  # versions that tell how much those of a level vary
_MOST = 24  # of them
_LEVEL = 3  # versions of a level whose distances from its middle count
_NORMAL = 1.4826  # standard deviations in a median absolute deviation of normal noise


def with_steps(
    repository: Repository,
    scanned: Sequence[ScannedSeries],
    thresholds: Mapping[str, float],
    progress: Callable[[int, int, str], None] = lambda done, total, text: None,
) -> list[ScannedSeries]:
    """The scanned series, each with the steps that its outermost versions may be."""
    for newest in (False, True):
        far = {_subject(series): machines for series in scanned if (machines := _machines_far(series, newest))}
        if far:
            scanned = _with_steps(repository, scanned, far, newest, thresholds, progress)
    return list(scanned)


def _with_steps(
    repository: Repository,
    scanned: Sequence[ScannedSeries],
    far: Mapping[_Subject, Container[str]],
    newest: bool,
    thresholds: Mapping[str, float],
    progress: Callable[[int, int, str], None],
) -> Sequence[ScannedSeries]:
    from perfcore_check_kit.pair_checks import compares_versions  # seldom needed, and most of a start is imports

    if not compares_versions(repository):
        return scanned
    steps: dict[_Subject, tuple[Change, ...]] = {}
    for line in {s.line.config_id: s.line for s in scanned if _subject(s) in far}.values():
        metrics = {_subject(series): series.primary for series in scanned if series.line.config_id == line.config_id}
        for subject, step in _steps(repository, line, newest, metrics, far, thresholds, progress):
            steps[subject] = (*steps.get(subject, ()), step)
    results = []
    for series in scanned:
        of_series = steps.get(_subject(series), ())
        changes = (*series.changes, *of_series) if newest else (*of_series, *series.changes)
        results.append(replace(series, changes=changes) if of_series else series)
    return results


def _subject(series: ScannedSeries) -> _Subject:
    return series.line.config_id, series.series.resource, series.series.metric


def _machines_far(scanned: ScannedSeries, newest: bool) -> set[str]:
    """The machines on which the outermost version of a long line is far from the level beside it, without a change that
    the scan shows there."""
    versions = scanned.line.versions
    outermost = versions[-1 if newest else 0].version.id
    if len(versions) < SHORT or any(_is_at(change, outermost, newest) for change in scanned.changes):
        return set()
    inwards = reversed(versions) if newest else iter(versions)
    ends = itertools.takewhile(lambda measured: measured.version.id == outermost, inwards)
    return {measured.environment for measured in ends if _is_far(scanned, outermost, measured.environment, newest)}


def _is_at(change: Change, version: str, newest: bool) -> bool:
    return version in (change.latest, change.until) if newest else version.startswith(change.baseline)


def _is_far(scanned: ScannedSeries, outermost: str, machine: str, newest: bool) -> bool:
    levels = _levels(scanned, machine, newest)
    (version, amount), *level = levels[0] or [("", 0.0)]
    if version != outermost or not level:
        return False
    middle = _middle([of_version for _, of_version in level])
    distances = list(_distances([level, *levels[1:]], middle))
    if len(distances) < _FEWEST:
        return False
    return abs(amount - middle) > max(_FAR * _NORMAL * _middle(distances), _BEYOND * max(distances))


def _distances(levels: Sequence[_Level], near: float) -> Iterator[float]:
    """How far versions are from the middle of their level, those of a lower or higher one as much less or more: a level
    that began a few versions ago tells little of how much versions vary, and what was before it does."""
    for level in levels:
        middle = _middle([of_version for _, of_version in level])
        scale = near / middle if near * middle > 0 else 1.0
        if len(level) >= _LEVEL:
            yield from (abs(of_version - middle) * scale for _, of_version in level)


def _levels(scanned: ScannedSeries, machine: str, newest: bool) -> list[_Level]:
    """The outermost version that a machine measured and the nearest to it, with their amounts, by level."""
    starts, levels = {change.target[:10] for change in scanned.changes}, [_Level()]
    count, columns = 0, (scanned.line.versions, scanned.series.values)
    for measured, runs in zip(*(reversed(column) if newest else column for column in columns), strict=True):
        is_start = measured.version.id[:10] in starts
        if is_start and not newest:
            levels.append([])
        if runs and measured.environment == machine:
            levels[-1].append((measured.version.id, _middle(runs)))
            count += 1
        if count > _MOST:
            break
        if is_start and newest:
            levels.append([])
    return [levels[0], *filter(None, levels[1:])]


def _middle(amounts: Sequence[float]) -> float:
    """The median, of an even number the greater of the two in the middle."""
    return sorted(amounts)[len(amounts) // 2]


def _outermost(line: ConfigHistory, newest: bool) -> ConfigHistory:
    """The line with its outermost version alone, and for each machine that measured it the version beside that."""
    outermost = line.versions[-1 if newest else 0].version.id
    ends = [measured for measured in line.versions if measured.version.id == outermost]
    inwards: Sequence[MeasuredVersion] = line.versions[: -len(ends)][::-1] if newest else line.versions[len(ends) :]
    nearest = {measured.environment: measured for measured in reversed(inwards)}
    neighbours = [nearest[measured.environment] for measured in ends if measured.environment in nearest]
    return replace(line, versions=(*neighbours, *ends) if newest else (*ends, *neighbours))


def _steps(
    repository: Repository,
    line: ConfigHistory,
    newest: bool,
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

    pairs = expanded(
        pairing.of_line(repository, _outermost(line, newest), {metric for _, _, metric in metrics}),
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
