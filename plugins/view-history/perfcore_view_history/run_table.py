"""One metric over the versions of a branch as a table: a row for each run of each profile."""

from __future__ import annotations

import fnmatch
from typing import Any

from perfcore.errors import FormatError, NotFoundError, UsageError
from perfcore.measure.collect_result import per_run
from perfcore.model import Entry, MinorVersion
from perfcore.model.record import replace
from perfcore.profile.table import ColumnSpec, Table, TableBuilder, concat
from perfcore.repository.repository import Repository

_SERIES = (
    ColumnSpec("position", "i64", role="order"),
    ColumnSpec("version", "str"),
    ColumnSpec("date", "i64", "s"),
    ColumnSpec("subject", "str"),
    ColumnSpec("command", "str"),
    ColumnSpec("collector", "str"),
    ColumnSpec("environment", "str"),
    ColumnSpec("profile", "str"),
    ColumnSpec("run", "i64", role="order"),
)


def run_table(repository: Repository, *, runs_of: str, command: str, collector: str, head: str | None) -> Table:
    """The table, oldest version first. `command` and `collector` are patterns as of a shell. NotFoundError where no
    profile has the metric."""
    metric, series = runs_of, None
    for position, (version, entries) in enumerate(reversed(list(repository.walk(repository.version(head))))):
        for entry in entries:
            if fnmatch.fnmatchcase(entry.label, command) and fnmatch.fnmatchcase(entry.collector, collector):
                rows = _rows(repository, metric, position, version, entry)
                series = _joined(series, rows, metric)
    if series is None:
        raise NotFoundError(f"no profile of this history has the metric {metric!r} for {command!r}")
    return series


def _rows(repository: Repository, metric: str, position: int, version: MinorVersion, entry: Entry) -> Table | None:
    """The rows of one profile in a series; None where it has not this metric."""
    resources = repository.store.load(entry.profile).table("resources")
    column = resources.get(metric) if resources is not None else None
    if resources is None or column is None or column.role != "value":
        return None
    if metric in (spec.name for spec in _SERIES):
        raise UsageError(f"a metric called {metric!r} has no place in a series: its columns have other names")
    amounts = per_run(resources, column)
    facts = (position, version.id, version.date, version.subject, entry.label, entry.collector)
    builder = TableBuilder("series", (*_SERIES, replace(column.spec, dtype="f64")))
    for run, amount in enumerate(amounts):
        row: tuple[Any, ...] = (*facts, entry.environment_id, entry.profile, run, amount)
        builder.add(**dict(zip((*(spec.name for spec in _SERIES), metric), row, strict=True)))
    return builder.build()


def _joined(before: Table | None, after: Table | None, metric: str) -> Table | None:
    if before is None or after is None:
        return before if after is None else after
    units = [table[metric].unit for table in (before, after)]
    if units[0] != units[1]:
        raise FormatError(
            f"{metric} is in {units[0]!r} in some profiles and in {units[1]!r} in others",
            hint="ask for one `command` or `collector`",
        )
    return concat([before, after])
