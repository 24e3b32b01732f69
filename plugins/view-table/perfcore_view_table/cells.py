"""Columns as text, cell by cell; a text that many rows have is made ready once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from perfcore.profile import bitmap
from perfcore.text import printable, quantity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from perfcore.profile.table import Column

    Cells = Callable[[Sequence[int]], list[str]]

# Rows: enough that a call of `write` costs nothing, few enough that the text of a huge table is never in memory.
CHUNK = 4096


@attrs.frozen
class Script:
    """How the values of a form are written; `number` makes the writer of a numeric column."""

    text: Callable[[str], str]
    number: Callable[[Column], Callable[[Any], str]]
    missing: str

    def cells(self, column: Column) -> Cells:
        """The function that writes the cells of these rows of a column."""
        data, missing = column.data, self.missing
        write = self._writer(column)
        if column.valid is None:
            return lambda rows: [write(data[row]) for row in rows]
        present = bitmap.flags(column.valid, len(column))
        return lambda rows: [write(data[row]) if present[row] else missing for row in rows]

    def _writer(self, column: Column) -> Callable[[Any], str]:
        if column.dtype == "str":
            return _Remembered(column.dictionary, self.text).__getitem__
        return _truth if column.dtype == "bool" else self.number(column)


class _Remembered(dict[int, str]):
    """Written texts by their code; each is written when it is first met."""

    def __init__(self, dictionary: Sequence[str], text: Callable[[str], str]) -> None:
        super().__init__()
        self._dictionary = dictionary
        self._text = text

    def __missing__(self, code: int) -> str:
        written = self[code] = self._text(self._dictionary[code])
        return written


def chunks(rows: Sequence[int]) -> Iterator[Sequence[int]]:
    """The rows in parts that are written at once."""
    for start in range(0, len(rows), CHUNK):
        yield rows[start : start + CHUNK]


def unicode(text: str) -> str:
    """The text with what is no character (bytes of file names in another encoding) as escapes."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")


def for_people(*, raw: bool, escape: Callable[[str], str] = str) -> Script:
    """Values as quantities in fitting units. What says where and when stays exact; `raw` leaves all exact."""

    def number(column: Column) -> Callable[[Any], str]:
        if not has_quantities(column, raw=raw):
            return repr
        unit = column.unit
        return lambda value: escape(quantity(value, unit))

    return Script(text=lambda text: escape(printable(text)), number=number, missing="-")


def has_quantities(column: Column, *, raw: bool) -> bool:
    """Whether each cell carries its unit."""
    return column.role == "value" and is_number(column) and not raw


def is_number(column: Column) -> bool:
    return column.dtype in ("i64", "u64", "f64")


def title(column: Column, *, raw: bool) -> str:
    """The heading of a column for people, with the unit where the cells do not carry it."""
    unit = column.unit if is_number(column) and not has_quantities(column, raw=raw) else ""
    return printable(f"{column.name} ({unit})" if unit else column.name)


def _truth(value: bool) -> str:
    return "true" if value else "false"
