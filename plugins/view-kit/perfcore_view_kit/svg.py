"""Pictures as SVG: sparklines, and the parts of charts for documents. Inline in a page they take the colours of its
theme from `chart.css`; alone they have those of the light one.

Every text is one that can be shown as it is; it is escaped here."""

from __future__ import annotations

import html
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec

from perfcore_view_kit.form import MINUS
from perfcore_view_kit.palette import LIGHT

Value: TypeAlias = float | None
# No text of 11 pixels is wider than that a character (DejaVu Sans: 0.64 em on average of digits and small letters).
LETTER = 6.6
_EDGE = 0.06  # of the range, so that no extreme lies on the frame; the canvas has the same
_FLAT = 0.1  # of the level, the least height of a sparkline
_LARGEST = 8e307  # the range of two values up to this is still a number
# As perfcore.text.quantity scales amounts; a test holds both together.
SCALES: Mapping[str, Sequence[tuple[float, str]]] = {
    "ns": ((1e9, " s"), (1e6, " ms"), (1e3, " µs"), (1, " ns")),
    "s": ((1, " s"), (1e-3, " ms"), (1e-6, " µs"), (1e-9, " ns")),
    "B": ((2**40, " TiB"), (2**30, " GiB"), (2**20, " MiB"), (2**10, " KiB"), (1, " B")),
    "": ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1, "")),
}
_PLAIN = 10_000
LIGHT_TEXT, LIGHT_SOFT, LIGHT_LINE, LIGHT_SURFACE = "#1b1e24", "#555c69", "#d5d9e0", "#ffffff"


class Axis(msgspec.Struct, frozen=True):
    """A range of amounts on a range of pixels."""

    low: float
    high: float
    begin: float
    end: float

    def __call__(self, value: float) -> float:
        """The pixel of an amount."""
        share = (value - self.low) / (self.high - self.low)
        return self.begin + share * (self.end - self.begin)

    def pixels(self, values: Iterable[float]) -> list[float]:
        """Those of several amounts."""
        low, span, begin, length = self.low, self.high - self.low, self.begin, self.end - self.begin
        return [begin + (value - low) / span * length for value in values]

    def ticks(self, most: int, unit: str = "") -> list[tuple[float, str]]:
        return ticks(self.low, self.high, most, unit)


class Frame(msgspec.Struct, frozen=True, kw_only=True):
    """The place of a plot in a picture of `width` by `height` pixels, with its axes."""

    width: int
    height: int
    x: Axis
    y: Axis

    def grid(self, unit: str, x_ticks: Sequence[tuple[float, str]], apart: int = 44) -> Iterator[str]:
        """Lines and texts of the axes; `apart` is how many pixels two lines of the y axis are apart at least."""
        left, right = self.x.begin, self.x.end
        for value, words in self.y.ticks(int(abs(self.y.end - self.y.begin) / apart), unit):
            y = round(self.y(value)) + 0.5
            yield line(left, y, right, y, "grid")
            yield text(left - 8, y + 4, words, "end")
        bottom = self.y.begin
        for value, words in x_ticks:
            x = round(self.x(value)) + 0.5
            yield line(x, bottom, x, bottom + 4, "grid")
            half = len(words) * LETTER / 2
            # At the ends of a picture a text in the middle of its point would be cut off.
            at, anchor = (self.width - 2, "end") if x + half > self.width - 2 else (max(half, x), "middle")
            yield text(at, bottom + 17, words, anchor)
        yield line(left - 0.5, self.y.end, left - 0.5, bottom, "grid")


def frame(
    x: tuple[float, float],
    y: tuple[float, float],
    *,
    width: int = 860,
    height: int = 260,
    left: int = 76,
    top: int = 20,
    bottom: int = 24,
    right: int = 14,
) -> Frame:
    return Frame(
        width=width,
        height=height,
        x=Axis(*x, left, width - right),
        y=Axis(*y, height - bottom, top),
    )


