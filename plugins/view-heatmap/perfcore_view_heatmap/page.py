"""The page: what moved farthest in a sentence, the map, and a table of the series."""

from __future__ import annotations

import html

from perfcore_view_kit import chart, palette
from perfcore_view_kit.colors import ink
from perfcore_view_kit.form import framed, percent, quantity
from perfcore_view_kit.page import embedded, page, source
from perfcore_view_kit.table import Cell, script, table

from perfcore_view_heatmap.grid import Grid, Row
from perfcore_view_heatmap.pictures import picture

_PACKAGE = "perfcore_view_heatmap"
_DIGITS = 6
_HEAD = ("Series", "Newest", "Change", "Least", "Greatest", "Versions")


def write(made: Grid, *, title: str) -> str:
    """Every text is one that can be shown as it is."""
    rows = [_cells(row) for row in made.rows]
    ends = f"Colours from {percent(1 / made.largest)} (blue, −) to {percent(made.largest)} (orange, +)"
    legend = f"{ends}, from the {made.reference} of each series; a blank is not measured. {made.scale}".strip()
    main = (
        '<figure id="map" aria-label="Map of changes">'
        f'<div class="still">{picture(made, width=860)}</div><p class="soft">{html.escape(legend)}</p>'
        f'<script type="application/json" id="data">{embedded(_data(made))}</script></figure>\n'
        + table("Series, the one that moved farthest first", _HEAD, rows, sortable=True)
    )
    scripts = [*chart.scripts()[:2], script(), source(_PACKAGE, "heatmap.js")]
    return page(title, framed(title, made.finding, main), scripts, styles=[*chart.styles(), _style()])


def _data(made: Grid) -> dict[str, object]:
    scales = {name: palette.changes(name) for name in ("light", "dark")}
    return {
        "rows": [
            {
                "name": row.name,
                "unit": row.unit,
                "baseline": _short(row.baseline),
                "values": [None if value is None else _short(value) for value in row.values],
            }
            for row in made.rows
        ],
        "labels": list(made.labels),
        "notes": list(made.notes),
        "largest": made.largest,
        "palettes": scales,
        "inks": {name: [ink(color) for color in scale] for name, scale in scales.items()},
        "hint": "The arrow keys move between versions and series, + and − zoom.",
    }


def _short(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")


def _style() -> str:
    """The colours of the still picture in both themes."""
    rules = []
    for name, root in (("light", ":root"), ("dark", ':root[data-theme="dark"]')):
        rules += [f"{root} rect.step-{at} {{ fill: {color}; }}" for at, color in enumerate(palette.changes(name))]
    return "\n".join([*rules, "rect.missing { fill: var(--surface); }"])


def _cells(row: Row) -> list[str | Cell]:
    measured = [value for value in row.values if value is not None]
    newest = measured[-1]
    return [
        row.name,
        Cell(quantity(newest, row.unit), newest),
        Cell(percent(newest / row.baseline), newest / row.baseline),
        Cell(percent(min(measured) / row.baseline), min(measured) / row.baseline),
        Cell(percent(max(measured) / row.baseline), max(measured) / row.baseline),
        Cell(f"{len(measured):,}", float(len(measured))),
    ]
