"""The page: the largest bar in a sentence, the picture, and the table."""

from __future__ import annotations

import html

from perfcore_view_kit import chart
from perfcore_view_kit.form import framed, quantity
from perfcore_view_kit.page import page
from perfcore_view_kit.runs import band_text
from perfcore_view_kit.table import Cell, script, table

from perfcore_view_bars.bars import Amount, Bars
from perfcore_view_bars.pictures import picture, summary

_WIDTH = 860


def write(made: Bars, *, title: str) -> str:
    """Every text is one that can be shown as it is."""
    name = html.escape(made.title)
    rows: list[list[str | Cell]] = [
        [bar, *(cell(amount, made.unit) for amount in amounts)]
        for bar, amounts in zip(made.names, made.amounts, strict=True)
    ]
    counts = [amount.runs for row in made.amounts for amount in row if amount]
    main = (
        f'<figure aria-label="{name}"><div class="still" tabindex="0" role="group" aria-label="Picture of {name}">'
        f'{picture(made, width=_WIDTH)}</div><p class="soft">{html.escape(_interval_text(counts))}</p></figure>\n'
        + table(made.title, ("Bar", *made.sides), rows, sortable=True)
    )
    return page(title, framed(title, summary(made), main), [*chart.scripts()[:2], script()], styles=chart.styles())


def cell(amount: Amount | None, unit: str) -> Cell:
    if amount is None:
        return Cell("not measured")
    text = quantity(amount.median, unit)
    if amount.low is not None and amount.high is not None:
        text += f" ({quantity(amount.low, unit)} to {quantity(amount.high, unit)})"
    return Cell(text, amount.median)


def _interval_text(counts: list[int]) -> str:
    return band_text(counts).replace("The band is", "On a bar is") or "Of one run each: there is no interval."
