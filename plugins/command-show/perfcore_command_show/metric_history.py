"""The series of a branch with their changes, as views take them."""

from __future__ import annotations

from collections.abc import Sequence

from perfcore_check_kit import history, pair_checks, short_histories
from perfcore_check_kit.fail_rules import gated_metrics
from perfcore_check_kit.history import HistoryCheck, ScannedSeries
from perfcore_check_kit.series import ConfigHistory, config_histories
from perfcore_check_kit.thresholds import thresholds_of

from perfcore.errors import NotFoundError, UsageError
from perfcore.model import MetricHistory, Point
from perfcore.model.listener import Listener
from perfcore.repository.repository import Repository


def branch(repository: Repository, head: str | None) -> list[ConfigHistory]:
    """The configurations along the branch that ends at `head` (None: the version that is checked out)."""
    version = repository.version(head)
    lines = config_histories(repository, version)
    if not lines and any(entries for _, entries in repository.walk(version)):
        raise NotFoundError(
            "no profile of a version here says its configuration, by which versions are compared",
            hint="perf collect stores it; `perf show` and `perf diff` take imported profiles without one",
        )
    if not lines:
        collector = repository.plugins.usual_collector()
        raise NotFoundError("no version here has a profile", hint=f"perf collect {collector} --all --add -- COMMAND")
    return lines


def of_configurations(
    repository: Repository, configurations: frozenset[str], head: str | None, listener: Listener
) -> tuple[MetricHistory, ...]:
    """The metrics of configurations that decide, along a branch. The check gets the series of all commands, so that a
    change is the same whichever are shown."""
    candidates = history.select_series(repository, branch(repository, head))
    gated = gated_metrics(repository.config.get("check.fail_on"), {each.series.metric for each in candidates})
    deciding = [candidate for candidate in candidates if candidate.primary or candidate.series.metric in gated]
    scanned = scan(repository, deciding, candidates, listener)
    selected = tuple(metric_history(series) for series in scanned if series.line.config_id in configurations)
    if not selected:
        raise NotFoundError(
            "no version of this branch has a profile of the same command and options",
            hint="perf add registers a pending profile with its version",
        )
    return selected


def scan(
    repository: Repository,
    series: Sequence[ScannedSeries],
    candidates: Sequence[ScannedSeries],
    listener: Listener,
    *,
    with_unchanged: bool = False,
) -> list[ScannedSeries]:
    """The series with their changes, where the configured checks are installed; `with_unchanged` all verdicts on short
    ones."""
    if not series:
        return []
    name = str(repository.trusted("check.history"))
    if name not in repository.plugins.names("check"):
        listener.note(f"changes of long histories are not marked; perfcore-check-{name} would find them")
        check = None
    else:
        check = HistoryCheck.configured(repository, name)
        if check is None:
            plugin, _ = repository.plugins.load("check", name)
            raise UsageError(f"{plugin} does not scan histories", hint="set check.history to a check that does")
    if not pair_checks.compares_versions(repository):
        pairwise = str(repository.trusted("check.name"))
        listener.note(f"changes of short histories are not marked; perfcore-check-{pairwise} would find them")
    thresholds = thresholds_of(repository)
    return short_histories.scan_branch(
        repository, series, check, thresholds, listener.progress, candidates, with_unchanged=with_unchanged
    )


def metric_history(scanned: ScannedSeries) -> MetricHistory:
    """The series with its changes as views take it."""
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
