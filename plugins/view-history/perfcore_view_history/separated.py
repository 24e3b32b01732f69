"""Series as CSV: a row for each version."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from perfcore.text import encodable, inert, printable

if TYPE_CHECKING:
    from perfcore.model import MetricHistory

_SHORT = 10  # digits of a version's id in a `Change`
# Scripts read these names: they stay, although `min` and `max` would be the usual words.
_HEADER = (
    *("command", "collector", "metric", "resource", "unit", "version", "date", "subject", "environment"),
    *("runs", "median", "least", "greatest", "change", "id"),
)


def csv_text(histories: Sequence[MetricHistory], *, raw_text: bool = False) -> str:
    """Rows of one line each: foreign names are printable in them, because a terminal may read them. Unless `raw_text`,
    a name that a spreadsheet would run as a formula gets a `'` in front."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_HEADER)
    for series in histories:
        for row in _rows(series):
            writer.writerow(_field(cell, raw_text) if isinstance(cell, str) else cell for cell in row)
    return text.getvalue()


def _field(text: str, raw_text: bool) -> str:
    field = encodable(printable(text))
    return field if raw_text else inert(field)


def _rows(series: MetricHistory) -> Iterator[tuple[object, ...]]:
    changes = {change.target: change for change in series.changes if change.kind != "machine"}
    for point in series.points:
        change = changes.get(point.version.id[:_SHORT])
        levels = (point.median, min(point.values), max(point.values)) if point.values else ("", "", "")
        yield (
            *(series.command, series.collector, series.metric, series.resource, series.unit),
            *(point.version.id, point.version.date, point.version.subject, point.environment),
            *(len(point.values), *levels),
            *((change.kind, change.id) if change else ("", "")),
        )
