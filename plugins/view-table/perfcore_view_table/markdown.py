"""Tables in GitHub's Markdown, to be pasted where people read them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from perfcore.text import printable
from perfcore_view_table.cells import chunks, for_people, is_number, title

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perfcore.hookspecs import Output
    from perfcore_view_table.selection import Selection

# What GitHub's Markdown may interpret within a cell, `$` for its formulas, `://` and `www.` as links.
_MARKUP = re.compile(r"[\\`*_\[\]|~$]|:(?=//)|(?<=[wW]{3})\.")
# No escape hides a mention, an address of mail or the number of an issue, as in `{lambda(int)#1}`: they are looked for
# in the finished text. A comment parts the sign from its name and is neither seen nor copied.
_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "@": "@<!-- -->", "#": "#<!-- -->"})


def write(selections: Sequence[Selection], output: Output, *, raw: bool) -> None:
    """One table after the other, with the names of the profiles as headings where there are several."""
    for index, selection in enumerate(selections):
        if len(selections) > 1:
            output.write("\n" * (index > 0) + f"### {escape(printable(selection.name))}\n\n")
        _write_table(selection, output, raw=raw)


def escape(text: str) -> str:
    """Text that is shown as it is: nothing in it is markup, HTML or the end of a cell."""
    return _MARKUP.sub(r"\\\g<0>", text).translate(_ENTITIES)


def _write_table(selection: Selection, output: Output, *, raw: bool) -> None:
    columns = selection.table.columns
    if not columns:
        return
    script = for_people(raw=raw, escape=escape)
    output.write(_line([escape(title(column, raw=raw)) for column in columns]))
    output.write(_line(["---:" if is_number(column) else "---" for column in columns]))
    cells = [script.cells(column) for column in columns]
    for rows in chunks(selection.rows):
        output.write("".join(map(_line, zip(*(of(rows) for of in cells), strict=True))))


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |\n"
