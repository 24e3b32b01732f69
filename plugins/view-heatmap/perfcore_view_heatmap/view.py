"""The driver: series over versions as a map, in the form that is wanted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
from perfcore_view_kit.form import FORM_HELP, FORMS, form_of, shown

from perfcore.errors import NotFoundError
from perfcore.settings import option

if TYPE_CHECKING:
    from perfcore.hookspecs import Output
    from perfcore.model import ViewData


@attrs.frozen
class HeatmapSettings:
    """Compared with what, and in which form."""

    format: str = option("auto", help=FORM_HELP, choices=FORMS)
    baseline: str = option(
        "first",
        help="Ratios to the first measured version, or to the median of all.",
        choices=("first", "median"),
    )
    title: str | None = option(None, help="Title of the page.", metavar="TEXT")
    width: int = option(860, help="SVG: the width in pixels.", minimum=500, maximum=20_000)


class HeatmapView:
    """Draws benchmarks or functions over versions, coloured by how far each is from its baseline."""

    Settings = HeatmapSettings
    accepts = ("series",)
    contract = "perfcore_view_heatmap.contract:HeatmapContract"

    def __init__(self, settings: HeatmapSettings | None = None) -> None:
        self.settings = settings or HeatmapSettings()

    def render(self, subject: ViewData, output: Output) -> None:
        """Write the map."""
        from perfcore_view_heatmap import page, pictures, terminal
        from perfcore_view_heatmap.grid import grid

        if not subject.series:
            raise NotFoundError("there is no history to show")
        made = grid(subject.series, self.settings.baseline)
        match form_of(self.settings.format, output):
            case "html":
                heading = f"Map of changes: {made.common}" if made.common else "Map of changes"
                output.write(page.write(made, title=shown(self.settings.title or heading)))
            case "svg":
                output.write(pictures.picture(made, width=self.settings.width, alone=True))
            case _:
                output.write("".join(f"{line}\n" for line in terminal.lines(made, columns=output.width)))
