"""The series of a branch that somebody asks for, with their changes: the engine of `perf history`."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence

import attrs

from perfcore.analysis import history as histories
from perfcore.analysis.fail_on import thresholds_of
from perfcore.analysis.history import HistoryCheck, ScannedSeries
from perfcore.analysis.series import ConfigHistory, config_histories
from perfcore.errors import NotFoundError, UsageError, nearest
from perfcore.model import HistoryResult, MetricHistory, Point
from perfcore.model.listener import Listener, SilentListener
from perfcore.repository.repository import Repository
from perfcore.text import printable


@attrs.frozen(kw_only=True)
class HistoryQuery:
    """Series of the branch that ends at `head` (the version that is checked out for None).

    `subject` is a metric, or a function whose `metric` is followed; None asks for the primary metrics. `command` is a
    pattern, `configurations` are ids (None: all), and `last` counts the newest measured versions.
    """

    subject: str | None = None
    metric: str | None = None
    command: str = "*"
    configurations: frozenset[str] | None = None
    head: str | None = None
    last: int | None = None

    def selects(self, line: ConfigHistory) -> bool:
        configured = self.configurations is None or line.config_id in self.configurations
        return configured and fnmatch.fnmatchcase(line.label, self.command)


def history(repository: Repository, query: HistoryQuery, listener: Listener | None = None) -> HistoryResult:
    """The series of a query. NotFoundError where the branch has none."""
    selected = _select(repository, query, listener or SilentListener())
    return HistoryResult(series=tuple(_plain(series).last(query.last) for series in selected))


def _select(repository: Repository, query: HistoryQuery, listener: Listener) -> list[ScannedSeries]:
    """The check gets the series of all commands, so that a change is the same whichever commands are shown."""
    branch = config_histories(repository, repository.version(query.head))
    selection = _lines(branch, query)
    configurations = {line.config_id for line in selection}
    candidates = histories.select_series(repository, branch)
    metric = query.subject
    series = [
        candidate
        for candidate in candidates
        if (candidate.primary if metric is None else candidate.series.metric == metric)
    ]
    scanned = _scanned(repository, series, candidates, listener)
    if selected := [candidate for candidate in scanned if candidate.line.config_id in configurations]:
        return selected
    if metric is not None:
        functions = histories.select_series(repository, selection, metric=query.metric, function=metric)
        if functions:
            return _scanned(repository, functions, (), listener)
    metrics = {candidate.series.metric for candidate in candidates}
    raise NotFoundError(
        f"no profile here has a metric or function {printable(metric or '')!r}",
        hint=nearest(metric or "", metrics) or f"the metrics are {', '.join(sorted(map(printable, metrics)))}",
    )


def _lines(branch: Sequence[ConfigHistory], query: HistoryQuery) -> list[ConfigHistory]:
    if not branch:
        raise NotFoundError("no version here has a profile", hint="perf collect time --all --add -- COMMAND")
    selection = [line for line in branch if query.selects(line)]
    if selection:
        return selection
    if query.configurations is not None:
        raise NotFoundError(
            "no version of this branch has a profile of the same command and options",
            hint="perf add registers a pending profile with its version",
        )
    raise NotFoundError(
        f"no command is like {query.command!r}", hint=nearest(query.command, {line.label for line in branch})
    )


def _scanned(
    repository: Repository, series: Sequence[ScannedSeries], candidates: Sequence[ScannedSeries], listener: Listener
) -> list[ScannedSeries]:
    """The series with their changes, where the configured check is installed."""
    if not series:
        return []
    name = str(repository.trusted("check.history"))
    if name not in repository.plugins.names("check"):
        listener.note(f"changes are not marked; perfcore-check-{name} would find them")
        return list(series)
    check = HistoryCheck.configured(repository, name)
    if check is None:
        plugin, _ = repository.plugins.load("check", name)
        raise UsageError(f"{plugin} does not scan histories", hint="set check.history to a check that does")
    return histories.scan_series(repository, series, check, thresholds_of(repository), listener.progress, candidates)


def _plain(scanned: ScannedSeries) -> MetricHistory:
    line, series = scanned.line, scanned.series
    return MetricHistory(
        command=line.label,
        collector=line.entry.collector,
        config_id=series.config_id,
        metric=series.metric,
        resource=series.resource,
        unit=series.unit,
        better=series.better,
        points=tuple(
            Point(version=m.version, environment=m.environment, profiles=m.profiles, values=values)
            for m, values in zip(line.versions, series.values, strict=True)
        ),
        changes=scanned.changes,
    )
