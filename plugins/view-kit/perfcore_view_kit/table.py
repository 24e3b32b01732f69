"""Tables of pages: a caption, a first column that names its rows, and a frame that scrolls, also by keyboard.

`table.js` sorts and filters those that ask for it."""

from __future__ import annotations

import html
import itertools
import re
from collections.abc import Sequence
from typing import Any, TypeAlias

import msgspec

from perfcore_view_kit.page import source


class Cell(msgspec.Struct, frozen=True):
    """A cell with its text, the number that sorts it (None comes last) and a picture, which is markup, before it."""

    text: str
    key: float | None = None
    picture: str = ""
    link: str = ""


Content: TypeAlias = str | Cell
# The name of a row may be broken behind these, where its column is too narrow for it.
_BREAK = re.compile(r"(?<=\w)[._/:]+(?=\w)")
_SHORT = 16  # characters of a name, up to which it fits also beside many columns
_ONE_LINE = 44  # characters of a text that is one line also on a narrow screen: a size with its interval


def script() -> str:
    """The script that sorts and filters the tables of a page."""
    return source("perfcore_view_kit", "table.js")


def table(
    caption: str,
    head: Sequence[str],
    rows: Sequence[Sequence[Content]],
    *,
    left: Sequence[int] = (),
    name: str = "",
    sortable: bool = False,
    kinds: Sequence[str] = (),
) -> str:
    """A table whose first column names its rows; columns of the numbers `left` are text. With `sortable`, people sort
    it by any column and filter it by text. `kinds[i]` is the class of a row, by which pages can style and count it."""
    heads = "".join(f'<th scope="col"{_left(at, left)}>{html.escape(cell)}</th>' for at, cell in enumerate(head))
    columns = [_column(at, left, rows) for at in range(max(map(len, rows), default=0))]
    lines = _plain_lines(rows, columns) if _is_plain(rows, kinds) else _lines(rows, columns, kinds)
    classes = f"{name} sortable".strip() if sortable else name
    return (
        f'<div class="scroll" tabindex="0" role="group" aria-label="{html.escape(caption)}"><table class="{classes}">'
        f"<caption>{html.escape(caption)}</caption><thead><tr>{heads}</tr></thead><tbody>{lines}</tbody></table></div>\n"
    )


def _is_plain(rows: Sequence[Sequence[Content]], kinds: Sequence[str]) -> bool:
    """Whether all cells are texts in full rows, and no name of a row is to be broken."""
    return (
        not kinds
        and len(set(map(len, rows))) == 1
        and set(map(type, itertools.chain.from_iterable(rows))) == {str}
        and max(len(str(row[0])) for row in rows) <= _SHORT
    )


def _plain_lines(rows: Sequence[Sequence[Any]], columns: Sequence[tuple[str, str, str]]) -> str:
    """The lines of texts. One format for all takes a tenth of the time of one for each."""
    cells = tuple(itertools.chain.from_iterable(rows))
    joined = "".join(cells)
    line = "".join([f"{opening}%s</{tag[:2]}>" for tag, _, opening in columns])
    return f"<tr>{line}</tr>" * len(rows) % (cells if html.escape(joined) == joined else tuple(map(html.escape, cells)))


def _lines(rows: Sequence[Sequence[Content]], columns: Sequence[tuple[str, str, str]], kinds: Sequence[str]) -> str:
    return "".join(f"<tr{_kind(kinds, number)}>{_row(row, columns)}</tr>" for number, row in enumerate(rows))


def _kind(kinds: Sequence[str], number: int) -> str:
    return f' class="{html.escape(kinds[number])}"' if number < len(kinds) and kinds[number] else ""


def _column(at: int, left: Sequence[int], rows: Sequence[Sequence[Content]]) -> tuple[str, str, str]:
    """The tag of the cells of a column, the attributes that follow a key, and the opening of a cell without one."""
    tag, scope = ("th", ' scope="row"') if at == 0 else ("td", "")
    attributes = _left(at, left)
    if attributes and at and all(len(_content(row[at])) <= _ONE_LINE for row in rows if at < len(row)):
        attributes = ' class="text short"'
    return f"{tag}{scope}", attributes, f"<{tag}{scope}{attributes}>"


def _content(content: Content) -> str:
    return content if isinstance(content, str) else content.text


def _row(row: Sequence[Content], columns: Sequence[tuple[str, str, str]]) -> str:
    """Most cells are texts, and pages have thousands of them."""
    return "".join(
        f"{opening}{_text(content, tag)}</{tag[:2]}>" if isinstance(content, str) else _cell(content, tag, attributes)
        for (tag, attributes, opening), content in zip(columns, row, strict=False)
    )


def _cell(cell: Cell, tag: str, attributes: str) -> str:
    key = "" if cell.key is None else f' data-key="{cell.key:.9g}"'
    text = _text(cell.text, tag)
    if cell.link:
        text = f'<a href="{html.escape(cell.link)}">{text}</a>'
    return f"<{tag}{key}{attributes}>{cell.picture}{text}</{tag[:2]}>"


def _text(text: str, tag: str) -> str:
    return name_markup(text) if tag[:2] == "th" else html.escape(text)


def name_markup(name: str) -> str:
    """The name of a row, which may be broken between its words if it is long."""
    escaped = html.escape(name)
    return _BREAK.sub(r"\g<0><wbr>", escaped) if len(name) > _SHORT else escaped


def _left(at: int, left: Sequence[int]) -> str:
    return ' class="text"' if at in left or at == 0 else ""
