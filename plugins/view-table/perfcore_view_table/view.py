"""The driver: what is asked for, selected from each profile and written in one form."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from perfcore.errors import NotFoundError, UsageError, nearest
from perfcore.settings import option
from perfcore.text import printable
from perfcore_view_table import document, markdown, separated, terminal
from perfcore_view_table.selection import select

if TYPE_CHECKING:
    from collections.abc import Iterator

    from perfcore.hookspecs import Output
    from perfcore.model import ViewData
    from perfcore_view_table.selection import Selection

# About a screen; what was left out is told, with the option that shows it.
TERMINAL_ROWS = 40
_BY_SUFFIX = {".csv": "csv", ".md": "markdown", ".json": "json"}
_PAGES = (".html", ".htm", ".xhtml", ".svg")  # a browser would run what the names of a plain text hold


@attrs.frozen
class TableSettings:
    """Which rows and columns, in which order and form."""

    table: str = option("resources", help="The table to show.")
    columns: tuple[str, ...] = option(
        (), help="Only these columns, in this order; repeated, or separated by commas.", metavar="NAME"
    )
    filter: str | None = option(
        None, help="Only matching rows, such as wall > 10ms and uid like 'parse%'.", metavar="EXPRESSION"
    )
    sort: tuple[str, ...] = option(
        (), help="Order by these columns; -NAME for descending. Missing values come last.", metavar="NAME"
    )
    head: int | None = option(
        None, help=f"Only the first N rows. Default: {TERMINAL_ROWS} in the terminal, else all.", minimum=0
    )
    tail: int | None = option(None, help="Only the last N rows.", minimum=0)
    format: str = option(
        "auto",
        help="auto: by the file name (.csv, .md or .json), else a table for the terminal. csv and json hold exact "
        "values.",
        choices=("auto", "csv", "markdown", "json"),
    )
    raw_text: bool = option(False, help="CSV: do not put ' before text that a spreadsheet would take for a formula.")
    raw: bool = option(False, help="Print exact numbers, not rounded ones such as 12.3 ms.")

    def __attrs_post_init__(self) -> None:
        if self.head is not None and self.tail is not None:
            raise UsageError("either the head or the tail of a table is shown, not both")


class TableView:
    """Shows any table of profiles: aligned in the terminal, or as CSV, Markdown, JSON."""

    Settings = TableSettings
    contract = "perfcore_view_table.contract:TableContract"

    def __init__(self, settings: TableSettings | None = None) -> None:
        self.settings = settings or TableSettings()

    def render(self, subject: ViewData, output: Output) -> None:
        """Write the table of every profile that has it."""
        form = self._form(output)
        selections = list(self._selections(subject, output, TERMINAL_ROWS if form == "auto" else None))
        match form:
            case "csv":
                separated.write(selections, output, raw_text=self.settings.raw_text)
            case "json":
                document.write(selections, self.settings.table, output)
            case "markdown":
                markdown.write(selections, output, raw=self.settings.raw)
            case _:
                terminal.write(selections, output, raw=self.settings.raw)

    def _form(self, output: Output) -> str:
        if self.settings.format != "auto" or output.path is None:
            return self.settings.format
        suffix = output.path.suffix.lower()
        if suffix in _PAGES:
            raise UsageError(
                f"a table is no page: {suffix} cannot be written", hint="name a file .csv, .md, .json or .txt"
            )
        return _BY_SUFFIX.get(suffix, "auto")

    def _selections(self, subject: ViewData, output: Output, most: int | None) -> Iterator[Selection]:
        """Profiles that lack the table are named where others have it."""
        if not subject.profiles:
            raise NotFoundError("there is no profile to show")
        with_table = [profile for profile in subject.profiles if self.settings.table in profile.tables]
        if not with_table:
            raise _no_table(self.settings.table, subject)
        for index, profile in enumerate(subject.profiles):
            name = subject.names[index] if index < len(subject.names) else profile.label
            if self.settings.table in profile.tables:
                yield select(profile, name, self.settings, most)
            else:
                output.say(f"{printable(name)} has no table {printable(self.settings.table)!r}")


def _no_table(wanted: str, subject: ViewData) -> NotFoundError:
    table_names = sorted({printable(name) for profile in subject.profiles for name in profile.tables})
    hints = [nearest(printable(wanted), table_names), f"tables: {', '.join(table_names) or 'none'}"]
    return NotFoundError(f"there is no table {printable(wanted)!r}", hint="; ".join(filter(None, hints)))
