"""The page: one HTML file that needs nothing else, with a script of our own that draws."""

from __future__ import annotations

import base64
import hashlib
import html
import re
from importlib import resources
from typing import TYPE_CHECKING, Any

import attrs

from perfcore_view_flamegraph import pack, palette

if TYPE_CHECKING:
    from collections.abc import Mapping

    from perfcore_view_flamegraph.graph import Graph
    from perfcore_view_flamegraph.palette import Palette

_SCRIPTS = ("tree.js", "words.js", "page.js")
_TOKEN = re.compile(r"\{\{(\w+)\}\}")


@attrs.frozen(kw_only=True)
class Start:
    """How the page looks when it is opened."""

    metric: str
    order: str = "value"
    inverted: bool = False
    flame: bool = False


def page(graph: Graph, *, title: str, about: str, sides: tuple[str, str], start: Start) -> str:
    """The whole file. Every text must be one that can be shown as it is."""
    style, script = _source("page.css"), "\n".join(map(_source, _SCRIPTS))
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
    return _filled(
        _source("page.html"),
        {
            "title": html.escape(title),
            "about": html.escape(about),
            "style": style,
            "script": script,
            "style_hash": _digest(style),
            "script_hash": _digest(script),
            "data": pack.pack(graph, head),
        },
    )


def _colors(found: Palette) -> dict[str, Any]:
    return {"frames": found.frames, "changes": found.changes, "text": found.text}


def _filled(template: str, values: Mapping[str, str]) -> str:
    """The template with its tokens replaced; what is put in is not looked at again."""
    return _TOKEN.sub(lambda token: values[token[1]], template)


def _digest(text: str) -> str:
    """As a content security policy names what may run."""
    # The policy allows these hashes and nothing else: a script that a name might smuggle into the page does not run.
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _source(name: str) -> str:
    text = resources.files("perfcore_view_flamegraph").joinpath(name).read_text(encoding="utf-8")
    # A checkout on Windows may have CR LF, of which browsers make LF before they hash (HTML: newlines are normalized).
    return text.replace("\r\n", "\n")
