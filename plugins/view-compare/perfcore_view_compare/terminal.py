"""The comparisons in a terminal: a row for each, with its interval drawn in characters."""

from __future__ import annotations

from collections.abc import Sequence

from perfcore.text import align, clip, encodable, fitted, percent, printable, quantity
from perfcore_view_compare.page import scale_of
from perfcore_view_compare.ranking import Row, log_ratio

_COLUMNS = 21  # of the drawn interval: an odd number has a middle
_NAME = 5


def lines(ranked: Sequence[Row], *, columns: int | None, ascii: bool) -> list[str]:
    """Aligned rows, no wider than `columns`."""
    scale = scale_of(ranked)
    cells: list[tuple[str, ...]] = [("", "change", "interval", "before", "after", "benchmark")]
    cells += [_cells(row, scale, ascii) for row in ranked]
    wide = align(fitted(cells, columns, cut=(_NAME,), least=8), right=(1, 3, 4))
    return [clip(line, columns) if columns else line for line in wide]


def _cells(row: Row, scale: float, ascii: bool) -> tuple[str, ...]:
    change = row.change
    size = percent(change.ratio) if row.effect is not None and change.ratio else "-"
    word = row.state or row.word
    amounts = (quantity(value, printable(change.unit)) for value in (change.baseline_value, change.target_value))
    before, after = map(encodable, amounts)
    return word, size, _drawn(row, scale, ascii), before, after, f"{row.metric} of {row.name}"


def _drawn(row: Row, scale: float, ascii: bool) -> str:
    """`├──●──┤` around the middle, which is no change."""
    effect, low, high = (log_ratio(ratio) for ratio in (row.change.ratio, row.change.low, row.change.high))
    line = ["."] * _COLUMNS if ascii else ["·"] * _COLUMNS
    middle, bar, dot = ("|", "-", "o") if ascii else ("│", "─", "●")
    line[_COLUMNS // 2] = middle
    if low is not None and high is not None:
        for at in range(_place(low, scale), _place(high, scale) + 1):
            line[at] = bar
    if effect is not None:
        line[_place(effect, scale)] = dot
    return "".join(line)


def _place(effect: float, scale: float) -> int:
    half = _COLUMNS // 2
    return half + round(half * max(-1.0, min(1.0, effect / scale)))
