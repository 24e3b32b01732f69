"""A chart of lines over positions, such as versions: as a figure of a page, drawn on a canvas by `chart.js`, or as SVG.

    from perfcore_view_kit import chart
    from perfcore_view_kit.page import page

    data = chart.ChartData(title="cpu", finding="No change.", unit="ns", labels=["a", "b"], lines=[chart.Line(
        name="cpu", values=[1e6, None], low=[0.9e6, None], high=[1.1e6, None])])
    text = page("cpu", f"<main>{chart.chart(data)}</main>", chart.scripts(), styles=chart.styles())

Every text is one that can be shown as it is; it is escaped here. Values that are no finite numbers are gaps.
"""

from __future__ import annotations

import hashlib
import html
import itertools
import math
import statistics
from collections.abc import Sequence
from typing import Any

from msgspec.structs import asdict

from perfcore_view_kit import palette, svg
from perfcore_view_kit.chart_data import DEFAULT, ChartData, ChartOptions, Level, Line, Mark, Rule
from perfcore_view_kit.chart_tables import changes_table, legend, values_table
from perfcore_view_kit.packed import FEW, packed
from perfcore_view_kit.page import embedded, source
from perfcore_view_kit.still import still
from perfcore_view_kit.svg import Value, sparkline

__all__ = [
    "ChartData",
    "ChartOptions",
    "Level",
    "Line",
    "Mark",
    "Rule",
    "as_json",
    "chart",
    "data_file",
    "scripts",
    "sparkline",
    "still",
    "styles",
]

FORMAT = 1
_PACKAGE = "perfcore_view_kit"
_SCRIPTS = ("words.js", "address.js", "chart.js")
# Six digits are more than a chart shows, and four the fewest. In between, a step is at most a fiftieth of what
# separates two neighbours, about a pixel where noise fills the chart: the digits of noise fill a large page.
_DIGITS = 6
_FEWEST_DIGITS = 4
_STEPS_OF_NOISE = 50
# Characters of JSON from which on the data are compressed: a page has to stay below 300 kB, of which 45 are script.
_PLAIN = 60_000
_SHOWN = 500  # points of a picture that is in sight until the script draws
_COLUMN = 4  # pixels for which one without a script has the least and the greatest value: it is a large part of a page


def scripts() -> list[str]:
    """The scripts of a page with charts."""
    return [source(_PACKAGE, name) for name in _SCRIPTS]


def styles() -> list[str]:
    """The styles of a page with charts or pictures."""
    return [palette.style(), source(_PACKAGE, "chart.css")]


def chart(data: ChartData, options: ChartOptions = DEFAULT, *, link: str = "") -> str:
    """The figure: heading, finding, chart, table of changes and table of values. Without script it has the chart as
    SVG and the tables. With a `link`, the page does not hold the data but loads that file, a `data_file`, when the
    chart comes into sight."""
    heading = f"h{options.heading}"
    name = html.escape(options.id)
    return (
        f'<figure class="chart" id="{name}" aria-labelledby="{name}-title">\n'
        f'<figcaption><{heading} id="{name}-title">{html.escape(data.title)}</{heading}>'
        f"<p>{html.escape(data.finding)}</p></figcaption>\n"
        f'<div class="still">{_still(data, options)}</div>\n'
        f"{legend(data)}{changes_table(data)}{values_table(data)}"
        f"{_linked(link) if link else _script(data, options)}</figure>\n"
    )


def data_file(data: ChartData, options: ChartOptions = DEFAULT) -> tuple[str, bytes]:
    """The data of a chart as a classic script, and a name that is that of no other content: pages that are opened from
    a disk can load such scripts, but nothing by `fetch`."""
    text = embedded(as_json(data, options))
    name = hashlib.sha256(text.encode("ascii")).hexdigest()[:20]
    return f"{name}.js", f'chartFile("{name}",{text});\n'.encode("ascii")


def _linked(link: str) -> str:
    return f'<script type="text/plain" class="data" data-file="{html.escape(link)}"></script>'


def _still(data: ChartData, options: ChartOptions) -> str:
    """The picture, which the script replaces. One of many points costs a browser more than the chart: it is only for
    readers without script then."""
    if len(data.labels) * len(data.lines) <= _SHOWN:
        return still(data, options)
    return f"<noscript>{still(data, options, column=_COLUMN)}</noscript>"


