"""The document: its sections, each with the answer in a sentence before tables and charts."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from perfcore_view_compare.ranking import Row, deciding, rows, summary
from perfcore_view_flamegraph import embedded
from perfcore_view_flamegraph.graph import SIDES
from perfcore_view_histogram.groups import panels
from perfcore_view_histogram.page import HEAD as RUNS_HEAD
from perfcore_view_histogram.page import row as runs_row
from perfcore_view_histogram.pictures import picture
from perfcore_view_kit import chart
from perfcore_view_kit.form import framed, quantity, shown, with_minus
from perfcore_view_kit.history_chart import change_text, history_chart, standing, undecided
from perfcore_view_kit.page import page
from perfcore_view_kit.table import table

from perfcore.analysis import verdict_text
from perfcore.errors import NotFoundError
from perfcore.model import ViewData
from perfcore.text import plural
from perfcore_view_report import code, machines

if TYPE_CHECKING:
    from perfcore.model import Change

_CHARTS, _RUNS = 12, 6  # of one document: a reader looks at no more
_WIDTH = 860
_COLUMNS = ("What", "Verdict", "Metric", "Size and interval", "Before", "After", "Versions", "How sure")
_TELLS_P = re.compile(r"\bp ?[=<]")
_CERTAIN = (
    "A verdict comes from a check: an interval of the change at the level beside it, or a contract. What is "
    "inconclusive is not decided, and not the same."
)


def write(subject: ViewData, *, title: str) -> str:
    """The document of all data that there are. NotFoundError where there are none."""
    measured = _measured(subject)
    sections = [*_changes(subject), *_history(subject), *_code(subject), *_runs(measured), *_machines(measured)]
    if not sections:
        raise NotFoundError("there is nothing to report", hint="perf show BASELINE TARGET report -o report.html")
    styles = [*chart.styles(), embedded.style()]
    return page(title, framed(title, _summary(subject), "".join(sections)), chart.scripts(), styles=styles)


def _measured(subject: ViewData) -> ViewData:
    """What was measured: of a difference both sides."""
    if subject.pair is None or len(subject.profiles) != 1:
        return subject
    names = tuple(subject.names[0].split(" -> ")) if subject.names else ()
    return ViewData(profiles=subject.pair, names=names if len(names) == len(SIDES) else SIDES, versions=(None, None))


def _summary(subject: ViewData) -> str:
    """What became of it, in a sentence."""
    if subject.series:
        worse = [series for series in subject.series if standing(series, subject.accepted)]
        count = plural(len(subject.series), "series", "series")
        untold = sum(
            series not in worse and bool(undecided(series.changes, subject.accepted)) for series in subject.series
        )
        others = f", and {untold} cannot be told" if untold else ""
        words = f"{len(worse) or 'None'} of {count} became worse and stayed so{others}."
        return f"{words} {summary(_ranked(subject))}" if _ranked(subject) else words
    if ranked := _ranked(subject):
        return summary(ranked)
    return "No check has compared these profiles: perf check does." if subject.profiles else "Nothing was compared."


def _ranked(subject: ViewData) -> list[Row]:
    return rows(deciding(subject.changes, subject.gated), subject.accepted, subject.decided)


def _section(name: str, title: str, sentence: str, content: str) -> str:
    return (
        f'<section aria-labelledby="{name}"><h2 id="{name}">{html.escape(title)}</h2>'
        f"<p>{html.escape(sentence)}</p>{content}</section>\n"
    )


def _changes(subject: ViewData) -> Iterator[str]:
    ranked = _ranked(subject)
    if not ranked:
        return
    columns = dict(zip(_COLUMNS, zip(*map(_change_cells, ranked), strict=True), strict=True))
    sentence = _CERTAIN
    if len(ranked) > 1 and len(set(columns["Versions"])) == 1:  # one comparison: there is room for something else
        sentence += f" All are of {columns.pop('Versions')[0]}."
    left = [at for at, name in enumerate(columns) if name not in ("Before", "After")]
    cells = list(zip(*columns.values(), strict=True))
    yield _section("changes", "What changed", sentence, table("Verdicts", tuple(columns), cells, left=left))


def _change_cells(row: Row) -> tuple[str, ...]:
    change = row.change
    unit = shown(change.unit, 16)
    return (
        row.name,
        f"{row.sign}\N{NO-BREAK SPACE}{row.word}",
        row.metric,
        change_text(change),
        quantity(change.baseline_value, unit),
        quantity(change.target_value, unit),
        f"{shown(change.baseline)} → {shown(verdict_text.end(change))}",
        _certainty(row, change),
    )


def _certainty(row: Row, change: Change) -> str:
    parts = [shown(with_minus(change.evidence), 300)]
    if change.p_value is not None and not _TELLS_P.search(change.evidence):
        parts.append(f"p {change.p_value:.2g}")
    # What would tell is said once, of the evidence, the reason and the number of pairs.
    advice = f"about {change.needed:,} interleaved pairs" if change.needed else ""
    is_told = bool(advice) and advice in change.evidence
    if change.reason:
        parts.append(shown(change.reason.replace(f": measure {advice}", "") if is_told else change.reason))
    if advice not in change.evidence + change.reason:
        parts.append(f"{advice} would tell")
    if row.decision:
        parts.append(row.decision)
    return "; ".join(filter(None, parts))


def _history(subject: ViewData) -> Iterator[str]:
    ordered = sorted(subject.series, key=lambda series: (not standing(series, subject.accepted), not series.changes))
    if not ordered:
        return
    figures = "".join(
        chart.chart(
            history_chart(series, accepted=subject.accepted, decided=subject.decided, releases=subject.releases),
            chart.ChartOptions(id=f"series-{number}", heading=3, height=240),
        )
        for number, series in enumerate(ordered[:_CHARTS], 1)
    )
    left = len(ordered) - _CHARTS
    more = f" {plural(left, 'series', 'series')} are left out." if left > 0 else ""
    yield _section("history", "Since when", f"The series over the versions, those that are worse first.{more}", figures)


def _code(subject: ViewData) -> Iterator[str]:
    change = code.change(subject)
    if change is not None:
        yield _section("code", "What in the code", change.sentence, change.content)


def _runs(subject: ViewData) -> Iterator[str]:
    if not subject.profiles:
        return
    try:
        made = panels(subject, None, None, 2)
    except NotFoundError:
        return
    figures = []
    for panel in made[:_RUNS]:
        name, drawn = html.escape(panel.title), picture(panel, width=_WIDTH)
        cells = table(f"Runs of {panel.title}", RUNS_HEAD, [runs_row(group, panel.unit) for group in panel.groups])
        figures.append(
            f"<figure><figcaption><h3>{name}</h3><p>{html.escape(panel.finding)}</p></figcaption>"
            f'<div class="still" tabindex="0" role="group" aria-label="Picture of {name}">{drawn}</div>{cells}</figure>'
        )
    more = f" {plural(len(made) - _RUNS, 'benchmark')} are left out." if len(made) > _RUNS else ""
    yield _section("runs", "The runs", f"Every run, the density and the cumulative shares.{more}", "".join(figures))


def _machines(subject: ViewData) -> Iterator[str]:
    if not subject.profiles:
        return
    profiles = subject.profiles
    made = machines.facts(profiles)
    names = [shown(name) for name in subject.names] or [f"profile {n + 1}" for n in range(len(profiles))]
    head = ("Fact", *names[: len(profiles)], "Same")
    cells = [(fact.name, *fact.values, "differs" if fact.differs else "same") for fact in made]
    content = table("Machines and tools", head, cells, left=range(len(head)))
    yield _section("machines", "Measured on", machines.sentence(made, len(profiles)), content)