def span(values: Sequence[float], *, from_zero: bool = False) -> tuple[float, float]:
    """A range around these amounts that is not empty, with an edge; from zero without one at zero."""
    finite = [value for value in values if math.isfinite(value)]
    low, high = (clamp(min(finite)), clamp(max(finite))) if finite else (0.0, 1.0)
    if from_zero:
        low, high = min(0.0, low), max(0.0, high)
    edge = (high - low) * _EDGE or abs(high) * 0.05 or 1.0
    # Subnormal numbers have no edge that would change them.
    if low + edge == low:
        edge = max(abs(low), 1e-300)
    return (low if from_zero and not low else low - edge), (high if from_zero and not high else high + edge)


def clamp(value: float) -> float:
    return max(-_LARGEST, min(_LARGEST, value))


def ticks(low: float, high: float, most: int, unit: str = "") -> list[tuple[float, str]]:
    """Round steps (1, 2 or 5 times a power of ten) between two amounts, with their texts in one unit."""
    factor, name = _scale(max(abs(low), abs(high)), unit)
    rough = (high - low) / factor / max(1, most)
    if not (rough > 0 and math.isfinite(rough)):
        return []
    power = 10.0 ** math.floor(math.log10(rough))
    step = next((times * power for times in (1, 2, 5, 10) if times * power >= rough), 10 * power)
    if not (0 < step < math.inf):
        return []
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    first = math.ceil(low / factor / step - 1e-9)
    last = math.floor(high / factor / step + 1e-9)
    return [
        (at * step * factor, _tick_text(at * step, digits) + name) for at in range(first, min(last, first + 50) + 1)
    ]


def _tick_text(value: float, digits: int) -> str:
    # Longer ones would be wider than the room beside the axis.
    text = f"{abs(value):.{digits}f}" if digits < 9 and abs(value) < 1e9 else f"{abs(value):.3g}"
    return MINUS + text if value < 0 else text


def _scale(size: float, unit: str) -> tuple[float, str]:
    """The factor and the suffix of the unit in which `perfcore.text.quantity` writes an amount of this size."""
    plain = "" if unit == "1" else unit
    if not plain and size < _PLAIN:
        return 1.0, ""
    scales = SCALES.get(plain, ())
    return next(((factor, name) for factor, name in scales if size >= factor), (1.0, f" {plain}" if plain else ""))


# Elements.


def picture(width: int, height: int, title: str, parts: Iterable[str], *, alone: bool = False) -> str:
    """The SVG. `title` says what is to be seen; `alone` makes a file of its own."""
    head, space, background = "", "", ""
    if alone:
        head, space = '<?xml version="1.0" encoding="UTF-8"?>\n', ' xmlns="http://www.w3.org/2000/svg"'
        background = f'<rect width="{width}" height="{height}" fill="{LIGHT_SURFACE}"/>'
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    return (
        f'{head}<svg{space} class="picture" {size} role="img" aria-label="{html.escape(title)}" '
        f'font-family="system-ui, sans-serif" font-size="11">{background}{"".join(parts)}</svg>'
    ) + ("\n" if alone else "")


def text(x: float, y: float, words: str, anchor: str = "start", name: str = "soft", *, color: str = LIGHT_SOFT) -> str:
    attributes = f'class="{name}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{color}"'
    return f"<text {attributes}>{html.escape(words)}</text>"


def line(x1: float, y1: float, x2: float, y2: float, name: str, *, color: str = LIGHT_LINE, more: str = "") -> str:
    return f'<path class="{name}" d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}" stroke="{color}" fill="none"{more}/>'


def path(
    points: Sequence[tuple[float, float]],
    name: str,
    *,
    color: str,
    width: float = 1.5,
    dash: str = "",
    digits: int = 1,
) -> str:
    """A line through points, in pixels with so many digits."""
    pen = f'stroke="{color}" stroke-width="{width}"' + (f' stroke-dasharray="{dash}"' if dash else "")
    return f'<path class="{name}" d="{_steps(points, digits)}" {pen} fill="none"/>'


