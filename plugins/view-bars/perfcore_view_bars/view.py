"""The driver: amounts as bars, in the form that is wanted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
from perfcore_view_kit.form import FORM_HELP, FORMS, form_of, has_blocks, shown

from perfcore.settings import option

if TYPE_CHECKING:
    from perfcore.hookspecs import Output
    from perfcore.model import ViewData


@attrs.frozen
class BarsSettings:
    """Which amounts, and in which form."""

    format: str = option("auto", help=FORM_HELP, choices=FORMS)
    metric: str | None = option(
        None, help="The metric. Default: the one that decides, such as CPU time.", metavar="NAME"
    )
    by: str | None = option(
        None,
        help="The column whose values have a bar each. Default: the benchmark, or the first that tells rows apart.",
        metavar="COLUMN",
    )
    head: int = option(40, help="Only the N largest bars.", metavar="N", minimum=1)
    title: str | None = option(None, help="Title of the page.", metavar="TEXT")
    width: int = option(860, help="SVG: the width in pixels.", minimum=500, maximum=20_000)
    ascii: bool = option(False, help="Draw the text with ASCII characters only.")


class BarsView:
    """Draws the amounts of benchmarks, or of rows by a column, as bars; several profiles beside each other."""

    Settings = BarsSettings
    contract = "perfcore_view_bars.contract:BarsContract"

    def __init__(self, settings: BarsSettings | None = None) -> None:
        self.settings = settings or BarsSettings()

    def render(self, subject: ViewData, output: Output) -> None:
        """Write the bars."""
        from perfcore_view_bars import page, pictures, terminal
        from perfcore_view_bars.bars import bars

        settings = self.settings
        made = bars(subject, settings.metric, settings.by, settings.head)
        match form_of(settings.format, output):
            case "html":
                output.write(page.write(made, title=shown(settings.title or made.title)))
            case "svg":
                output.write(pictures.picture(made, width=settings.width, alone=True))
            case _:
                blocks = not settings.ascii and has_blocks(output)
                output.write("".join(f"{line}\n" for line in terminal.lines(made, columns=output.width, blocks=blocks)))
