"""The driver: one document on all data that there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
from perfcore_view_kit.form import shown

from perfcore.errors import UsageError
from perfcore.settings import option

if TYPE_CHECKING:
    from perfcore.hookspecs import Output
    from perfcore.model import ViewData


@attrs.frozen
class ReportSettings:
    """What stands above it."""

    title: str | None = option(None, help="Title of the document. Default: the profiles or versions.", metavar="TEXT")


class ReportView:
    """Writes one document: what changed, how sure that is, the runs, the machines with their differences, charts."""

    Settings = ReportSettings
    accepts = ("profiles", "series", "changes")
    contract = "perfcore_view_report.contract:ReportContract"

    def __init__(self, settings: ReportSettings | None = None) -> None:
        self.settings = settings or ReportSettings()

    def render(self, subject: ViewData, output: Output) -> None:
        """Write the document."""
        from perfcore_view_report import page

        if output.width is not None and output.path is None:
            raise UsageError(
                "a report is not for a terminal, it is html for a file",
                hint="-o report.html writes it, --open opens it",
            )
        output.write(page.write(subject, title=self._title(subject)))

    def _title(self, subject: ViewData) -> str:
        names = " → ".join(shown(name, 60) for name in subject.names[:6])
        return shown(self.settings.title or (f"Report: {names}" if names else "Report"))
