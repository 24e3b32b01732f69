"""A table in HTML for notebooks: only text, so that no name becomes markup and the page requests nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from itertools import islice

from perfcore.text import plural, printable

_ROWS = 60  # as many as pandas shows: more are not read in a notebook, and a page with a million rows freezes it


def html_table(columns: Sequence[str], rows: Iterable[Sequence[object]], count: int | None = None) -> str:
    """The first rows of a table, and how many follow if their `count` is known. None is an empty cell."""
    lines = [_line("th", columns), *(_line("td", row) for row in islice(rows, _ROWS))]
    hidden = 0 if count is None else max(0, count - _ROWS)
    note = f"<p>{plural(hidden, 'further row')}</p>" if hidden else ""
    return f"<table>{''.join(lines)}</table>{note}"


def _line(tag: str, cells: Iterable[object]) -> str:
    texts = ("" if cell is None else escape(printable(str(cell))) for cell in cells)
    return f"<tr>{''.join(f'<{tag}>{text}</{tag}>' for text in texts)}</tr>"
