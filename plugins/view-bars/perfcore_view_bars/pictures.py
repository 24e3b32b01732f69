"""The bars as SVG: one row for each profile of each bar, from zero, with the interval as an error bar."""

from __future__ import annotations

from collections.abc import Iterator

from perfcore_view_kit import svg
from perfcore_view_kit.form import quantity
from perfcore_view_kit.palette import LIGHT
from perfcore_view_kit.svg import Axis

from perfcore_view_bars.bars import Amount, Bars

_LABEL, _VALUE = 250, 90  # pixels for names and amounts
_ROW, _GAP, _TOP = 17, 8, 26


def picture(made: Bars, *, width: int, alone: bool = False) -> str:
    """Every text is one that can be shown as it is."""
    several = len(made.sides) > 1
    tall = _ROW * len(made.sides) + _GAP
    height = _TOP + tall * len(made.names) + 30
    ends = [end for row in made.amounts for amount in row if amount for end in _ends(amount)]
    x = Axis(*svg.span(ends, from_zero=True), _LABEL, width - _VALUE)
    bottom = height - 26
    parts = [*_axis(x, made.unit, bottom)]
    if several:
        parts += _legend(made)
    for number, (name, amounts) in enumerate(zip(made.names, made.amounts, strict=True)):
        top = _TOP + tall * number
        middle = top + _ROW * len(made.sides) / 2 + 4
        parts.append(svg.text(_LABEL - 10, middle, _fitted(name), "end", color=svg.LIGHT_TEXT))
        for side, amount in enumerate(amounts):
            parts += _bar(amount, side, x, top + _ROW * side, made.unit)
    title = f"{made.title}. {summary(made)}"
    return svg.picture(width, height, title, parts, alone=alone)


def summary(made: Bars) -> str:
    """The largest bar in a sentence."""
    largest = max(amount.median for amount in made.amounts[0] if amount)
    more = f", and {made.left_out:,} more that are smaller" if made.left_out else ""
    return f"The largest {made.metric} is {quantity(largest, made.unit)}, of {made.names[0]}{more}."


def _ends(amount: Amount) -> tuple[float, ...]:
    return tuple(end for end in (amount.median, amount.low, amount.high) if end is not None)


def _fitted(name: str) -> str:
    most = int((_LABEL - 20) / svg.LETTER)
    return name if len(name) <= most else f"{name[: most - 1]}…"


def _axis(x: Axis, unit: str, bottom: float) -> Iterator[str]:
    for value, words in x.ticks(6, unit):
        at = round(x(value)) + 0.5
        yield svg.line(at, _TOP - 4, at, bottom, "grid")
        yield svg.text(at, bottom + 16, words, "middle")
    zero = x(0.0)
    yield svg.line(zero, _TOP - 4, zero, bottom, "rule", color=svg.LIGHT_SOFT)


def _legend(made: Bars) -> Iterator[str]:
    at = float(_LABEL)
    for number, side in enumerate(made.sides):
        name = f"series-{number + 1}"
        yield svg.box(at, 4, 12, 12, name, color=LIGHT[name])
        words = f"{number + 1} {side[:24]}"
        yield svg.text(at + 17, 14, words, color=svg.LIGHT_TEXT)
        at += 34 + len(words) * svg.LETTER


def _bar(amount: Amount | None, side: int, x: Axis, y: float, unit: str) -> Iterator[str]:
    if amount is None:
        yield svg.text(x(0.0) + 6, y + 12, "not measured")
        return
    name = f"series-{side + 1}"
    zero, end = x(0.0), x(amount.median)
    yield svg.box(min(zero, end), y + 1, max(1.0, abs(end - zero)), _ROW - 3, name, color=LIGHT[name], opacity=0.8)
    farthest = max(zero, end)
    if amount.low is not None and amount.high is not None:
        low, high, middle = x(amount.low), x(amount.high), y + (_ROW - 1) / 2
        yield svg.line(low, middle, high, middle, "level", color=svg.LIGHT_TEXT, more=' stroke-width="1.5"')
        for at in (low, high):
            yield svg.line(at, middle - 3, at, middle + 3, "level", color=svg.LIGHT_TEXT, more=' stroke-width="1.5"')
        farthest = max(farthest, high)
    yield svg.text(farthest + 6, y + 12, quantity(amount.median, unit))
