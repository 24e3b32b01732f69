"""The bars in a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from perfcore.text import align, clip, fitted, quantity
from perfcore_view_bars.bars import Bars

_COLUMNS = 30


def lines(made: Bars, *, columns: int | None, blocks: bool) -> Iterator[str]:
    sign = "█" if blocks else "#"
    largest = max((abs(amount.median) for row in made.amounts for amount in row if amount), default=0.0) or 1.0
    rows: list[tuple[str, ...]] = []
    for name, amounts in zip(made.names, made.amounts, strict=True):
        for side, amount in enumerate(amounts):
            text = "-" if amount is None else quantity(amount.median, made.unit)
            median = 0 if amount is None else abs(amount.median)
            bar = sign * max(1, round(_COLUMNS * median / largest)) if median else ""
            label = name if not side else ""
            rows.append((label, str(side + 1) if len(made.sides) > 1 else "", text, bar))
    yield _cut(made.title, columns)
    if len(made.sides) > 1:
        yield from (_cut(f"{number} {side}", columns) for number, side in enumerate(made.sides, 1))
    for line in align(fitted(rows, columns, cut=(0,), least=8), right=(2,)):
        yield _cut(line, columns)
    if made.left_out:
        yield _cut(f"and {made.left_out:,} more that are smaller", columns)


def _cut(line: str, columns: int | None) -> str:
    return clip(line, columns) if columns else line
