"""One series in a terminal: its name, a line of levels, the marks of its changes, its range, a row for each change."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from perfcore_check_kit import machine_changes
from perfcore_view_kit import machines
from perfcore_view_kit.history_chart import decision_on
from perfcore_view_kit.short_ids import SHORT, positions

from perfcore.analysis import verdict_text
from perfcore.text import align, clip, encodable, fitted, percent, plural, printable, quantity
from perfcore_view_history import sparkline

if TYPE_CHECKING:
    from perfcore.hookspecs import Output
    from perfcore.model import Change, MetricHistory, Point, ViewData

# A line of levels is read at a glance: below 20 columns it shows nothing, beyond 100 the eye loses the marks.
_NARROWEST, _WIDEST = 20, 100
_INDENT = "  "
_SUBJECT = 50  # as git recommends for the subject of a commit
_SUBJECT_COLUMN = 5
_MARKS = {
    "degradation": "^",
    "optimization": "v",
    "drift": "/",
    "improving drift": "\\",
    "variance": "~",
    "machine": "|",
    "cannot tell": "?",
}
_RED, _GREEN, _BOLD = "31", "32", "1"
_COLORS = {"degradation": _RED, "drift": _RED, "optimization": _GREEN, "improving drift": _GREEN}


def write(series: MetricHistory, subject: ViewData, output: Output, *, blocks: bool) -> None:
    """Draw a series of the data, with block characters or in ASCII."""
    columns = max(_NARROWEST, min(_WIDEST, (output.width or shutil.get_terminal_size().columns) - len(_INDENT)))
    factors = machines.factors_of_series(series)
    medians = machines.medians_by(series, factors)
    lines = [_painted(output, _title(series), _BOLD)]
    if any(median is not None for median in medians):
        lines.append(_INDENT + sparkline.spark(medians, columns, sparkline.BLOCKS if blocks else sparkline.PLAIN))
    if marks := sparkline.marks(_positions(series.points, series.changes), len(medians), columns):
        lines.append(_INDENT + marks)
    lines.append(_INDENT + _summary(series, medians) + _turns(factors))
    lines += _change_lines(series, subject, output)
    output.write("".join(f"{encodable(line)}\n" for line in lines))


def _title(series: MetricHistory) -> str:
    name = f"{series.resource}: {series.metric}" if series.resource else series.metric
    return f"{printable(name)} of {printable(series.command)}"


def _summary(series: MetricHistory, medians: Sequence[float | None]) -> str:
    versions = machines.versions_of_series(series)
    measured = [median for median in medians if median is not None]
    if not measured:
        return f"nothing was measured in {versions}"
    lowest, highest, newest = (quantity(level, series.unit) for level in (min(measured), max(measured), measured[-1]))
    with_amounts = {
        point.version.id for point, median in zip(series.points, medians, strict=True) if median is not None
    }
    count = versions if len(measured) == len(medians) else f"{len(with_amounts)} of {versions}"
    return f"{count}, {lowest} to {highest}, now {newest}" if len(measured) > 1 else f"{count}, {newest}"


def _turns(factors: Mapping[str, float]) -> str:
    """Whose amounts these are, where machines take turns."""
    if not factors:
        return ""
    newest = list(factors)[-1]
    return f" (of {plural(len(factors), 'machine')}, as on {verdict_text.environment(newest)})"


def _change_lines(series: MetricHistory, subject: ViewData, output: Output) -> list[str]:
    subjects = {point.version.id[:SHORT]: point.version.subject for point in series.points}
    rows = [_row(change, subjects, decision_on(change, subject.accepted, subject.decided)) for change in series.changes]
    lines, room = [], None if output.width is None else output.width - len(_INDENT)
    aligned = align(fitted(rows, room, cut=(_SUBJECT_COLUMN,)), right=(3, 4))
    for change, text in zip(series.changes, aligned, strict=True):
        stands = not change.undone and change.id not in subject.accepted
        color = _COLORS.get(change.kind) if stands else None
        lines.append(_INDENT + (_painted(output, text, color) if color else text))
    return lines


def _row(change: Change, subjects: Mapping[str, str], decision: str) -> tuple[str, ...]:
    interval = ""
    if change.low is not None and change.high is not None:
        interval = f"{percent(change.low)} to {percent(change.high)}"
    sized = change.kind != "variance"  # the ratio of a variance is one of spreads, which no reader expects here
    return (
        _MARKS.get(change.kind, ""),
        verdict_text.word(change),
        printable(change.target),
        _size(change) if sized else "",
        interval if sized else "",
        clip(printable(subjects.get(change.target, "")), _SUBJECT),
        _range(change),
        _machine(change) if change.kind == "machine" else printable(change.reason),
        f"(undone in {printable(change.undone[:SHORT])})" if change.undone else "",
        f"({decision})" if decision else "",
    )


def _size(change: Change) -> str:
    """`+4.2 %`, or the levels where these have no ratio."""
    if change.ratio is not None:
        return percent(change.ratio)
    levels = (change.baseline_value, change.target_value)
    return "" if None in levels else " → ".join(printable(quantity(level, change.unit)) for level in levels)


def _machine(change: Change) -> str:
    commands = "" if change.moved is None else machine_changes.affected(change)
    return f"{commands} {verdict_text.machine(change)}".strip()


def _range(change: Change) -> str:
    """The versions that may have made a change, where they are several; of a drift how fast it is, and its last one."""
    if change.pace is not None:
        return f"{percent(change.pace)} a version until {printable(change.until[:SHORT])}"
    if change.earliest == change.latest:
        return ""
    return f"came between {printable(change.earliest[:SHORT])} and {printable(change.latest[:SHORT])}"


def _positions(points: Sequence[Point], changes: Sequence[Change]) -> dict[int, str]:
    """The mark of each change at the first point of the version that shows it; code outranks machine."""
    indices = positions(point.version.id for point in points)
    order = sorted(changes, key=lambda change: change.kind != "machine")
    return {indices[change.target]: _MARKS.get(change.kind, "") for change in order if change.target in indices}


def _painted(output: Output, text: str, color: str) -> str:
    return f"\x1b[{color}m{text}\x1b[0m" if output.color else text
