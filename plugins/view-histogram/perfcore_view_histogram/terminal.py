"""The runs in a terminal: for each group its density as a line of blocks on a scale that all groups share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from perfcore_view_kit import svg

from perfcore.text import align, clip, fitted, quantity
from perfcore_view_histogram.density import bandwidth, density
from perfcore_view_histogram.groups import Panel
from perfcore_view_histogram.page import interval_text

_BLOCKS, _PLAIN = " ▁▂▃▄▅▆▇█", " .:-=+*%#"
_COLUMNS = 28  # of the drawing: with the numbers it makes a line of 80


def lines(panels: Sequence[Panel], *, columns: int | None, blocks: bool) -> Iterator[str]:
    for number, panel in enumerate(panels):
        if number:
            yield ""
        for line in _panel(panel, columns, _BLOCKS if blocks else _PLAIN):
            yield clip(line, columns) if columns else line


def _panel(panel: Panel, columns: int | None, signs: str) -> Iterator[str]:
    yield panel.title
    low, high = svg.span([value for group in panel.groups for value in (group.values[0], group.values[-1])])
    places = [low + (high - low) * (at + 0.5) / _COLUMNS for at in range(_COLUMNS)]
    curves = []
    for group in panel.groups:
        curve = density(group.values, places, bandwidth(group.values))
        if not any(curve):
            nearest = min(range(_COLUMNS), key=lambda at: abs(places[at] - group.median))
            curve = [float(at == nearest) for at in range(_COLUMNS)]
        curves.append(curve)
    rows = [("runs", "median", "interval", "", "")]
    for group, curve in zip(panel.groups, curves, strict=True):
        highest = max(curve)
        drawn = "".join(signs[round((len(signs) - 1) * height / highest)] for height in curve)
        median, interval = quantity(group.median, panel.unit), interval_text(group, panel.unit)
        rows.append((f"{len(group.values):,}", median, interval, f"|{drawn}|", group.name))
    yield from align(fitted(rows, columns, cut=(4, 2), least=6), right=(0, 1))
    yield f"{quantity(low, panel.unit)} to {quantity(high, panel.unit)}; each density on a scale of its own"
