"""A chart without a script: SVG for documents, and what stands in a page until the script draws."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from perfcore_view_kit import svg
from perfcore_view_kit.chart_data import DEFAULT, ChartData, ChartOptions, Line
from perfcore_view_kit.palette import DASHES, LIGHT
from perfcore_view_kit.svg import Frame, Value

_HOLLOW = {"▲": "△", "▼": "▽", "◆": "◇"}
_PER_POINT = 4  # pixels from point to point from which on each has a mark


def still(data: ChartData, options: ChartOptions = DEFAULT, *, alone: bool = False, column: int = 1) -> str:
    """The chart without a script: an SVG for a document, or `alone` as a file. Lines are reduced to the least and the
    greatest value for each column of so many pixels."""
    columns = [tuple(map(svg.finite, (line.values, line.low, line.high))) for line in data.lines]
    ends = svg.finite([end for line in data.lines for level in line.levels for end in (level.first, level.last)])
    intervals = svg.finite([end for mark in data.marks for end in (mark.low, mark.high)])
    values = [value for part in (*itertools.chain(*columns), ends, intervals) for value in part if value is not None]
    y = svg.span(values, from_zero=options.from_zero)
    x = (-0.5, len(data.labels) - 0.5) if data.labels else (0.0, 1.0)
    if data.positions:
        x = svg.span(data.positions)
    frame = svg.frame(x, y, width=options.width, height=options.height)
    parts = [*frame.grid(data.unit, _x_ticks(data, frame)), *_rules(data, frame)]
    for number, (line, amounts) in enumerate(zip(data.lines, columns, strict=True)):
        parts += _drawn(data, line, amounts, number, frame, column)
    parts += _marks(data, frame)
    title = f"Chart of {data.title}. {data.finding}".rstrip()
    return svg.picture(frame.width, frame.height, title, parts, alone=alone)


def _x_ticks(data: ChartData, frame: Frame) -> list[tuple[float, str]]:
    most = max(2, int((frame.x.end - frame.x.begin) / 120))
    if data.positions:
        return frame.x.ticks(most, data.position_unit)
    step = max(1, -(-len(data.labels) // most))
    return [(float(at), data.labels[at]) for at in range(0, len(data.labels), step)]


def _position(data: ChartData, at: int) -> float:
    return data.positions[at] if data.positions else float(at)


def _rules(data: ChartData, frame: Frame) -> Iterator[str]:
    free = 0.0
    for rule in sorted(data.rules, key=lambda rule: rule.at):
        is_machine = rule.kind == "machine"
        x = frame.x(_position(data, rule.at) - (0.5 if is_machine and rule.at and not data.positions else 0))
        dash = ' stroke-dasharray="2 2" stroke-width="2"' if is_machine else ' stroke-dasharray="8 4"'
        yield svg.line(x, frame.y.end, x, frame.y.begin, "rule", color=svg.LIGHT_SOFT, more=dash)
        words = f"{'⚙' if is_machine else '⚑'} {rule.text[:24]}"
        room = 4 + len(words) * svg.LETTER
        if x >= free and x + room <= frame.x.end:
            yield svg.text(x + 4, frame.y.end + 11, words)
            free = x + room + 6
        elif x - room >= free:
            # At the end of the chart, as the newest version often is, it would be cut off.
            yield svg.text(x - 4, frame.y.end + 11, words, "end")
            free = x


def _drawn(
    data: ChartData, line: Line, amounts: Sequence[Sequence[Value]], number: int, frame: Frame, column: int
) -> Iterator[str]:
    values, low, high = amounts
    color, name = LIGHT[f"series-{number + 1}"], f"series-{number + 1}"
    apart = (frame.x.end - frame.x.begin) / max(1, len(values))
    pixels = frame.x.pixels(data.positions or map(float, range(len(values))))
    for run in () if data.points else _joined(data, values):
        if apart < 1:
            yield from _reduced(data, frame, range(run[0], run[-1] + 1), values, low, high, number, column)
            continue
        xs = [pixels[at] for at in run]
        if low and high and len(run) > 1:
            upper = list(zip(xs, frame.y.pixels(_bounds(high, run, values)), strict=True))
            lower = list(zip(xs, frame.y.pixels(_bounds(low, run, values)), strict=True))
            yield svg.area([*upper, *reversed(lower)], f"band {name}", color=color)
        if len(run) > 1:
            points = list(zip(xs, frame.y.pixels(values[at] or 0.0 for at in run), strict=True))
            yield svg.path(points, name, color=color, dash=DASHES[number])
    if data.points or line.hollow or len(values) < 2 or None in values:
        yield from _points(data, line, amounts, number, frame, pixels, apart)
    elif apart >= _PER_POINT:  # as nearly always, each version was measured: they are alike
        yield svg.dots(zip(pixels, frame.y.pixels(values), strict=True), name, color=color)  # type: ignore[arg-type]
    half = 0.0 if data.positions else 0.5
    for level in line.levels:
        ends = [
            (frame.x(_position(data, level.start) - half), frame.y(level.first)),
            (frame.x(_position(data, level.end) + half), frame.y(level.last)),
        ]
        dash = DASHES[number] if len(data.lines) > 1 else ""
        yield svg.path(ends, "level", color=svg.LIGHT_TEXT, width=2.5, dash=dash)


def _joined(data: ChartData, values: Sequence[Value]) -> Iterator[Sequence[int]]:
    """The points of each stretch of a line: of lines that take turns all are one."""
    if not data.takes_turns:
        yield from svg.runs_of(values)
    elif measured := [at for at, value in enumerate(values) if value is not None]:
        yield measured


def _points(
    data: ChartData,
    line: Line,
    amounts: Sequence[Sequence[Value]],
    number: int,
    frame: Frame,
    pixels: Sequence[float],
    apart: float,
) -> Iterator[str]:
    """The mark of each value that is not only a part of a line."""
    values, low, high = amounts
    color, name = LIGHT[f"series-{number + 1}"], f"series-{number + 1}"
    for at, value in enumerate(values):
        if value is None:
            continue
        is_joined = (at and values[at - 1] is not None) or (at + 1 < len(values) and values[at + 1] is not None)
        is_alone = not is_joined and not data.takes_turns
        if not (data.points or is_alone or at in line.hollow or apart >= _PER_POINT):
            continue
        x = pixels[at]
        bottom, top = _item(low, at), _item(high, at)
        if (is_alone or data.points) and bottom is not None and top is not None and top > bottom:
            yield svg.error_bar(x, frame.y(bottom), frame.y(top), name, color=color)
        if data.points:
            yield svg.shape(x, frame.y(value), name, number, color=color)
        else:
            yield svg.dot(x, frame.y(value), name, color=color, hollow=at in line.hollow)


def _reduced(
    data: ChartData,
    frame: Frame,
    run: range,
    values: Sequence[Value],
    low: Sequence[Value],
    high: Sequence[Value],
    number: int,
    width: int,
) -> Iterator[str]:
    color, name = LIGHT[f"series-{number + 1}"], f"series-{number + 1}"
    part = slice(run.start, run.stop)
    pixels = frame.x.pixels(data.positions[part] if data.positions else map(float, run))
    made = svg.columns(
        values[part],
        low[part],
        high[part],
        frame.width // width,
        pixels.__getitem__,
    )
    if low and high:
        xs = [column.x for column in made]
        upper = list(zip(xs, frame.y.pixels(column.high for column in made), strict=True))
        lower = list(zip(xs, frame.y.pixels(column.low for column in made), strict=True))
        yield svg.area([*upper, *reversed(lower)], f"band {name}", color=color, digits=0)
    levels = [level for column in made for level in (column.first, column.least, column.most, column.last)]
    points = list(zip((column.x for column in made for _ in range(4)), frame.y.pixels(levels), strict=True))
    yield svg.path(points, name, color=color, width=1, digits=0)


def _bounds(column: Sequence[Value], run: Sequence[int], values: Sequence[Value]) -> list[float]:
    """The bounds of the values of a run, which are their own where they have none."""
    return [(values[at] or 0.0) if (bound := _item(column, at)) is None else bound for at in run]


def _marks(data: ChartData, frame: Frame) -> Iterator[str]:
    for mark in data.marks:
        kind = "other" if mark.worse is None else "worse" if mark.worse else "better"
        color = LIGHT[kind]
        x = frame.x(_position(data, mark.at))
        half = 0.0 if data.positions else 0.5
        left = frame.x(_position(data, mark.at if mark.first is None else mark.first) - half)
        right = frame.x(_position(data, mark.at if mark.last is None else mark.last) + half)
        height = frame.y.begin - frame.y.end
        yield svg.box(left, frame.y.end, max(1.0, right - left), height, kind, color=color, opacity=0.14)
        low, high = svg.finite([mark.low, mark.high])
        if low is not None and high is not None:
            yield svg.error_bar(x, frame.y(low), frame.y(high), kind, color=color)
        sign = (_HOLLOW[mark.sign] if mark.accepted else mark.sign) + mark.badge
        yield svg.text(x, frame.y.end - 5, sign, "middle", kind, color=color)


def _item(column: Sequence[Value], at: int) -> Value:
    return column[at] if at < len(column) else None
