"""One JSON document with the exact values.

    {"format": 1, "table": "resources", "profiles": [
      {"profile": "0@p", "matched": 1000,
       "columns": [{"name": "wall", "dtype": "i64", "unit": "ns", "role": "value", "better": "lower"}],
       "rows": [[12345678], [null]]}]}

A row lists the values in the order of the columns, null where one is missing. Integers of 64 bits stay
integers; the floats that JSON lacks are the strings "NaN", "Infinity" and "-Infinity". `matched` is how many
rows the filter let through, of which `rows` may hold only the head or tail. The whole is ASCII.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict

from perfcore_view_table.cells import Script, chunks, unicode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from perfcore.hookspecs import Output
    from perfcore.profile.table import Column
    from perfcore_view_table.selection import Selection

FORMAT = 1


def write(selections: Sequence[Selection], table: str, output: Output) -> None:
    """The document, written as it is made."""
    output.write(f'{{"format": {FORMAT}, "table": {_text(table)}, "profiles": [')
    for index, selection in enumerate(selections):
        output.write(",\n  " if index else "\n  ")
        _write_selection(selection, output)
    output.write("\n]}\n")


def _write_selection(selection: Selection, output: Output) -> None:
    columns = selection.table.columns
    output.write(f'{{"profile": {_text(selection.name)}, "matched": {selection.matched},\n   "columns": [')
    output.write(",\n    ".join(_described(column) for column in columns))
    output.write('],\n   "rows": [')
    cells = [_SCRIPT.cells(column) for column in columns]
    before = "\n    "
    for rows in chunks(selection.rows):
        lines = map(_array, zip(*(of(rows) for of in cells), strict=True))
        output.write(before + ",\n    ".join(lines))
        before = ",\n    "
    output.write("]}")


def _array(cells: Iterable[str]) -> str:
    return f"[{', '.join(cells)}]"


def _described(column: Column) -> str:
    facts = asdict(column.spec)
    return json.dumps({key: unicode(facts[key]) for key in ("name", "dtype", "unit", "role", "better")})


def _text(text: str) -> str:
    return json.dumps(unicode(text))


def _number(column: Column) -> Callable[[Any], str]:
    return _float if column.dtype == "f64" else repr


def _float(value: float) -> str:
    if math.isfinite(value):
        return repr(value)
    # RFC 8259 has no such numbers, and many readers refuse what Python's `json` writes for them.
    return '"NaN"' if math.isnan(value) else '"Infinity"' if value > 0 else '"-Infinity"'


_SCRIPT = Script(text=_text, number=_number, missing="null")
