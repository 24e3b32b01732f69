"""The driver: amounts over a parameter, in the form that is wanted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
from perfcore_view_kit.form import FORM_HELP, FORMS, form_of, framed, has_blocks, shown

from perfcore.errors import UsageError
from perfcore.settings import option

if TYPE_CHECKING:
    from perfcore.hookspecs import Output
    from perfcore.model import ViewData
    from perfcore_view_scatter.scatter import Scatter

_MOST = 20  # charts of one page


@attrs.frozen
class ScatterSettings:
    """Which amounts over what, and in which form."""

    format: str = option("auto", help=FORM_HELP, choices=FORMS)
    metric: str | None = option(
        None, help="The metric. Default: the one that decides, such as CPU time.", metavar="NAME"
    )
    over: str | None = option(
        None, help="The parameter. Default: the first column with several numbers that is no metric.", metavar="COLUMN"
    )
    by: str | None = option(
        None, help="The column that tells groups apart. Default: the benchmark or function.", metavar="COLUMN"
    )
    title: str | None = option(None, help="Title of the page.", metavar="TEXT")
    width: int = option(860, help="SVG: the width in pixels.", minimum=200, maximum=20_000)
    ascii: bool = option(False, help="Draw the text with ASCII characters only.")


class ScatterView:
    """Draws an amount over an input parameter, with intervals, and with the fits that the profile has."""

    Settings = ScatterSettings
    contract = "perfcore_view_scatter.contract:ScatterContract"

    def __init__(self, settings: ScatterSettings | None = None) -> None:
        self.settings = settings or ScatterSettings()

    def render(self, subject: ViewData, output: Output) -> None:
        """Write the amounts."""
        from perfcore_view_scatter import terminal
        from perfcore_view_scatter.scatter import scatter

        settings = self.settings
        made = scatter(subject, settings.metric, settings.over, settings.by)
        match form_of(settings.format, output):
            case "html":
                output.write(self._page(made))
            case "svg":
                output.write(self._picture(made))
            case _:
                blocks = not settings.ascii and has_blocks(output)
                output.write("".join(f"{line}\n" for line in terminal.lines(made, columns=output.width, blocks=blocks)))

    def _page(self, made: Scatter) -> str:
        from perfcore_view_kit.chart import ChartOptions, chart, scripts, styles
        from perfcore_view_kit.page import page

        from perfcore_view_scatter.scatter import charts, summary

        figures = "".join(
            chart(data, ChartOptions(id=f"over-{number}"))
            for number, data in enumerate(charts(made, _MOST, has_summary=True), 1)
        )
        title = shown(self.settings.title or f"{made.metric} over {made.parameter}")
        return page(title, framed(title, summary(made), figures), scripts(), styles=styles())

    def _picture(self, made: Scatter) -> str:
        from perfcore_view_kit.chart import ChartOptions, still

        from perfcore_view_scatter.scatter import charts

        drawn = charts(made, _MOST)
        if len(drawn) > 1:
            raise UsageError(
                f"an SVG is of at most six groups, and there are {len(made.groups)}",
                hint="a page (-o page.html) has a chart for each",
            )
        return still(drawn[0], ChartOptions(width=self.settings.width), alone=True)
