"""The page: the counts in one sentence, then every comparison with a picture of its interval."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Iterable, Iterator, Sequence

from perfcore_view_kit import chart, svg
from perfcore_view_kit.form import framed, percent, quantity, shown
from perfcore_view_kit.page import page
from perfcore_view_kit.palette import LIGHT
from perfcore_view_kit.svg import Axis
from perfcore_view_kit.table import Cell, script, table

from perfcore_view_compare.ranking import Row, log_ratio

_WIDTH, _HEIGHT = 150, 18  # pixels of the picture of an interval
_EDGE = 8
# A change by less than 2 % at the edge of the picture would look like one of 50 %.
_LEAST = math.log(1.02)
_LARGEST = math.log(8)  # of the scale: larger ones end at its edge, with an arrow
_ROW, _LABEL, _TOP = 22, 300, 44  # pixels of the picture for documents
_MOST = 60  # rows of that picture


def write(ranked: Sequence[Row], *, title: str, summary: str, about: str) -> str:
    """The whole file. Every text is one that can be shown as it is."""
    main = f'<p class="soft">{html.escape(about)}</p>\n{comparison_table(ranked)}'
    body = framed(title, summary, main)
    return page(title, body, [*chart.scripts()[:2], script()], styles=chart.styles())


def comparison_table(ranked: Sequence[Row], link: Callable[[Row], str] = lambda row: "") -> str:
    """The table of the page, with what its pictures show below; for other pages, too. `link` gives the address of the
    page of what was compared."""
    scale = scale_of(ranked)
    levels = {row.change.confidence for row in ranked if row.change.low is not None}
    level = f" at {100 * (levels.pop() or 0):.3g} %" if len(levels) == 1 and None not in levels else ""
    head = ("Benchmark", "Verdict", "Metric", "Change", f"Interval{level}", "Picture", "Before", "After", "Why")
    cells = [[Cell(row.name, link=link(row)), *_cells(row, scale, named=bool(level))[1:]] for row in ranked]
    kinds = [row.word.replace(" ", "-") for row in ranked]
    return (
        table("Comparisons", head, cells, left=(1, 2, 8), sortable=True, kinds=kinds)
        + f'<p class="soft">The pictures reach from {percent(math.exp(-scale))} to {percent(math.exp(scale))}, '
        "on a scale of ratios; the line in the middle is no change.</p>"
    )


def scale_of(ranked: Iterable[Row]) -> float:
    """The logarithm of the ratio at the edge of the pictures: the same for all rows."""
    changes = [row.change for row in ranked]
    ends = [log_ratio(ratio) for change in changes for ratio in (change.ratio, change.low, change.high)]
    return min(_LARGEST, max(_LEAST, *(abs(end) for end in ends if end is not None), 0.0))


def _cells(row: Row, scale: float, *, named: bool) -> list[str | Cell]:
    change = row.change
    interval = ""
    if change.low is not None and change.high is not None and math.isfinite(change.low + change.high):
        interval = f"{percent(change.low)} to {percent(change.high)}"
        interval += f" at {100 * change.confidence:.3g} %" if change.confidence and not named else ""
    picture = "".join(_interval(row, Axis(-scale, scale, _EDGE, _WIDTH - _EDGE), _HEIGHT / 2))
    middle = svg.line(_WIDTH / 2, 1, _WIDTH / 2, _HEIGHT - 1, "grid")
    size = f'width="{_WIDTH}" height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}"'
    drawn = f'<svg class="spark" {size} aria-hidden="true">{middle}{picture}</svg>' if picture else ""
    unit = shown(change.unit, 16)
    reasons = [row.decision, shown(change.reason)]
    if change.needed and "interleaved pairs" not in change.reason:  # which says how many
        reasons.append(f"about {change.needed:,} interleaved pairs would tell")
    return [
        row.name,
        Cell(f"{row.sign}\N{NO-BREAK SPACE}{row.word}"),
        row.metric,
        Cell(percent(change.ratio) if row.effect is not None and change.ratio else "-", row.effect),
        Cell(interval, None if change.low is None else log_ratio(change.low)),
        Cell("", row.effect, drawn),
        Cell(quantity(change.baseline_value, unit), change.baseline_value),
        Cell(quantity(change.target_value, unit), change.target_value),
        "; ".join(filter(None, reasons)),
    ]


def _interval(row: Row, axis: Axis, y: float) -> Iterator[str]:
    """The interval as a bar, the estimate as a dot, an arrow where it leaves the scale."""
    effect, low, high = (log_ratio(ratio) for ratio in (row.change.ratio, row.change.low, row.change.high))
    color = LIGHT[row.side]
    if low is not None and high is not None:
        left, right = axis(max(axis.low, min(axis.high, low))), axis(max(axis.low, min(axis.high, high)))
        yield svg.box(left, y - 3, max(1.0, right - left), 6, row.side, color=color, opacity=0.35)
    if effect is None:
        return
    if abs(effect) > axis.high:
        x = axis.end - 2 if effect > 0 else axis.begin + 2
        yield svg.text(x, y + 4, "▶" if effect > 0 else "◀", "middle", row.side, color=color)
    else:
        hollow = row.side == "other" or row.settled
        yield svg.dot(axis(effect), y, row.side, color=color, hollow=hollow, radius=3.5)


def picture(ranked: Sequence[Row], *, title: str, summary: str, width: int) -> str:
    """The intervals as an SVG for documents: the first rows, which are the largest changes."""
    visible, scale = ranked[:_MOST], scale_of(ranked)
    height = _TOP + _ROW * (len(visible) + 1) + 10
    axis = Axis(-scale, scale, _LABEL + 10, width - 110)
    bottom = _TOP + _ROW * len(visible)
    parts = [
        svg.text(10, 16, shown(title, width // 8), name="head", color=svg.LIGHT_TEXT),
        svg.text(10, 33, shown(summary, int(width / svg.LETTER))),
    ]
    for share in (-1.0, -0.5, 0.0, 0.5, 1.0):
        x = axis(share * scale)
        parts += [
            svg.line(x, _TOP, x, bottom, "grid"),
            svg.text(x, bottom + 15, percent(math.exp(share * scale)) if share else "same", "middle"),
        ]
    for number, row in enumerate(visible):
        y = _TOP + _ROW * number + _ROW / 2
        name = shown(f"{row.sign} {row.name}: {row.metric}", int(_LABEL / svg.LETTER))
        size = percent(row.change.ratio) if row.effect is not None and row.change.ratio else row.word
        parts += [svg.text(10, y + 4, name, color=svg.LIGHT_TEXT), *_interval(row, axis, y)]
        parts.append(svg.text(width - 10, y + 4, f"{size} {row.word}" if size != row.word else row.word, "end"))
    if len(ranked) > len(visible):
        parts.append(svg.text(10, bottom + 15, f"and {len(ranked) - len(visible):,} more"))
    return svg.picture(width, height, f"{title}. {summary}", parts, alone=True)
