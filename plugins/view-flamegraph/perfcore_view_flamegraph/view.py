"""The driver: which picture is wanted, of one profile, written where it can be looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from perfcore_view_kit.form import printable

from perfcore.errors import NotFoundError, UsageError
from perfcore.model.record import Record
from perfcore.settings import OptionInfo
from perfcore.text import quantity
from perfcore_view_flamegraph import contexts
from perfcore_view_flamegraph.graph import culled, graph, history
from perfcore_view_flamegraph.layout import ORDERS, boxes, widest
from perfcore_view_flamegraph.page import Start, page
from perfcore_view_flamegraph.svg import EDGE, change, svg

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perfcore.hookspecs import Output
    from perfcore.model import Profile, ViewData
    from perfcore_view_flamegraph.graph import Graph, Metric
    from perfcore_view_flamegraph.page import Context
    from perfcore_view_flamegraph.source_lines import Read

# Pixels of an SVG: thinner boxes are a blur. flamegraph.pl draws them from 0.1 on, and a browser took 9 s to open its
# picture of a profile of 20,777 nodes.
_THINNEST = 0.5


class FlamegraphSettings(Record, frozen=True, kw_only=True):
    """Which picture, and of what."""

    format: Annotated[
        str,
        OptionInfo(
            "auto: svg for a file whose name ends in .svg, else html.",
            choices=("auto", "html", "svg"),
        ),
    ] = "auto"
    metric: Annotated[
        str | None,
        OptionInfo("The metric to draw (in a page, the first one shown). Default: the first metric.", metavar="NAME"),
    ] = None
    title: Annotated[str | None, OptionInfo("Title above the picture. Default: the command.")] = None
    inverted: Annotated[bool, OptionInfo("Show functions with their callers, not with their callees.")] = False
    flame: Annotated[bool, OptionInfo("Draw the outermost function at the bottom, not on top.")] = False
    order: Annotated[str, OptionInfo("The order of neighbours: the largest first, or by name.", choices=ORDERS)] = (
        "value"
    )
    source: Annotated[
        bool, OptionInfo("Put the lines of the largest functions into the page, if the version has them.")
    ] = True
    lines: Annotated[bool, OptionInfo("Draw a box for each sampled line of a function, not one for all.")] = False
    width: Annotated[int, OptionInfo("The width of the SVG in pixels.", minimum=200, maximum=20_000)] = 1200
    min_share: Annotated[
        float | None,
        OptionInfo(
            "Leave out boxes of less than this percent of the whole; in an SVG also boxes thinner than half a pixel.",
            metavar="PERCENT",
            minimum=0,
            maximum=100,
        ),
    ] = None


class FlamegraphView:
    """Draws call stacks of a profile, a difference or several versions: a page to explore, or an SVG for documents."""

    Settings = FlamegraphSettings
    contract = "perfcore_view_flamegraph.contract:FlamegraphContract"

    def __init__(self, settings: FlamegraphSettings | None = None) -> None:
        self.settings = settings or FlamegraphSettings()

    def render(self, subject: ViewData, output: Output) -> None:
        """Write the picture of the profile, or the page of several."""
        if not subject.profiles:
            raise NotFoundError("there is no profile to draw")
        form = self._format(output)
        if output.width is not None and output.path is None:
            raise UsageError(
                f"a flame graph is not for a terminal, it is {form} for a file",
                hint=f"-o page.{form} writes it; `perf show` takes --open too",
            )
        if form == "svg":
            output.write(self._svg(*_only(subject)))
        elif len(subject.profiles) > 1:
            self._write_history(subject, output)
        else:
            self._write_page(subject, output)

    def _format(self, output: Output) -> str:
        if self.settings.format != "auto":
            return self.settings.format
        return "svg" if output.path is not None and output.path.suffix.lower() == ".svg" else "html"

    def _write_page(self, subject: ViewData, output: Output) -> None:
        profile, name = _only(subject)
        call_graph = graph(profile, lines=self.settings.lines)
        context = contexts.of_difference if _differ(call_graph.metrics) else contexts.of_profile
        about = _about(profile, name, call_graph, call_graph.metrics)
        title = self._title(profile, name, call_graph.metrics)
        output.write(self._page(call_graph, title, about, context(subject, call_graph, self._read(subject))))

    def _write_history(self, subject: ViewData, output: Output) -> None:
        subject = contexts.in_order(subject)
        call_graph = history(subject.profiles, lines=self.settings.lines)
        versions = contexts.versions(subject)
        first, last = versions[0].name, versions[-1].name
        about = f"{len(versions)} versions from {first} to {last}"
        title = self._title(subject.profiles[-1], "", call_graph.metrics)
        context = contexts.of_history(subject, call_graph, versions, self._read(subject))
        output.write(self._page(call_graph, title, about, context))

    def _page(self, call_graph: Graph, title: str, about: str, context: Context) -> str:
        settings = self.settings
        metric = call_graph.metric(settings.metric)
        start = Start(metric=metric.name, order=settings.order, inverted=settings.inverted, flame=settings.flame)
        visible_graph = culled(call_graph, settings.min_share / 100) if settings.min_share else call_graph
        return page(visible_graph, title=title, about=about, start=start, context=context)

    def _read(self, subject: ViewData) -> Read | None:
        return subject.source if self.settings.source else None

    def picture(self, subject: ViewData, most: int) -> str:
        """The SVG of one profile in at most so many boxes, the widest, as the stacks of a recursion have thousands."""
        return self._svg(*_only(subject), most=most)

    def _svg(self, profile: Profile, name: str, most: int | None = None) -> str:
        settings = self.settings
        call_graph = graph(profile, lines=settings.lines)
        metric = call_graph.metric(settings.metric)
        least = max((settings.min_share or 0) / 100, _THINNEST / (settings.width - 2 * EDGE))
        placed = boxes(call_graph, metric, least=least, order=settings.order, inverted=settings.inverted)
        if most is not None:
            placed = widest(placed, most)
        title, about = self._title(profile, name, [metric]), _about(profile, name, call_graph, [metric])
        lines = svg(call_graph, metric, placed, title=title, about=about, width=settings.width, flame=settings.flame)
        return "\n".join(lines) + "\n"

    def _title(self, profile: Profile, name: str, metrics: Sequence[Metric]) -> str:
        subject = profile.label or name or "profile"
        return printable(self.settings.title or (f"Difference: {subject}" if _differ(metrics) else subject))


def _only(subject: ViewData) -> tuple[Profile, str]:
    if len(subject.profiles) > 1:
        raise UsageError(
            f"an SVG is of one profile, and {len(subject.profiles)} are named",
            hint="a page shows several as a history; `perf diff BASELINE TARGET --view flamegraph` compares two",
        )
    return subject.profiles[0], subject.names[0] if subject.names else ""


def _differ(metrics: Sequence[Metric]) -> bool:
    return any(metric.sides for metric in metrics)


def _about(profile: Profile, name: str, found: Graph, metrics: Sequence[Metric]) -> str:
    """One line below the title: where it is from and what it amounts to."""
    parts = [printable(name), printable(profile.collector.name)]
    if _differ(metrics):
        baseline, target = contexts.sides(profile, name)
        parts = [f"baseline {baseline}, target {target}"]
    parts += [_amount(found, metric) for metric in metrics]
    return "; ".join(text for text in parts if text)


def _amount(found: Graph, metric: Metric) -> str:
    """What a metric amounts to as a whole."""
    before, *after = map(sum, metric.columns)
    if not after:
        return f"{metric.name}: {quantity(before, metric.unit)}"
    amounts = f"{quantity(before, metric.unit)} → {quantity(after[0], metric.unit)}"
    return f"{metric.name}: {amounts}, {change(before, after[0])}"
