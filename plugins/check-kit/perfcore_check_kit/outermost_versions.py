"""The newest and the oldest version of a long history, of which a scan cannot tell whether they are outliers or levels.

Where the runs of one are far beyond all that the versions of the level beside it vary by, and the comparison with the
version beside it calls them different as well, that is a step. The next version shows whether a new one stays. They are
the outermost versions of each benchmark: one that joined a suite late begins later, and has only few versions at first,
of which the comparison decides alone, as in a short history.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from typing import TypeAlias

from msgspec.structs import replace

from perfcore.model import Change, Pairing
from perfcore.repository.repository import Repository
from perfcore_check_kit.history import SHORT, ScannedSeries
from perfcore_check_kit.series import ConfigHistory, MeasuredVersion

_Subject: TypeAlias = tuple[str, str, str]  # configuration, benchmark and metric
_Question: TypeAlias = tuple[str, str]  # configuration, and the outermost version of some of its benchmarks
_Level: TypeAlias = list[tuple[str, float]]  # versions and their amounts, from the outermost one inwards

# The comparison calls 0.9 % of unchanged versions different, which would be many in a history that is asked after each
# of its versions. What is also this far from its level is one in some ten thousand of normal noise.
_FAR = 5.0  # times the spread of the versions of a level
_BEYOND = 1.5  # times the distance of the farthest of them: a level may have outliers, or two modes
_FEWEST = 6  # versions that tell how much those of a level vary, if they do
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
        far: dict[_Question, dict[_Subject, set[str]]] = {}
        for series in scanned:
            outermost = _outermost_version(series, newest)
            if machines := _machines_far(series, outermost, newest):
                far.setdefault((series.line.config_id, outermost), {})[_subject(series)] = machines
        if far:
            scanned = _with_steps(repository, scanned, far, newest, thresholds, progress)
    return list(scanned)


def _with_steps(
    repository: Repository,
    scanned: Sequence[ScannedSeries],
    far: Mapping[_Question, Mapping[_Subject, Container[str]]],
    newest: bool,
    thresholds: Mapping[str, float],
    progress: Callable[[int, int, str], None],
) -> Sequence[ScannedSeries]:
    from perfcore_check_kit.pair_checks import compares_versions  # seldom needed, and most of a start is imports

    if not compares_versions(repository):
        return scanned
    steps: dict[_Subject, tuple[Change, ...]] = {}
    for (config, version), subjects in far.items():
        of_config = [series for series in scanned if series.line.config_id == config]
        metrics = {_subject(series): series.primary for series in of_config}
        line = _outermost([series for series in of_config if _subject(series) in subjects], version, newest)
        for subject, step in _steps(repository, line, of_config[0].line, metrics, subjects, thresholds, progress):
            steps[subject] = (*steps.get(subject, ()), step)
    results = []
    for series in scanned:
        of_series = steps.get(_subject(series), ())
        changes = (*series.changes, *of_series) if newest else (*of_series, *series.changes)
        results.append(replace(series, changes=changes) if of_series else series)
    return results


def _subject(series: ScannedSeries) -> _Subject:
    return series.line.config_id, series.series.resource, series.series.metric


def _outermost_version(scanned: ScannedSeries, newest: bool) -> str:
    """The newest or oldest version of which the series has an amount; empty without any."""
    columns = zip(scanned.line.versions, scanned.series.values, strict=True)
    measured = [version for version, runs in columns if runs]
    return measured[-1 if newest else 0].version.id if measured else ""


def _machines_far(scanned: ScannedSeries, outermost: str, newest: bool) -> set[str]:
    """The machines on which the outermost version of a series of a long line is far from the level beside it, without a
    change that the scan shows there."""
    versions = scanned.line.versions
    if len(versions) < SHORT or any(_is_at(change, outermost, newest) for change in scanned.changes):
        return set()
    environments = {measured.environment for measured in versions if measured.version.id == outermost}
    return {environment for environment in environments if _is_far(scanned, outermost, environment, newest)}


def _is_at(change: Change, version: str, newest: bool) -> bool:
    return version in (change.latest, change.until) if newest else version.startswith(change.baseline)


def _is_far(scanned: ScannedSeries, outermost: str, machine: str, newest: bool) -> bool:
    levels = _levels(scanned, machine, newest)
    (version, amount), *level = levels[0] or [("", 0.0)]
    if version != outermost or not level:
        return False
    middle = _middle([of_version for _, of_version in level])
    distances = list(_distances([level, *levels[1:]], middle))
    if sum(map(bool, scanned.series.values)) < SHORT:
        return amount != middle  # too few versions for a scan: the comparison decides, as of a short history
    if len(distances) < (_FEWEST if any(distances) else _LEVEL):
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


def _outermost(scanned: Sequence[ScannedSeries], outermost: str, newest: bool) -> ConfigHistory:
    """The line of these series with their outermost version alone, and for each machine that measured it the version
    beside that."""
    columns = [zip(series.line.versions, series.series.values, strict=True) for series in scanned]
    of_series = {measured for column in columns for measured, runs in column if runs}
    line = scanned[0].line
    versions = [measured for measured in line.versions if measured in of_series]
    ends = [measured for measured in versions if measured.version.id == outermost]
    inwards: Sequence[MeasuredVersion] = versions[: -len(ends)][::-1] if newest else versions[len(ends) :]
    nearest = {measured.environment: measured for measured in reversed(inwards)}
    neighbours = [nearest[measured.environment] for measured in ends if measured.environment in nearest]
    return replace(line, versions=(*neighbours, *ends) if newest else (*ends, *neighbours))


def _steps(
    repository: Repository,
    ends: ConfigHistory,
    line: ConfigHistory,
    metrics: Mapping[_Subject, bool],
    far: Mapping[_Subject, Container[str]],
    thresholds: Mapping[str, float],
    progress: Callable[[int, int, str], None],
) -> Iterator[tuple[_Subject, Change]]:
    """Those of the series of a line, of which `ends` are compared, that are far on these machines. `metrics` are all of
    its series, and whether each is a primary one: a check has to be as sure as if it compared them all."""
    from perfcore_check_kit import pairing
    from perfcore_check_kit.benchmark_pairs import expanded
    from perfcore_check_kit.pair_checks import CHANGED, placed, run_checks

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
