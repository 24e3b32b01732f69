"""The difference of two profiles as a picture within another page, small enough for a document."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfcore.model.record import Record
from perfcore_view_flamegraph import contexts, svg
from perfcore_view_flamegraph.graph import Frame, graph
from perfcore_view_flamegraph.layout import boxes, widest
from perfcore_view_flamegraph.svg import EDGE, style

if TYPE_CHECKING:
    from perfcore.model import ViewData
    from perfcore_view_flamegraph.source_lines import Function

__all__ = ["Picture", "picture", "style"]

_THINNEST = 1.0  # pixels: a document cannot zoom


class Picture(Record, frozen=True):
    """The markup, in a page that has `style()`. `scale` are words for the scale of the amounts, `remarks` say what the
    two sides differ in and where grey is from, `quiet` are the functions whose change is noise."""

    markup: str
    metric: str
    scale: str
    remarks: tuple[str, ...]
    quiet: frozenset[Function]


def picture(subject: ViewData, *, title: str, width: int, most: int) -> Picture:
    """The first metric of a difference in at most so many boxes, the widest. NotFoundError where there is nothing that
    could be drawn."""
    call_graph = graph(subject.profiles[0])
    metric = call_graph.metrics[0]
    context = contexts.of_difference(subject, call_graph, None)
    quiet = frozenset[Frame](context.quiet[0] if context.quiet else ())
    placed = widest(boxes(call_graph, metric, least=_THINNEST / (width - 2 * EDGE)), most)
    lines = svg.embedded(call_graph, metric, placed, title=title, width=width, quiet=quiet)
    functions = frozenset(map(contexts.function_of, quiet))
    return Picture("\n".join(lines) + "\n", metric.name, context.scale, tuple(context.remarks), functions)
