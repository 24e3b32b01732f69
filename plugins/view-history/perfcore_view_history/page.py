"""Series as one offline page: which of them became slower, and since when; a chart of each."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from perfcore_view_kit import machines
from perfcore_view_kit.chart import ChartData, ChartOptions, chart, scripts, sparkline, still, styles
from perfcore_view_kit.form import framed, quantity, shown
from perfcore_view_kit.history_chart import (
    change_text,
    common_title,
    decision_on,
    history_chart,
    standing,
    title,
    titles,
    undecided,
    unit_text,
)
from perfcore_view_kit.page import page
from perfcore_view_kit.table import name_markup

from perfcore.analysis import verdict_text
from perfcore.text import plural

if TYPE_CHECKING:
    from perfcore.model import Change, MetricHistory, ViewData

MOST_CHARTS = 20
"""Charts of one page: with tables, a chart of 100 versions takes 25 kB, and a page has to open at once."""
_WORDS = 6  # of a title in the id of its figure


def write(subject: ViewData, *, link: str, charts: int = MOST_CHARTS) -> str:
    """The page: one sentence, a row for each series, and a chart for as many as `charts`, those with regressions that
    stand first."""
    histories, accepted = subject.series, subject.accepted
    ordered = sorted(histories, key=lambda series: (not standing(series, accepted), not series.changes))
    drawn, names = ordered[:charts], _names(ordered)
    heading = title(histories[0]) if len(histories) == 1 else "Performance history"
    figures = "".join(
        chart(_chart_data(subject, series, link), ChartOptions(id=name))
        for series, name in zip(drawn, names, strict=False)
    )
    overview = "" if len(histories) == 1 else _overview(subject, ordered, names, len(drawn))
    left = len(ordered) - len(drawn)
    more = (
        f'<p class="soft">{plural(left, "more series", "more series")} without a chart: name one in perf history.</p>'
    )
    main = f"{overview}{figures}{more if len(ordered) > len(drawn) else ''}"
    body = framed(heading, _summary(histories, accepted), main)
    return page(heading, body, scripts(), styles=styles())


def picture(subject: ViewData, *, width: int) -> str:
    """The first series as an SVG for documents."""
    return still(_chart_data(subject, subject.series[0]), ChartOptions(width=width), alone=True)


def _chart_data(subject: ViewData, series: MetricHistory, link: str = "") -> ChartData:
    return history_chart(
        series, accepted=subject.accepted, decided=subject.decided, releases=subject.releases, link=link
    )


def _summary(histories: Sequence[MetricHistory], accepted: Mapping[str, str]) -> str:
    """Which are slower, and over which versions that is said."""
    slower = sum(bool(standing(series, accepted)) for series in histories)
    measured = [series.points for series in histories if series.points]
    # Commits of one second have one date: only their order in the series tells which of them came first.
    first = min((points[0].version for points in measured), key=lambda version: version.date, default=None)
    last = max((points[-1].version for points in measured), key=lambda version: version.date, default=None)
    span = f", {shown(first.short)} to {shown(last.short)}" if first and last and first.id != last.id else ""
    number = plural(len(histories), "series", "series")
    words = (
        f"{slower} of {number} became worse and stayed so" if slower else f"None of {number} became worse and stayed so"
    )
    if len(histories) == 1:
        words = "It became worse and stayed so" if slower else "No change for the worse stands"
    untold = sum(bool(undecided(series.changes, accepted)) and not standing(series, accepted) for series in histories)
    if untold:
        words += f", and {f'{untold} of them' if len(histories) > 1 else 'one change'} cannot be told"
    return f"{words}{span}."


def _overview(subject: ViewData, ordered: Sequence[MetricHistory], names: Sequence[str], drawn: int) -> str:
    """A row for each series: what became of it, its newest value, its shape, and a link to its chart."""
    heads = ("Series", "Last change", "Size", "Newest", "Shape")
    head = "".join(f'<th scope="col"{_text_class(at in (0, 1, 2))}>{word}</th>' for at, word in enumerate(heads))
    rows = "".join(
        _overview_row(subject, series, label, name if number < drawn else "")
        for number, (series, label, name) in enumerate(zip(ordered, titles(ordered), names, strict=True))
    )
    common = common_title(ordered)
    heading = html.escape(f"All series: {common}" if common else "All series")
    return (
        '<section aria-labelledby="overview"><h2 id="overview">' + heading + "</h2>"
        '<div class="scroll" tabindex="0" role="group" aria-label="All series"><table class="overview">'
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div></section>\n"
    )


def _overview_row(subject: ViewData, series: MetricHistory, label: str, name: str) -> str:
    change = _last_change(series, subject.accepted)
    medians = machines.medians_by(series, machines.factors_of_series(series))
    newest = next((median for median in reversed(medians) if median is not None), None)
    label = name_markup(label)
    words = "" if change is None else f"{_sign(change)} {verdict_text.word(change)} at {shown(change.target)}"
    if change is not None and (decision := decision_on(change, subject.accepted, subject.decided)):
        words += f", {decision}"
    size = "" if change is None else change_text(change)
    first = f'<a href="#{name}">{label}</a>' if name else label
    return (
        f'<tr><th scope="row" class="text">{first}</th><td class="text">{html.escape(words)}</td>'
        f'<td class="text short">{html.escape(size)}</td><td>{html.escape(quantity(newest, unit_text(series)))}</td>'
        f"<td>{sparkline(medians)}</td></tr>"
    )


def _last_change(series: MetricHistory, accepted: Mapping[str, str]) -> Change | None:
    """The last change for the worse that stands, or else the last one, a step that cannot be told being one."""
    steps = undecided(series.changes, accepted)
    changes = standing(series, accepted) or [
        c for c in series.changes if c in steps or c.kind not in ("same", "cannot tell", "machine")
    ]
    return changes[-1] if changes else None


def _sign(change: Change) -> str:
    return {"degradation": "▲", "drift": "▲", "optimization": "▼", "improving drift": "▼"}.get(change.kind, "◆")


def _text_class(is_text: bool) -> str:
    return ' class="text"' if is_text else ""


def _names(histories: Sequence[MetricHistory]) -> list[str]:
    """An id for each figure, which stays when series come and go as long as their names do."""
    names: list[str] = []
    for series in histories:
        words = re.findall(r"[a-z0-9]+", title(series).lower())[:_WORDS] or ["series"]
        name, number = "-".join(words), 1
        while name in names:
            number += 1
            name = f"{'-'.join(words)}-{number}"
        names.append(name)
    return names
