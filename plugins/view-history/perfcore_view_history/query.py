"""The series of a branch that somebody asks for, with their changes: the engine of `perf history`."""

from __future__ import annotations

import contextlib
import fnmatch
import shlex
from collections.abc import Sequence, Set

import attrs
from perfcore_check_kit import history as histories
from perfcore_check_kit import labels, missing_history
from perfcore_check_kit import series as series_of
from perfcore_check_kit.history import ScannedSeries
from perfcore_check_kit.series import ConfigHistory
from perfcore_command_show import context, metric_history

from perfcore.errors import NotFoundError, VersionError, nearest
from perfcore.model import MetricHistory
from perfcore.model.listener import Listener, SilentListener
from perfcore.model.record import replace
from perfcore.profile import benchmarks
from perfcore.repository.repository import Repository
from perfcore.repository.version_filter import VersionFilter
from perfcore.text import printable
from perfcore_view_history.result import HistoryResult

_SHORT = 10  # digits of a version's id in a `Change`


@attrs.frozen(kw_only=True)
class HistoryQuery:
    """Series of the branch that ends at `head` (the version that is checked out for None), or of a part `A..B` of it.

    `subject` is a metric, or a function whose `metric` is followed; None asks for the primary metrics. `command` is a
    pattern, `benchmarks` another (`-k`). Of the versions of these series those after `since` and up to `until`, with a
    tag like `tags`, the `last` and of these every `step`th are shown.
    """

    subject: str | None = None
    metric: str | None = None
    command: str = "*"
    benchmarks: str | None = None
    head: str | None = None
    since: str | None = None
    until: str | None = None
    tags: str | None = None
    last: int | None = None
    step: int = 1

    @property
    def end(self) -> str | None:
        """The version where the branch ends."""
        return (self.head or "").rpartition("..")[2] or None

    @property
    def part(self) -> VersionFilter:
        start = (self.head or "").rpartition("..")[0]
        return VersionFilter(
            start=start, since=self.since, until=self.until, tags=self.tags, last=self.last, step=self.step
        )


def history(repository: Repository, query: HistoryQuery, listener: Listener | None = None) -> HistoryResult:
    """The series of a query. NotFoundError where the branch has none."""
    selected = _select(repository, query, listener or SilentListener())
    if not query.part:
        return _result(repository, query, tuple(map(metric_history.metric_history, selected)), selected)
    versions = series_of.branch_versions(candidate.line for candidate in selected)
    shown = {version.id for version in query.part.of(repository, versions)}
    parts = (_shown(metric_history.metric_history(series), shown) for series in selected)
    if not (series := tuple(part for part in parts if part.points)):
        raise NotFoundError("none of these versions has a profile")
    return _result(repository, query, series, selected)


def _result(
    repository: Repository, query: HistoryQuery, series: tuple[MetricHistory, ...], scanned: Sequence[ScannedSeries]
) -> HistoryResult:
    """The series with the decisions about their changes, which depend on all versions in which changes were looked
    for, shown or not."""
    pairs = (pair for each in scanned for pair in zip(each.line.versions, each.series.values, strict=True))
    measured = {measurement.version.id for measurement, values in pairs if values}
    changes = [change for each in scanned for change in each.changes]
    decided = context.decided(repository, changes, repository.version(query.end), measured)
    return HistoryResult(series=series, decided=decided.words, accepted=decided.accepted)


def _select(repository: Repository, query: HistoryQuery, listener: Listener) -> list[ScannedSeries]:
    """The check gets all series of the branch, so that a change is the same whichever are shown, and as in `perf check
    all`."""
    branch = metric_history.branch(repository, query.end)
    if missing := missing_history.note(repository):
        listener.note(missing)
    selection = _lines(branch, query)
    configurations = {line.config_id for line in selection}
    candidates = histories.select_series(repository, branch)
    names = {candidate.series.resource for candidate in candidates if candidate.series.resource}
    metrics = {candidate.series.metric for candidate in candidates}
    benchmark = None if query.subject in metrics else labels.whole_name(query.subject or "", names)
    metric = query.metric if benchmark in names else query.subject
    series = [
        candidate
        for candidate in candidates
        if candidate.line.config_id in configurations
        if (candidate.primary if metric is None else candidate.series.metric == metric)
        if benchmark not in names or candidate.series.resource == benchmark
        if query.benchmarks is None or benchmarks.matches(candidate.series.resource, query.benchmarks)
    ]
    if series:
        return metric_history.scan(repository, series, candidates, listener)
    if query.benchmarks is not None:
        raise NotFoundError(
            f"no benchmark here is like {printable(query.benchmarks)!r}", hint=nearest(query.benchmarks, names)
        )
    if query.subject is not None and benchmark not in names:
        functions = histories.select_series(repository, selection, metric=query.metric, function=query.subject)
        if functions:
            return metric_history.scan(repository, functions, (), listener)
    subject = metric or ""
    if any(benchmarks.matches(name, subject) for name in names):
        hint = f"benchmarks are like it: -k {printable(subject)}"
    elif _is_version(repository, subject):
        hint = f"it is a version: perf history -v {printable(subject)}"
    elif subject and any(subject in line.label for line in branch):
        hint = f"commands have it in their words: perf history -c {printable(shlex.quote(f'*{subject}*'))}"
    else:
        hint = nearest(subject, metrics | names) or f"the metrics are {', '.join(sorted(map(printable, metrics)))}"
    raise NotFoundError(f"no profile here has a metric, benchmark or function {printable(subject)!r}", hint=hint)


def _is_version(repository: Repository, name: str) -> bool:
    revisions = [revision for revision in name.split("..", 1) if revision]
    with contextlib.suppress(VersionError):
        return bool([repository.version(revision) for revision in revisions])
    return False


def _lines(branch: Sequence[ConfigHistory], query: HistoryQuery) -> list[ConfigHistory]:
    selection = [line for line in branch if fnmatch.fnmatchcase(line.label, query.command)]
    if not selection:
        hint = nearest(query.command, {line.label for line in branch})
        raise NotFoundError(f"no command is like {query.command!r}", hint=hint)
    return selection


def _shown(series: MetricHistory, versions: Set[str]) -> MetricHistory:
    """The points of these versions, and the changes between the first and the last of them."""
    indices = [index for index, point in enumerate(series.points) if point.version.id in versions]
    span = series.points[indices[0] : indices[-1] + 1] if indices else ()
    targets = {point.version.id[:_SHORT] for point in span}
    return replace(
        series,
        points=tuple(series.points[index] for index in indices),
        changes=tuple(change for change in series.changes if change.target in targets),
    )