def as_json(data: ChartData, options: ChartOptions = DEFAULT) -> dict[str, Any]:
    """What `chart(figure, data)` of `chart.js` draws; also for pages that load their data as scripts."""
    return {
        "format": FORMAT,
        "title": data.title,
        "unit": data.unit,
        "axis": data.axis,
        "height": options.height,
        "zero": options.from_zero,
        "band": data.band,
        "link": data.link,
        "hint": f"{len(data.labels):,} {data.axis}; the arrow keys move between them, ? lists all keys",
        "labels": list(data.labels),
        "notes": list(data.notes),
        "dates": [date - before for before, date in itertools.pairwise((0, *data.dates))],
        "positions": _rounded(data.positions),
        "positionUnit": data.position_unit,
        "points": data.points,
        "turns": data.takes_turns,
        "lines": [_line(line) for line in data.lines],
        "marks": [_mark(mark) for mark in data.marks],
        "rules": [asdict(rule) for rule in sorted(data.rules, key=lambda rule: rule.at)],
    }


def _line(line: Line) -> dict[str, Any]:
    measured = svg.finite(line.values)
    step = _step(measured)
    values, low, high = (_steps(column, step) for column in (measured, svg.finite(line.low), svg.finite(line.high)))
    return {
        "name": line.name,
        # Whole numbers of one step, with the bounds as distances: half as large as the same in digits.
        "step": step,
        "values": values,
        "below": [_distance(value, bound) for value, bound in zip(values, low, strict=False)],
        "above": [_distance(bound, value) for value, bound in zip(values, high, strict=False)],
        "counts": list(line.counts),
        "hollow": list(line.hollow),
        "levels": [[level.start, level.end, *_rounded([level.first, level.last])] for level in line.levels],
    }


def _step(values: Sequence[Value]) -> float:
    """The power of ten in which the largest value has `_DIGITS` digits; where the values are noisy, 1, 2 or 5 times a
    larger one."""
    measured = [value for value in values if value is not None]
    largest = max(map(abs, measured), default=0.0)
    if not largest:
        return 1
    digits = math.floor(math.log10(largest)) + 1
    # Beyond that the step itself would be no exact power of ten.
    exponent, times = max(-290, digits - _DIGITS), 1
    # A value by itself: differences of values near the largest float are none.
    distances = [abs(value / largest - before / largest) for before, value in itertools.pairwise(measured)]
    if len(distances) >= FEW and (distance := statistics.median(distances) * largest):
        noise = math.floor(math.log10(distance / _STEPS_OF_NOISE))
        if noise >= exponent:
            exponent = min(noise, digits - _FEWEST_DIGITS)
            times = max(times for times in (1, 2, 5) if times * 10.0**exponent <= distance / _STEPS_OF_NOISE)
    return times * (10.0**exponent if exponent < 0 else 10**exponent)


def _steps(values: Sequence[Value], step: float) -> list[int | None]:
    return [None if value is None else round(value / step) for value in values]


def _distance(upper: int | None, lower: int | None) -> int | None:
    return None if upper is None or lower is None else upper - lower


def _mark(mark: Mark) -> dict[str, Any]:
    low, high = _rounded([mark.low, mark.high])
    span = {"first": mark.at if mark.first is None else mark.first, "last": mark.at if mark.last is None else mark.last}
    decision = {"accepted": bool(mark.accepted), "decided": mark.decision, "badge": mark.badge}
    return {**asdict(mark), **span, **decision, "low": low, "high": high}


def _rounded(values: Sequence[Value]) -> list[Value]:
    return [None if value is None else _short(value) for value in svg.finite(values)]


def _short(value: float) -> float:
    short = float(f"{value:.{_DIGITS + 1}g}")
    return int(short) if short.is_integer() and abs(short) < 1e15 else short


def _script(data: ChartData, options: ChartOptions) -> str:
    document = as_json(data, options)
    text = embedded(document)
    if len(text) < _PLAIN:
        return f'<script type="application/json" class="data">{text}</script>'
    return f'<script type="text/plain" class="data">{packed(document)}</script>'
