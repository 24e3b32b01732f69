"""Tables of pages: a caption, a first column that names its rows, and a frame that scrolls, also by keyboard."""

from __future__ import annotations

import html
from collections.abc import Sequence


def table(
    caption: str, head: Sequence[str], rows: Sequence[Sequence[str]], *, left: Sequence[int] = (), name: str = ""
) -> str:
    """A table whose first column names its rows; columns of the numbers `left` are text. Cells are text."""
    heads = "".join(f'<th scope="col"{_left(at, left)}>{html.escape(cell)}</th>' for at, cell in enumerate(head))
    lines = "".join(f"<tr>{_row(row, left)}</tr>" for row in rows)
    return (
        f'<div class="scroll" tabindex="0" role="group" aria-label="{html.escape(caption)}"><table class="{name}">'
        f"<caption>{html.escape(caption)}</caption><thead><tr>{heads}</tr></thead><tbody>{lines}</tbody></table></div>\n"
    )


def _row(row: Sequence[str], left: Sequence[int]) -> str:
    first, *others = row
    return f'<th scope="row"{_left(0, left)}>{html.escape(first)}</th>' + "".join(
        f"<td{_left(at, left)}>{html.escape(cell)}</td>" for at, cell in enumerate(others, 1)
    )


def _left(at: int, left: Sequence[int]) -> str:
    return ' class="text"' if at in left or at == 0 else ""
