"""CSV after RFC 4180: values separated by commas, lines ended by CR LF, UTF-8, one line of headings.

A text that a spreadsheet would run as a formula (`=1+1`, `@name`, `-flag`) gets a `'` in front: names are from
whoever made the profile. Programs that read names such as `-[Window show]` and `@plt` ask for raw text. Numbers are
exact and stay numbers. A missing value is an empty field, an empty text is `""`. Only on a terminal are control
characters shown as escapes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfcore.text import inert, printable
from perfcore_view_table.cells import Script, chunks, unicode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from perfcore.hookspecs import Output
    from perfcore_view_table.cells import Cells
    from perfcore_view_table.selection import Selection

_END = "\r\n"


def write(selections: Sequence[Selection], output: Output, *, raw_text: bool = False) -> None:
    """One table of all columns; where there are several profiles, the first column names them."""
    on_terminal = output.width is not None and output.path is None
    field = _shown if on_terminal else quoted
    script = Script(text=field if raw_text else lambda text: field(inert(text)), number=lambda column: repr, missing="")
    # As bytes, since a text file of Python on Windows would make CR CR LF of the line ends.
    send = output.write if on_terminal else lambda text: output.write_bytes(text.encode("utf-8"))
    names = list(dict.fromkeys(name for selection in selections for name in selection.table.names))
    if not names:
        return
    several = len(selections) > 1
    headings = [_naming(names), *names] if several else names
    send(_line(map(script.text, headings)))
    for selection in selections:
        cells = [_cells(script, selection, name) for name in names]
        if several:
            cells.insert(0, _constant(script.text(selection.name)))
        for rows in chunks(selection.rows):
            send("".join(map(_line, zip(*(of(rows) for of in cells), strict=True))))


def quoted(text: str) -> str:
    """A text as a field; in quotes where it must be, and where it is empty but not missing."""
    text = unicode(text)
    # Blanks at the ends are part of a field in RFC 4180, but many readers drop them without quotes.
    if text and not any(c in text for c in ',"\r\n') and text.strip() == text:
        return text
    return '"' + text.replace('"', '""') + '"'


def _shown(text: str) -> str:
    return quoted(printable(text))


def _naming(names: Sequence[str]) -> str:
    """The heading of the column that names the profiles; no other column has it."""
    naming = "profile"
    while naming in names:
        naming = f"_{naming}"
    return naming


def _cells(script: Script, selection: Selection, name: str) -> Cells:
    column = selection.table.get(name)
    return script.cells(column) if column is not None else _constant(script.missing)


def _constant(cell: str) -> Callable[[Sequence[int]], list[str]]:
    return lambda rows: [cell] * len(rows)


def _line(cells: Iterable[str]) -> str:
    """A line that would be empty is a missing value in the only column: readers skip empty lines."""
    return (",".join(cells) or '""') + _END
