"""The map as SVG. Where versions are narrower than pixels, each column shows the change that is farthest from none."""

from __future__ import annotations

import math
from collections.abc import Iterator

from perfcore_view_kit import palette, svg
from perfcore_view_kit.form import percent

from perfcore_view_heatmap.grid import Grid, Row

_LABEL, _ROW, _TOP = 260, 18, 30  # pixels
_MOST = 60  # rows
_SCALE = palette.changes("light")
_MISSING = "#ffffff"


def picture(made: Grid, *, width: int, alone: bool = False) -> str:
    """Every text is one that can be shown as it is."""
    rows = made.rows[:_MOST]
    height = _TOP + _ROW * len(rows) + 44
    room = width - _LABEL - 14
    count = min(len(made.labels), room)
    parts = [svg.text(_LABEL, 18, made.labels[0]), svg.text(width - 14, 18, made.labels[-1], "end")]
    for number, row in enumerate(rows):
        y = _TOP + _ROW * number
        parts.append(svg.text(_LABEL - 8, y + 13, _fitted(row.name), "end", color=svg.LIGHT_TEXT))
        parts += _cells(row, made, count, room / count, y)
    parts += _legend(made, height - 30)
    if len(made.rows) > len(rows):
        parts.append(svg.text(width - 14, height - 18, f"and {len(made.rows) - len(rows):,} more series", "end"))
    return svg.picture(width, height, f"Map of changes. {made.finding}", parts, alone=alone)


def farthest(row: Row, first: int, last: int) -> float | None:
    """The ratio that is farthest from 1 among these versions; None where none was measured."""
    ratios = [ratio for at in range(first, last) if (ratio := row.ratio(at)) is not None]
    return max(ratios, key=lambda ratio: abs(math.log(ratio)), default=None)


def _cells(row: Row, made: Grid, count: int, wide: float, y: float) -> Iterator[str]:
    total = len(made.labels)
    for column in range(count):
        ratio = farthest(row, column * total // count, max(column * total // count + 1, (column + 1) * total // count))
        color = _MISSING if ratio is None else _SCALE[palette.change_step(ratio, made.largest)]
        name = "missing" if ratio is None else f"step-{palette.change_step(ratio, made.largest)}"
        yield svg.box(_LABEL + column * wide, y, wide - (1 if wide > 4 else 0), _ROW - 2, name, color=color)


def _legend(made: Grid, y: float) -> Iterator[str]:
    for at, color in enumerate(_SCALE):
        yield svg.box(_LABEL + 60 + at * 14, y, 14, 12, f"step-{at}", color=color)
    yield svg.text(_LABEL + 54, y + 11, percent(1 / made.largest), "end")
    yield svg.text(_LABEL + 66 + 14 * len(_SCALE), y + 11, f"{percent(made.largest)} of the {made.reference}")


def _fitted(name: str) -> str:
    most = int((_LABEL - 16) / svg.LETTER)
    return name if len(name) <= most else f"{name[: most - 1]}…"
