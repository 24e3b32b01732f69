"""The map in a terminal: a character for each version, by the size and the direction of the change."""

from __future__ import annotations

import math
from collections.abc import Iterator

from perfcore.text import clip, percent, width
from perfcore_view_heatmap.grid import Grid, Row
from perfcore_view_heatmap.pictures import farthest

_MOST = 60  # columns of the map, and half of a terminal for it
_NAME = 36
# From the same to far: a small change is below 2 %, a large one above a fifth.
_SMALL, _LARGE = math.log(1.02), math.log(1.2)
LEGEND = "= within 2 %, + more, - less, # and _ by more than a fifth, blank not measured"


def lines(made: Grid, *, columns: int | None) -> Iterator[str]:
    room = max(10, min(_MOST, (columns or 100) - _NAME - 12))
    count = min(room, len(made.labels))
    names = [clip(row.name, _NAME) for row in made.rows]
    widest = max(map(width, names))
    for name, row in zip(names, made.rows, strict=True):
        drawn = "".join(_sign(_farthest(row, made, column, count)) for column in range(count))
        newest = next(ratio for at in reversed(range(len(made.labels))) if (ratio := row.ratio(at)) is not None)
        line = f"{name}{' ' * (widest - width(name))}  |{drawn}|  {percent(newest)}"
        yield clip(line, columns) if columns else line
    scale = (made.scale,) if made.scale else ()
    common = f"{made.common}, " if made.common else ""
    for line in (f"{common}{made.labels[0]} to {made.labels[-1]}, from the {made.reference}", *scale, LEGEND):
        yield clip(line, columns) if columns else line


def _farthest(row: Row, made: Grid, column: int, count: int) -> float | None:
    total = len(made.labels)
    return farthest(row, column * total // count, max(column * total // count + 1, (column + 1) * total // count))


def _sign(ratio: float | None) -> str:
    if ratio is None:
        return " "
    effect = math.log(ratio)
    if abs(effect) < _SMALL:
        return "="
    return ("#" if effect > 0 else "_") if abs(effect) > _LARGE else ("+" if effect > 0 else "-")
