"""The page: one HTML file that needs nothing else, with a script of our own that draws."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict
from perfcore_view_kit import page as document

from perfcore.model.record import Record
from perfcore_view_flamegraph import pack, palette
from perfcore_view_flamegraph.kinds import kinds

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from perfcore_view_flamegraph.graph import Frame, Graph
    from perfcore_view_flamegraph.palette import Palette

_PACKAGE = "perfcore_view_flamegraph"
_SCRIPTS = ("tree.js", "transform.js", "words.js", "pane.js", "chosen.js", "save.js", "page.js")
_LINE = re.compile(r"(.*):(\d+(?:-\d+)?)", re.DOTALL)
# Comments and indentation are a fifth of the script. No text of it spans lines.
_INDENTATION = re.compile(r"^[ \t]+|\n(?=\s)", re.MULTILINE)
_COMMENT = re.compile(r"^[ \t]*//.*\n|^[ \t]*/\*\*(?s:.*?)\*/[ \t]*\n|^[ \t]+|^\n", re.MULTILINE)


class Start(Record, frozen=True, kw_only=True):
    """How the page looks when it is opened."""

    metric: str
    order: str = "value"
    inverted: bool = False
    flame: bool = False


class Version(Record, frozen=True, kw_only=True):
    """A version of a history. `change` says what a check has found there."""

    name: str
    subject: str = ""
    change: str = ""


class Context(Record, frozen=True, kw_only=True):
    """What the page says beside the tree. `scale` are words for the scale of a difference, `is_total` says that both
    sides have one total already; `remarks` are lines below the colours. `quiet[i]` are the frames whose change of
    metric i is noise, `quiet` is None where nothing is known; `sources` gives the lines of functions by their frames,
    as `source_lines.lines` makes them."""

    sides: tuple[str, str] = ("", "")
    scale: str = "as recorded"
    is_total: bool = False
    remarks: Sequence[str] = ()
    quiet: Sequence[Sequence[Frame]] | None = None
    versions: Sequence[Version] = ()
    sources: Callable[[Sequence[Frame]], Mapping[int, Any]] | None = None


def page(graph: Graph, *, title: str, about: str, start: Start, context: Context | None = None) -> str:
    """The whole file. Every text must be one that can be shown as it is."""
    context = context or Context()
    order = pack.by_frequency(graph)
    frames = [graph.frames[frame] for frame in order]
    files, lines = _places(frames)
    head = {
        "title": title,
        "kind": _kind(graph),
        "sides": context.sides,
        "scale": context.scale,
        "totals": context.is_total,
        "remarks": list(context.remarks),
        "versions": [asdict(version) for version in context.versions],
        "metrics": [{"name": m.name, "unit": m.unit, "columns": len(m.columns)} for m in graph.metrics],
        "samples": 0 if graph.samples is None else int(graph.samples.is_timed) + 1,
        "tracks": [] if graph.samples is None else graph.samples.threads,
        "names": [frame.name for frame in frames],
        "files": list(files),
        "lines": [line for _, line in lines],
        "kinds": kinds([file for file, _ in lines]),
        "quiet": None if context.quiet is None else [_numbers(frames, quiet) for quiet in context.quiet],
        "sources": context.sources(frames) if context.sources is not None else {},
        "palettes": {"light": _colors(palette.LIGHT), "dark": _colors(palette.DARK)},
        "hues": palette.HUES,
        "tones": palette.TONES,
        "start": asdict(start),
    }
    data = pack.pack(graph, order, [files[file] for file, _ in lines], head)
    values = {"title": html.escape(title), "about": html.escape(about), "data": data}
    return document.page(
        title,
        document.filled(document.source(_PACKAGE, "page.html"), values),
        [_COMMENT.sub("", document.source(_PACKAGE, name)) for name in _SCRIPTS],
        styles=[_INDENTATION.sub("", document.source(_PACKAGE, "page.css"))],
    )


def _kind(graph: Graph) -> str:
    if any(metric.sides for metric in graph.metrics):
        return "difference"
    return "history" if graph.metrics[0].versions else "profile"


def _places(frames: Sequence[Frame]) -> tuple[dict[str, int], list[tuple[str, str]]]:
    """(the number of each file, the file and the lines of each frame)."""
    pairs = []
    for frame in frames:
        match = _LINE.fullmatch(frame.place)
        pairs.append((match[1], match[2]) if match else (frame.place, ""))
    return {file: number for number, file in enumerate(dict.fromkeys(file for file, _ in pairs))}, pairs


def _numbers(frames: Sequence[Frame], chosen: Sequence[Frame]) -> dict[int, int]:
    """The chosen frames by their numbers."""
    quiet = set(chosen)
    return {number: 1 for number, frame in enumerate(frames) if frame in quiet}


def _colors(found: Palette) -> dict[str, Any]:
    return {"frames": found.frames, "changes": found.changes, "text": found.text}
