"""The machine as text: a line for each part, a cell or a bar for each thread, what moved, and a table."""

from __future__ import annotations

from itertools import zip_longest
from textwrap import wrap
from typing import TYPE_CHECKING

from perfcore.text import clip, quantity, width
from perfcore_view_topology import listing, pen, words
from perfcore_view_topology.pen import BOLD, DIM, LESS, MORE, Pen, Text
from perfcore_view_topology.rows import rows
from perfcore_view_topology.scene import SIDES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perfcore.hookspecs import Output
    from perfcore_view_topology.readings import Metric
    from perfcore_view_topology.rows import Row
    from perfcore_view_topology.scene import Scene, Side

# Columns: label, bar and a number of ten columns or so beside them fit into a terminal of 80.
_BAR, _LABEL = 24, 36
_GAP = "  "


def write(scene: Scene, metric: Metric, output: Output, *, head: int | None, ascii: bool) -> None:
    """The picture, what moved, and the table."""
    drawing = Pen(output, pen.ASCII if ascii else pen.BLOCKS, metric, scene.scale(metric.name))
    _write_heading(scene, drawing)
    if len(scene.sides) == 1 or scene.comparable:
        _write_picture(scene.sides, drawing)
    else:
        for side, word in zip(scene.sides, SIDES, strict=True):
            drawing.line()
            drawing.line(Text(f"{word}: {side.name}", BOLD))
            _write_picture((side,), drawing)
    _write_legend(drawing)
    listing.write_moved(scene, drawing)
    listing.write_table(scene, drawing, head)


def _write_heading(scene: Scene, drawing: Pen) -> None:
    metric = drawing.metric
    about = f" ({metric.about})" if metric.about else ""
    estimate = ", an estimate" if metric.estimate else ""
    drawing.line(Text(scene.title, BOLD))
    drawing.line(Text(f"{metric.name}{about}{estimate}"))
    named = len(scene.sides) > 1
    for side, word in zip(scene.sides, SIDES, strict=False):
        machine_facts = [f"{name} {quantity(value)}" for name, value in side.readings.whole]
        before = f"{word} {side.name}: " if named else ""
        facts = before + "; ".join((*side.facts, *machine_facts))
        for text in wrap(facts, max(drawing.width, 20), subsequent_indent=_GAP * named):
            drawing.line(Text(text, DIM))
    if named and not scene.comparable:
        drawing.line(Text("The machines differ, so threads of one number are not compared.", DIM))


def _write_picture(sides: Sequence[Side], drawing: Pen) -> None:
    """The lines of one side, or of two sides of one machine."""
    picture_rows = rows(sides)
    labels = [f"{_GAP * row.depth}{row.label}" for row in picture_rows]
    label = min(max(map(width, labels), default=0), _LABEL, drawing.width // 2)
    numbers = [_numbers(sides, row, drawing.metric) for row in picture_rows]
    titles = [*SIDES, "change"] if len(sides) > 1 else ["", ""]
    wide = [max(map(width, column)) for column in zip(titles, *numbers, strict=True)]
    most = max(_BAR, max(row.length for row in picture_rows)) if picture_rows else _BAR
    available = drawing.width - label - sum(len(_GAP) + column_width for column_width in wide)
    room = max(1, min(most, available // len(sides) - len(_GAP)))
    drawing.line()
    if len(sides) > 1:
        heads = [*(word.ljust(room) for word in SIDES), *map(str.rjust, titles, wide)]
        drawing.line(Text(_GAP.join([" " * label, *heads]), DIM))
    for row, name, cells in zip(picture_rows, labels, numbers, strict=True):
        first = Text(_filled(name, label), BOLD if row.bar is None else "")
        last = [Text(f"{_GAP}{cell:>{space}}", _style(cell, row)) for cell, space in zip(cells, wide, strict=True)]
        blank = [Text(" " * room)]
        for at, drawn in enumerate(zip_longest(*(_drawn(side, row, drawing, room) for side in sides), fillvalue=blank)):
            middle = [fragment for line in drawn for fragment in (Text(_GAP), *line)]
            drawing.line(*((first, *middle, *last) if at == 0 else (Text(" " * label), *middle)))


def _filled(text: str, columns: int) -> str:
    text_shown = clip(text, columns)
    return text_shown + " " * (columns - width(text_shown))


def _style(cell: str, row: Row) -> str:
    if cell == "new" or cell.startswith("+"):
        return MORE
    if cell == "gone" or (cell.startswith("-") and cell.endswith("%")):
        return LESS
    return DIM if row.bar is None else ""


def _numbers(sides: Sequence[Side], row: Row, metric: Metric) -> list[str]:
    readings = [side.reading(metric.name, row.cpus) for side in sides]
    amounts = [words.amount(reading, metric.unit) for reading in readings]
    if len(sides) == 1:
        return [*amounts, words.share(sides[0].share(metric.name, row.cpus))]
    return [*amounts, words.change(*readings)]


def _drawn(side: Side, row: Row, drawing: Pen, room: int) -> list[list[Text]]:
    """The lines of the cells, or of the bar, each as wide as there is room."""
    if row.bar is not None:
        return [[drawing.bar(side, row.bar, room)]]
    lines: list[list[Text]] = [[]]
    for group in row.cells:
        gap = group.gap if lines[-1] else 0
        if gap and len(lines[-1]) + gap + len(group.cpus) > room:
            lines.append([])
        elif gap:
            lines[-1] += [Text(" ")] * gap
        for cpu in group.cpus:
            if len(lines[-1]) >= room:
                lines.append([])
            lines[-1].append(drawing.cell(side, cpu))
    return [[*line, Text(" " * (room - len(line)))] for line in lines]


def _write_legend(drawing: Pen) -> None:
    low, high = (quantity(value, drawing.metric.unit) for value in drawing.scale)
    ends = Text(f"{low} "), *drawing.levels(), Text(f" {high}")
    drawing.line()
    drawing.line(Text("a thread: ", DIM), *ends, Text(f", {drawing.signs.none} {words.NO_VALUE}", DIM))
