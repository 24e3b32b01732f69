"""The driver: the runs of profiles or versions, in the form that is wanted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
from perfcore_view_kit.form import FORM_HELP, FORMS, form_of, has_blocks, shown

from perfcore.errors import UsageError
from perfcore.settings import option

if TYPE_CHECKING:
    from perfcore.hookspecs import Output
    from perfcore.model import ViewData


@attrs.frozen
class HistogramSettings:
    """Which runs, and in which form."""

    format: str = option("auto", help=FORM_HELP, choices=FORMS)
    metric: str | None = option(
        None, help="Of profiles, the metric. Default: the one that decides, such as CPU time.", metavar="NAME"
    )
    benchmark: str | None = option(None, help="Of a suite, only this benchmark. Default: all.", metavar="NAME")
    versions: int = option(2, help="Of a history, the newest N versions.", metavar="N", minimum=1, maximum=6)
    title: str | None = option(None, help="Title of the page.", metavar="TEXT")
    width: int = option(860, help="SVG: the width in pixels.", minimum=400, maximum=20_000)
    ascii: bool = option(False, help="Draw the text with ASCII characters only.")


class HistogramView:
    """Draws the runs of profiles or versions beside each other: each run, their density, their cumulative shares."""

    Settings = HistogramSettings
    accepts = ("profiles", "series")
    contract = "perfcore_view_histogram.contract:HistogramContract"

    def __init__(self, settings: HistogramSettings | None = None) -> None:
        self.settings = settings or HistogramSettings()

    def render(self, subject: ViewData, output: Output) -> None:
        """Write the runs."""
        from perfcore_view_histogram import page, pictures, terminal
        from perfcore_view_histogram.groups import panels

        settings = self.settings
        made = panels(subject, settings.metric, settings.benchmark, settings.versions)
        match form_of(settings.format, output):
            case "html":
                title = shown(settings.title or "Runs")
                output.write(page.write(made, title=title, summary=page.summary(made)))
            case "svg":
                if len(made) > 1:
                    raise UsageError(
                        f"an SVG is of one benchmark, and there are {len(made)}",
                        hint="--benchmark chooses one; a page (-o runs.html) holds all of them",
                    )
                output.write(pictures.picture(made[0], width=settings.width, alone=True))
            case _:
                blocks = not settings.ascii and has_blocks(output)
                lines = terminal.lines(made, columns=output.width, blocks=blocks)
                output.write("".join(f"{line}\n" for line in lines))
