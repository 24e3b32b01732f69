"""The page: one HTML file that needs nothing else, with a script of our own that draws."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any

import attrs
from perfcore_view_kit import page as document

from perfcore_view_flamegraph import pack, palette

if TYPE_CHECKING:
    from perfcore_view_flamegraph.graph import Graph
    from perfcore_view_flamegraph.palette import Palette

_PACKAGE = "perfcore_view_flamegraph"
_SCRIPTS = ("tree.js", "words.js", "page.js")


@attrs.frozen(kw_only=True)
class Start:
    """How the page looks when it is opened."""

    metric: str
    order: str = "value"
    inverted: bool = False
    flame: bool = False


def page(graph: Graph, *, title: str, about: str, sides: tuple[str, str], start: Start) -> str:
    """The whole file. Every text must be one that can be shown as it is."""
    head = {
        "title": title,
        "sides": sides,
        "metrics": [{"name": m.name, "unit": m.unit, "difference": m.sides is not None} for m in graph.metrics],
        "names": [frame.name for frame in graph.frames],
        "places": [frame.place for frame in graph.frames],
        "slots": [palette.slot(frame.name, frame.place) for frame in graph.frames],
        "palettes": {"light": _colors(palette.LIGHT), "dark": _colors(palette.DARK)},
        "start": attrs.asdict(start),
    }
    values = {"title": html.escape(title), "about": html.escape(about), "data": pack.pack(graph, head)}
    return document.page(
        title,
        document.filled(document.source(_PACKAGE, "page.html"), values),
        [document.source(_PACKAGE, name) for name in _SCRIPTS],
        styles=[document.source(_PACKAGE, "page.css")],
    )


def _colors(found: Palette) -> dict[str, Any]:
    return {"frames": found.frames, "changes": found.changes, "text": found.text}
