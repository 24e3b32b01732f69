"""The driver: each series as one line of text with its changes below, or all of them as CSV."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import attrs

from perfcore.errors import NotFoundError
from perfcore.settings import option

if TYPE_CHECKING:
    from perfcore.hookspecs import Output
    from perfcore.model import ViewData


@attrs.frozen
class HistorySettings:
    """In which form."""

    csv: bool = option(False, help="Print a line for each version, as CSV.")
    raw_text: bool = option(False, help="CSV: do not put ' before text that a spreadsheet would take for a formula.")
    ascii: bool = option(False, help="Draw with ASCII characters only.")


class HistoryView:
    """Draws a metric or the total of a function over the versions of a branch, with the changes that a check found."""

    Settings = HistorySettings
    accepts = ("series",)
    contract = "perfcore_view_history.contract:HistoryContract"

    def __init__(self, settings: HistorySettings | None = None) -> None:
        self.settings = settings or HistorySettings()

    def render(self, subject: ViewData, output: Output) -> None:
        """Draw every series."""
        from perfcore_view_history import drawing, separated  # `perf --help` imports this package for its verb

        if not subject.series:
            raise NotFoundError("there is no history to show")
        if self.settings.csv:
            output.write(separated.csv_text(subject.series, raw_text=self.settings.raw_text))
            return
        blocks = not self.settings.ascii and (output.path is not None or _is_unicode())
        for number, series in enumerate(subject.series):
            if number:
                output.write("\n")
            drawing.write(series, output, blocks=blocks)


def _is_unicode() -> bool:
    """Whether standard output can hold the block characters."""
    return (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
