"""What stands below a chart as text: its signs, its changes, and its values."""

from __future__ import annotations

import datetime
import functools
import html
from collections.abc import Callable, Sequence
from typing import TypeVar

from perfcore_view_kit import svg
from perfcore_view_kit.chart_data import ChartData, Line
from perfcore_view_kit.form import quantity
from perfcore_view_kit.table import table

Item = TypeVar("Item")

# Rows of the table that are in the page itself, for readers without script; with more, the script makes them.
_ROWS = 200
_NOT_MEASURED = "not measured"
_BADGES = {"✓": "hollow with ✓: decided, fails no check", "✎": "✎ decided"}


def legend(data: ChartData) -> str:
    """Which shape means what, as far as it occurs."""
    words = []
    if any(line.hollow for line in data.lines):
        words.append("○ inconclusive")
    if _has_gap(data):
        words.append("a gap: not measured")
    if any(line.levels for line in data.lines):
        words.append("━ fitted level")
    signs = {(mark.sign, mark.word) for mark in data.marks}
    words += [f"{sign} {word}" for sign, word in sorted(signs)]
    words += [text for badge, text in _BADGES.items() if any(mark.badge == badge for mark in data.marks)]
    kinds = {rule.kind for rule in data.rules}
    words += [text for kind, text in (("machine", "⚙ another machine"), ("release", "⚑ release")) if kind in kinds]
    items = "".join(f"<li>{html.escape(word)}</li>" for word in words)
    return f'<ul class="legend" aria-label="Signs">{items}</ul>\n' if words else ""


def _has_gap(data: ChartData) -> bool:
    if data.takes_turns:
        return _NOT_MEASURED in _words_of_gaps(data, len(data.labels))
    return any(value is None for line in data.lines for value in line.values)


def _words_of_gaps(data: ChartData, count: int) -> list[str]:
    """What stands for a value that a line does not have: nothing where lines take turns and another one has it."""
    if not data.takes_turns:
        return [_NOT_MEASURED] * count
    columns = [_padded(line.values, count, None) for line in data.lines]
    return [
        "" if any(value is not None for value in values) else _NOT_MEASURED for values in zip(*columns, strict=True)
    ]


def changes_table(data: ChartData) -> str:
    if not data.marks and not data.rules:
        return ""
    several = len(data.lines) > 1
    head = ["Version" if data.axis == "versions" else "Position", "Change", "What", "Between", "Decision"]
    rows: list[tuple[int, tuple[str, ...]]] = []
    for mark in data.marks:
        name = f"{data.lines[mark.line].name}: " if several else ""
        first, last = (mark.at if end is None else end for end in (mark.first, mark.last))
        between = "" if first == last else f"{data.labels[first]} and {data.labels[last]}"
        rows.append(
            (mark.at, (data.labels[mark.at], f"{mark.sign} {mark.word}", name + mark.text, between, mark.decision))
        )
    rows += [(rule.at, (data.labels[rule.at], rule.kind, rule.text, "", "")) for rule in data.rules]
    ordered = [row for _, row in sorted(rows, key=lambda row: row[0])]
    return table(f"Changes: {data.title}", head, ordered, left=range(len(head)), name="changes")


def values_table(data: ChartData) -> str:
    names = [line.name for line in data.lines]
    head = ["Version" if data.axis == "versions" else "Position", "Date", "Note", *names]
    rows = _rows(data) if len(data.labels) <= _ROWS else []
    note = "" if rows or not data.labels else "<noscript><p>The table needs JavaScript.</p></noscript>"
    inner = table(f"Values of {data.title}", head, rows, left=(1, 2), name="values")
    return f'<details class="values"><summary>Data as a table</summary>{note}{inner}</details>\n'


def _rows(data: ChartData) -> list[tuple[str, ...]]:
    count = len(data.labels)
    dates, notes = _padded(list(map(_date, data.dates)), count, ""), _padded(data.notes, count, "")
    gaps = _words_of_gaps(data, count)
    columns = (_values(line, gaps, data.unit) for line in data.lines)
    return list(zip(data.labels, dates, notes, *columns, strict=True))


def _padded(column: Sequence[Item], count: int, filling: Item) -> list[Item]:
    return [*column[:count], *[filling] * (count - len(column))]


@functools.lru_cache(maxsize=1024)  # the charts of a site are of the same versions
def _date(seconds: int) -> str:
    try:
        return datetime.datetime.fromtimestamp(seconds, datetime.UTC).date().isoformat()
    except (ValueError, OverflowError, OSError):
        return ""


def _values(line: Line, gaps: Sequence[str], unit: str) -> list[str]:
    """What a line has at each position, or the word that stands for nothing."""
    count = len(gaps)
    columns = (_padded(column, count, None) for column in (line.values, line.low, line.high))
    counts, hollow, texts = _padded(line.counts, count, 0), set(line.hollow), quantities(unit)
    rows = []
    for at, (value, low, high, runs) in enumerate(zip(*columns, counts, strict=True)):
        if value is None:
            rows.append(gaps[at])
            continue
        text = texts(value)
        if low is not None and high is not None:
            text = f"{text}, {texts(low)} to {texts(high)}"
        if runs:
            text = f"{text}, {runs:,} {'run' if runs == 1 else 'runs'}"
        rows.append(f"{text}, inconclusive" if at in hollow else text)
    return rows


def quantities(unit: str) -> Callable[[float], str]:
    """`form.quantity` in one unit, which takes a quarter of the time for most amounts."""
    scales = () if unit in ("", "1") else svg.SCALES.get(unit, ())

    def text(value: float) -> str:
        size = abs(value)
        for factor, name in scales:
            if size >= factor:
                scaled = value / factor
                digits = f"{scaled:.3g}"
                return (
                    digits + name
                    if value > 0 and not scaled.is_integer() and "e" not in digits
                    else quantity(value, unit)
                )
        return quantity(value, unit)

    return text
