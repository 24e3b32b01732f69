"""The driver: each series as one line of text with its changes below, all of them as CSV or as a page, one as SVG."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
from perfcore_view_kit.form import form_of, has_blocks

from perfcore.errors import NotFoundError, UsageError
from perfcore.settings import option
from perfcore.text import brief

if TYPE_CHECKING:
    from perfcore.hookspecs import Output
    from perfcore.model import ViewData

_LINKS = ("http://", "https://", "./", "../", "/", "#")


@attrs.frozen
class HistorySettings:
    """In which form."""

    format: str = option(
        "auto",
        help="auto: html and svg for a file with such a name, csv with --csv, else text.",
        choices=("auto", "text", "csv", "html", "svg"),
    )
    csv: bool = option(False, help="Print a line for each version, as CSV.")
    raw_text: bool = option(False, help="CSV: do not put ' before text that a spreadsheet would take for a formula.")
    ascii: bool = option(False, help="Draw with ASCII characters only.")
    link: str = option(
        "",
        help="Page: address of a version, with {} for its id, such as 'https://example.org/commit/{}'.",
        metavar="URL",
    )
    charts: int = option(20, help="Page: charts for so many series; the others have a row.", metavar="N", minimum=1)
    width: int = option(860, help="SVG: the width in pixels.", minimum=200, maximum=20_000)


class HistoryView:
    """Draws a metric or the total of a function over the versions of a branch, with the changes that a check found."""

    Settings = HistorySettings
    accepts = ("series",)
    contract = "perfcore_view_history.contract:HistoryContract"

    def __init__(self, settings: HistorySettings | None = None) -> None:
        self.settings = settings or HistorySettings()

    def render(self, subject: ViewData, output: Output) -> None:
        """Draw every series."""
        from perfcore_view_history import separated  # `perf --help` imports this package for its verb

        if not subject.series:
            raise NotFoundError("there is no history to show")
        match self._format(output):
            case "csv":
                output.write(separated.csv_text(subject.series, raw_text=self.settings.raw_text))
            case "html":
                output.write(self._page(subject))
            case "svg":
                output.write(self._picture(subject))
            case _:
                self._draw(subject, output)

    def _format(self, output: Output) -> str:
        if self.settings.csv:
            return "csv"
        return form_of(self.settings.format, output)

    def _page(self, subject: ViewData) -> str:
        from perfcore_view_history import page

        return page.write(subject, link=_checked(self.settings.link), charts=self.settings.charts)

    def _picture(self, subject: ViewData) -> str:
        from perfcore_view_history import page

        if len(subject.series) > 1:
            raise UsageError(
                f"an SVG is of one series, and there are {len(subject.series)}",
                hint="name a benchmark or metric; a page (-o history.html) holds all of them",
            )
        return page.picture(subject, width=self.settings.width)

    def _draw(self, subject: ViewData, output: Output) -> None:
        from perfcore_view_history import drawing

        blocks = not self.settings.ascii and has_blocks(output)
        for number, series in enumerate(subject.series):
            if number:
                output.write("\n")
            drawing.write(series, subject, output, blocks=blocks)


def _checked(link: str) -> str:
    """UsageError for an address that would run something, or that has no version in it."""
    if link and ("{}" not in link or not link.startswith(_LINKS)):
        raise UsageError(
            f"{brief(link)} is no address of a version",
            hint="it begins with http:, https: or a path, and has {} where the id of the version comes",
        )
    return link