def area(points: Sequence[tuple[float, float]], name: str, *, color: str, opacity: float = 0.2, digits: int = 1) -> str:
    return f'<path class="{name}" d="{_steps(points, digits)}Z" fill="{color}" fill-opacity="{opacity}" stroke="none"/>'


def box(x: float, y: float, width: float, height: float, name: str, *, color: str, opacity: float = 1.0) -> str:
    faint = f' fill-opacity="{opacity}"' if opacity < 1 else ""
    size = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"'
    return f'<rect class="{name}" {size} fill="{color}"{faint}/>'


def dot(
    x: float, y: float, name: str, *, color: str, hollow: bool = False, radius: float = 2.5, title: str = ""
) -> str:
    fill = f'fill="{LIGHT_SURFACE}" stroke="{color}" stroke-width="1.5"' if hollow else f'fill="{color}"'
    name = f"{name} hollow" if hollow else name
    if not title:
        return f'<circle class="{name}" cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}" {fill}/>'
    words = f"<title>{html.escape(title)}</title>"
    return f'<circle class="{name}" cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}" {fill}>{words}</circle>'


def dots(points: Iterable[tuple[float, float]], name: str, *, color: str) -> str:
    """A dot at each of these, as `dot` draws it: one format for all takes a fifth of the time of one for each."""
    pixels = tuple(itertools.chain.from_iterable(points))
    return f'<circle class="{name}" cx="%.1f" cy="%.1f" r="2.5" fill="{color}"/>' * (len(pixels) // 2) % pixels


_SHAPES = (
    (),
    ((-3, -3), (3, -3), (3, 3), (-3, 3)),
    ((0, -4), (4, 3), (-4, 3)),
    ((0, -5), (4, 0), (0, 5), (-4, 0)),
    ((0, 4), (4, -3), (-4, -3)),
    ((-4, -2), (-1, -2), (-1, -5), (1, -5), (1, -2), (4, -2), (4, 1), (1, 1), (1, 4), (-1, 4), (-1, 1), (-4, 1)),
)


def shape(x: float, y: float, name: str, number: int, *, color: str) -> str:
    """A point of a group: a circle, square, triangle and so on, as the canvas has them."""
    corners = _SHAPES[number % len(_SHAPES)]
    if not corners:
        return dot(x, y, name, color=color, radius=3.5)
    return area([(x + dx, y + dy) for dx, dy in corners], f"band {name}", color=color, opacity=1)


def error_bar(x: float, low: float, high: float, name: str, *, color: str) -> str:
    steps = f"M{x - 3:.1f} {low:.1f}h6M{x:.1f} {low:.1f}V{high:.1f}M{x - 3:.1f} {high:.1f}h6"
    return f'<path class="{name}" d="{steps}" stroke="{color}" fill="none" stroke-width="1.5"/>'


def _steps(points: Sequence[tuple[float, float]], digits: int = 1) -> str:
    # One format for all takes half of the time of one for each.
    return "M" + "L".join([f"%.{digits}f %.{digits}f"] * len(points)) % tuple(itertools.chain.from_iterable(points))


# Reduction.


class Column(msgspec.Struct, frozen=True):
    """The values that share a column of pixels: its first and last one, the extremes, and those of the interval."""

    x: int
    first: float
    last: float
    least: float
    most: float
    low: float
    high: float


def columns(
    values: Sequence[Value], low: Sequence[Value], high: Sequence[Value], width: int, column_of: Callable[[int], float]
) -> list[Column]:
    """Minimum and maximum per column of pixels, left to right: no peak disappears. `column_of` gives the pixel of a
    position."""
    there = [at for at, value in enumerate(values) if value is not None]
    if not there:
        return []
    present = [value for value in values if value is not None]
    lower, upper = _bounds(low, there, present), _bounds(high, there, present)
    pixels = [max(0, min(width - 1, int(column_of(at)))) for at in there]
    starts = [0, *(at for at in range(1, len(pixels)) if pixels[at] != pixels[at - 1]), len(pixels)]
    made = []
    for start, end in itertools.pairwise(starts):
        if end - start == 1:
            value = present[start]
            made.append(Column(pixels[start], value, value, value, value, lower[start], upper[start]))
            continue
        within = present[start:end]
        bounds = min(lower[start:end]), max(upper[start:end])
        made.append(Column(pixels[start], within[0], within[-1], min(within), max(within), *bounds))
    return made


def _bounds(bounds: Sequence[Value], there: Sequence[int], present: Sequence[float]) -> Sequence[float]:
    """The bounds of the values at these positions, which are their own where they have none."""
    if not bounds:
        return present
    padded = [*bounds, *[None] * (there[-1] + 1 - len(bounds))]
    return [value if (bound := padded[at]) is None else bound for at, value in zip(there, present, strict=True)]


def runs_of(values: Sequence[Value]) -> Iterator[range]:
    """Each run of neighbours that have a value."""
    start = None
    for at, value in enumerate(values):
        if value is None:
            if start is not None:
                yield range(start, at)
            start = None
        elif start is None:
            start = at
    if start is not None:
        yield range(start, len(values))


def finite(values: Sequence[Value]) -> list[Value]:
    """The values with None for those that are no numbers to draw."""
    # Nearly always all are numbers within the range. A sum with one that is no number is none either.
    numbers: Any = values
    try:
        if math.isfinite(sum(numbers)) and min(numbers) >= -_LARGEST and max(numbers) <= _LARGEST:
            return list(map(float, numbers))
    except (TypeError, ValueError, OverflowError):  # None, nothing, or too large a number
        pass
    return [
        float(value)
        if value is not None and -_LARGEST <= value <= _LARGEST
        else None
        if value is None or not math.isfinite(value)
        else clamp(float(value))
        for value in values
    ]


def sparkline(
    values: Sequence[Value], *, width: int = 120, height: int = 24, title: str = "", marks: Sequence[int] = ()
) -> str:
    """A series as a small line without axes, from its lowest value to its highest, with a dot at the newest; None is a
    gap. `marks` are positions of changes. `title` is its text for those who do not see it; without one it is
    decoration."""
    series = finite(values)
    measured = [value for value in series if value is not None]
    x = Axis(0, max(1, len(series) - 1), 2, width - 3)
    low, high = span(measured)
    # Noise that filled the height would look like changes: less than that share of the level looks flat.
    wide = _FLAT * max(map(abs, measured), default=0.0)
    if high - low < wide:
        low, high = (low + high - wide) / 2, (low + high + wide) / 2
    y = Axis(low, high, height - 2, 2)
    parts = [line(x(at), 1, x(at), height - 1, "mark", color=LIGHT_SOFT, more=' stroke-width="1"') for at in marks]
    for run in runs_of(series):
        pixels = x.pixels(run)
        made = columns(series[run.start : run.stop], (), (), width, pixels.__getitem__)
        points = [(run_x, y(level)) for column in made for run_x, level in _corners(column, len(run) > width)]
        if len(points) > 1:
            parts.append(path(points, "series-1", color=LIGHT["series-1"]))
        else:
            parts.append(dot(*points[0], "series-1", color=LIGHT["series-1"], radius=1.5))
    newest = next((at for at in range(len(series) - 1, -1, -1) if series[at] is not None), None)
    if newest is not None:
        parts.append(dot(x(newest), y(measured[-1]), "series-1", color=LIGHT["series-1"]))
    label = f'role="img" aria-label="{html.escape(title)}"' if title else 'aria-hidden="true"'
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    return f'<svg class="spark" {size} {label}>{"".join(parts)}</svg>'


def _corners(column: Column, is_dense: bool) -> list[tuple[float, float]]:
    if column.least == column.most:  # as nearly always where it is not dense
        return [(column.x, column.first)]
    levels = (column.first, column.least, column.most, column.last) if is_dense else (column.first, column.last)
    return [(column.x, level) for level in dict.fromkeys(levels)]
