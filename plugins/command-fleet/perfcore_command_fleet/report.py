"""The costs of a query by function, line, file, call site or callee, as rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs
from perfcore_fleet_kit.counting import Counts
from perfcore_fleet_kit.query import Counted

SCHEMA = 1
BY = ("function", "line", "file", "call-site", "callee")


@attrs.frozen
class ReportRow:
    """An item with its samples, weighted. A file has no inclusive count. A function has its own name, file and first
    line (0: unknown) beside the id that is its `name`."""

    name: str
    inclusive: int | None
    exclusive: int | None
    function: str | None = None
    file: str | None = None
    first_line: int | None = None

    @property
    def place(self) -> str:
        """Where a function is defined; empty for other items."""
        return f"{self.file}:{self.first_line}" if self.first_line else self.file or ""


@attrs.frozen
class FleetReport:
    """The rows with most samples. `total` are all samples, `time` in ns; `metadata` are those of everything, and of the
    saved query that was asked."""

    version: str
    where: str
    by: str
    total: int
    time: int
    segments: int
    hosts: int
    rows: tuple[ReportRow, ...]
    problems: tuple[str, ...] = ()
    metadata: Mapping[str, str] = {}

    def as_json(self) -> dict[str, Any]:
        """The form of `docs/schemas/fleet-report.json`."""
        return {"schema": SCHEMA, **attrs.asdict(self), "rows": [attrs.asdict(row) for row in self.rows]}


def report(
    version: str, where: str, by: str, counted: Counted, hosts: int, limit: int, metadata: Mapping[str, str]
) -> FleetReport:
    """The `limit` rows with most samples, inclusive before exclusive."""
    counts = counted.counts
    rows = sorted(_rows(counts, by), key=lambda row: (-(row.inclusive or row.exclusive or 0), row.name))
    return FleetReport(
        version=version,
        where=where,
        by=by,
        total=counts.total,
        time=counted.time,
        segments=counted.segments,
        hosts=hosts,
        rows=tuple(rows[:limit]),
        problems=tuple(counted.problems),
        metadata=metadata,
    )


def _rows(counts: Counts, by: str) -> Iterable[ReportRow]:
    if by == "function":
        return (
            ReportRow(id, f.inclusive, f.exclusive, f.name, f.file, f.first_line) for id, f in counts.functions.items()
        )
    if by == "line":
        return (ReportRow(f"{file}:{line}", *_pair(pair)) for (file, line), pair in counts.lines.items())
    if by == "file":
        return (ReportRow(file, None, exclusive) for file, exclusive in counts.files.items())
    if by == "callee":
        items = counts.callees.items()
        return (ReportRow(f"{caller}, line {line} -> {callee}", n, None) for (caller, line, callee), n in items)
    sites = counts.call_sites.items()
    return (
        ReportRow(f"{file}:{line}  {caller} -> {callee}", *_pair(pair)) for (file, line, caller, callee), pair in sites
    )


def _pair(pair: Sequence[int]) -> tuple[int, int]:
    return pair[0], pair[1]
