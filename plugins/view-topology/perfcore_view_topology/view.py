"""The driver: one profile or two, as a page, for the terminal, or as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from perfcore.settings import option
from perfcore.text import printable
from perfcore_view_topology import document, listing, page, terminal
from perfcore_view_topology.scene import scene

if TYPE_CHECKING:
    from perfcore.hookspecs import Output
    from perfcore.model import ViewData

_BY_SUFFIX = {".html": "html", ".htm": "html", ".json": "json"}


@attrs.frozen
class TopologySettings:
    """Which metric, and how it looks."""

    format: str = option(
        "auto",
        help="auto: by the file name (.html, .json), else text.",
        choices=("auto", "html", "text", "json"),
    )
    metric: str | None = option(
        None, help="The event or computed metric that colours the threads. Default: the first.", metavar="NAME"
    )
    title: str | None = option(None, help="Title of the page. Default: the commands.", metavar="TEXT")
    head: int | None = option(
        None,
        help=f"Only N rows of the table below the text. Default: {listing.ROWS} in the terminal, else all.",
        metavar="N",
        minimum=0,
    )
    ascii: bool = option(False, help="Draw the text with ASCII characters only.")


class TopologyView:
    """Where on the machine it ran: packages, NUMA nodes, caches, cores and threads, coloured by a counter. Two profiles
    stand beside each other."""

    Settings = TopologySettings
    contract = "perfcore_view_topology.contract:TopologyContract"

    def __init__(self, settings: TopologySettings | None = None) -> None:
        self.settings = settings or TopologySettings()

    def render(self, subject: ViewData, output: Output) -> None:
        """Draw the machine of one profile, or of two."""
        settings = self.settings
        scene_shown = scene(subject)
        metric = scene_shown.metric(settings.metric)
        match self._format(output):
            case "html":
                output.write(page.page(scene_shown, metric, title=printable(settings.title or scene_shown.title)))
            case "json":
                document.write(scene_shown, output)
            case _:
                terminal.write(scene_shown, metric, output, head=settings.head, ascii=settings.ascii)

    def _format(self, output: Output) -> str:
        if self.settings.format != "auto":
            return self.settings.format
        return _BY_SUFFIX.get(output.path.suffix.lower(), "text") if output.path is not None else "text"
