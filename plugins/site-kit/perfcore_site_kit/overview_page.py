"""The overview: one row for each benchmark."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from markupsafe import Markup
from perfcore_view_kit.chart import sparkline
from perfcore_view_kit.form import quantity, shown
from perfcore_view_kit.table import Cell, table

from perfcore.text import plural
from perfcore_site_kit import data, paths, sentences
from perfcore_site_kit.paths import PagePath

if TYPE_CHECKING:
    from perfcore_site_kit.data import SeriesState
    from perfcore_site_kit.renderer import View

_ROWS = 500  # a page has to stay below 300 kB, and nobody reads so many
_SPARKS = 100  # rows with a sparkline, which takes 1 kB
_HEAD = ("Benchmark", "Is it slower?", "Change", "Interval", "Since", "Now", "Runs", "Trend", "Measured")


def overview_page(view: View) -> Mapping[str, Any]:
    page = data.overview(view.branch)
    return {
        "page": page,
        "heading": "Is it slower?",
        "answer": sentences.overview(page),
        "counts": [(status, page.counts[status], sentences.SIGNS[status]) for status in data.STATUSES],
        "table": _table(view, page.deciding, "Benchmarks") if page.deciding else None,
        "others": _table(view, page.others, "Other metrics") if page.others else None,
        "rest": max(0, len(page.deciding) - _ROWS),
    }


def _table(view: View, states: Sequence[SeriesState], caption: str) -> Markup:
    # One command may be measured by two collectors: only the metrics tell their rows apart.
    names = Counter(state.row.name for state in states if state.row.decides)
    rows = [
        _row(view, state, index < _SPARKS, names[state.row.name] == 1) for index, state in enumerate(states[:_ROWS])
    ]
    kinds = [state.status.replace(" ", "-") for state in states[:_ROWS]]
    name = "overview" if caption == "Benchmarks" else "others"
    sortable = caption == "Benchmarks"
    return Markup(table(caption, _HEAD, rows, left=(1, 4), name=name, sortable=sortable, kinds=kinds))


def _row(view: View, state: SeriesState, is_drawn: bool, is_alone: bool) -> list[str | Cell]:
    row, change = state.row, state.change
    ratio = change.ratio if change is not None else None
    effect = math.log(ratio) if ratio is not None and ratio > 0 else None
    low = change.low if change is not None else None
    return [
        Cell(shown(row.name if is_alone else sentences.title(row), 80), link=view.link(row.path)),
        Cell(_status(state)),
        Cell(sentences.size_of(change), effect),
        Cell(sentences.interval(change), low),
        _since(view, state),
        Cell(quantity(row.median, shown(row.unit, 16)), row.median),
        Cell(str(row.runs), row.runs),
        Cell("", None, sparkline(row.spark) if is_drawn else ""),
        Cell("newest" if not state.behind else f"{plural(state.behind, 'version')} ago", float(state.behind)),
    ]


def _status(state: SeriesState) -> str:
    decision = f", {state.decision}" if state.decision else ""
    verdict = f"{sentences.SIGNS[state.status]} {state.status}".replace(" ", "\N{NO-BREAK SPACE}")
    return f"{verdict}{decision}"


def _since(view: View, state: SeriesState) -> Cell:
    """The version that shows the change, and how long ago that was."""
    change = state.change
    if change is None or state.since is None:
        return Cell("")
    ago = f"{plural(state.since, 'version')} ago" if state.since else "the newest"
    path = PagePath(paths.CHANGE, (paths.part(change.id),))
    ago = ago.replace(" ", "\N{NO-BREAK SPACE}")
    return Cell(f"{shown(change.target)}, {ago}", float(state.since), link=view.link(path))
