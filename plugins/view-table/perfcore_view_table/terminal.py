"""Tables for the terminal: aligned, no wider than it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from perfcore.text import clip, fitted, plural, printable, width
from perfcore_view_table.cells import chunks, for_people, is_number, title

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from perfcore.hookspecs import Output
    from perfcore_view_table.cells import Cells
    from perfcore_view_table.selection import Selection

_GAP = "  "
# Columns. A text that is cut shorter says nothing; a wider one pushes what stands behind it out of sight.
_LEAST = 8
_WIDEST = 100


@attrs.define
class _Laid:
    """A column on its way to the screen: its widest cell has `natural` places, it is given `width` of them, and
    what does not fit is cut or pushes the rest of its line aside."""

    title: str
    cells: Cells
    right: bool
    natural: int
    width: int = 0
    cut: bool = False

    @property
    def least(self) -> int:
        """How far it may shrink: numbers are never cut."""
        longest = max(self.natural, width(self.title))
        return min(longest, max(_LEAST, self.natural) if self.right else _LEAST)

    def fill(self, cell: str) -> str:
        (text,) = fitted([[cell]], self.width, cut=(0,), least=self.width)[0] if self.cut else (cell,)
        blanks = " " * (self.width - width(text))
        return blanks + text if self.right else text + blanks


def write(selections: Sequence[Selection], output: Output, *, raw: bool) -> None:
    """One table after the other, with the names of the profiles where there are several."""
    for index, selection in enumerate(selections):
        if len(selections) > 1:
            name = printable(selection.name)
            output.write("\n" * (index > 0) + (clip(name, output.width) if output.width else name) + "\n")
        _write_table(selection, output, raw=raw)
        for text in _remarks(selection):
            output.say(text)


def _write_table(selection: Selection, output: Output, *, raw: bool) -> None:
    script = for_people(raw=raw)
    laid = [
        _lay(title(column, raw=raw), script.cells(column), is_number(column), selection.rows)
        for column in selection.table.columns
    ]
    visible_columns = _placed(laid, output.width)
    if len(visible_columns) < len(laid):
        left_out = ", ".join(clip(column.title, 40) for column in laid[len(visible_columns) :])
        count = plural(len(laid) - len(visible_columns), "column")
        output.say(f"no room for {count}: {left_out}; --columns chooses")
    if not visible_columns:
        return
    heading = _GAP.join(column.fill(column.title) for column in visible_columns).rstrip()
    output.write((f"\x1b[1m{heading}\x1b[0m" if output.color else heading) + "\n")
    for rows in chunks(selection.rows):
        lines = zip(*(map(column.fill, column.cells(rows)) for column in visible_columns), strict=True)
        output.write("".join(_GAP.join(line).rstrip() + "\n" for line in lines))


def _lay(heading: str, cells: Cells, right: bool, rows: Sequence[int]) -> _Laid:
    natural = max((width(cell) for chunk in chunks(rows) for cell in cells(chunk)), default=0)
    return _Laid(heading, cells, right, natural)


def _placed(columns: Sequence[_Laid], available: int | None) -> Sequence[_Laid]:
    """The columns that are shown, with their widths. Where nothing bounds them, all are, and nothing is cut."""
    for column in columns:
        column.width = max(column.natural, width(column.title))
        column.cut = available is not None
        if not (column.right or column.cut):
            column.width = min(column.width, _WIDEST)
    return columns if available is None else _fitted(columns, available)


def _fitted(columns: Sequence[_Laid], available: int) -> list[_Laid]:
    """The widest columns give way first; those for which there is no place at all are left out, beginning with
    the last."""
    visible_columns = list(columns)
    while len(visible_columns) > 1 and _total(visible_columns, lambda column: column.least) > available:
        visible_columns.pop()
    for column in visible_columns:
        column.width = min(column.width, max(available, 1))
    while _total(visible_columns, lambda column: column.width) > available:
        shrinking = [column for column in visible_columns if column.width > column.least]
        if not shrinking:
            break
        max(shrinking, key=lambda column: column.width).width -= 1
    return visible_columns


def _total(columns: Sequence[_Laid], measure: Callable[[_Laid], int]) -> int:
    return sum(map(measure, columns)) + len(_GAP) * (len(columns) - 1)


def _remarks(selection: Selection) -> list[str]:
    """What the reader should know of rows that are not there."""
    name, hidden_rows = printable(selection.name), selection.matched - len(selection.rows)
    if not selection.table.columns:
        return [f"{name}: the table has no columns"]
    if selection.matched == 0:
        return [f"{name}: the table is empty" if selection.table.rows == 0 else f"{name}: no row matches"]
    if selection.bounded and hidden_rows:
        return [f"{name}: {plural(hidden_rows, 'more row')}; --head {selection.matched} shows all"]
    return []
