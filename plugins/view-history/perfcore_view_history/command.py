"""`perf history`: a metric or a function over the versions of a branch."""

from __future__ import annotations

import functools
from typing import Annotated

import typer
from perfcore_check_kit import machine_names
from perfcore_command_kit.options import Benchmarks, Browse, Force, Output
from perfcore_command_kit.sources import VersionSources
from perfcore_command_kit.view_options import TakesViewOptions, view_options
from perfcore_command_show import context, views

from perfcore.cli.console import Console
from perfcore.cli.options import EachNth, Since, Tags, Until
from perfcore.errors import UsageError
from perfcore.model import MetricHistory, ViewData
from perfcore_view_history import query as queries
from perfcore_view_history.query import HistoryQuery

DEFAULT = "history"


def new_app() -> typer.Typer:
    """A new Typer app with the one command."""
    app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)
    app.command(cls=HistoryCommand)(history)
    return app


class HistoryCommand(TakesViewOptions):
    """It takes the options of its view."""

    default_view = DEFAULT


def history(
    ctx: typer.Context,
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="[METRIC | BENCHMARK | FUNCTION]",
            help="The metric, benchmark or function (default: CPU time, if measured).",
            show_default=False,
        ),
    ] = None,
    version: Annotated[
        str | None,
        typer.Option(
            "--version", "-v", metavar="REV", help="The last version (default: the head), or a range A..B of versions."
        ),
    ] = None,
    since: Since = None,
    until: Until = None,
    tags: Tags = None,
    last: Annotated[
        int | None, typer.Option("--last", "-n", min=1, metavar="N", help="Only the N newest of these.")
    ] = None,
    step: EachNth = 1,
    command: Annotated[
        str, typer.Option("--command", "-c", metavar="PATTERN", help="Only commands that match, such as 'parse *'.")
    ] = "*",
    benchmarks: Benchmarks = None,
    metric: Annotated[
        str | None, typer.Option("--metric", metavar="NAME", help="The metric of a function.", show_default=False)
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print a line for each version, as CSV.")] = False,
    raw_text: Annotated[
        bool,
        typer.Option("--raw-text", help="CSV: do not put ' before text that a spreadsheet would take for a formula."),
    ] = False,
    view: Annotated[
        str,
        typer.Option(
            "--view",
            metavar="VIEW",
            help="Show the series in a view, with its options: --view VIEW --help lists them.",
            show_default=True,
        ),
    ] = DEFAULT,
    output: Output = None,
    force: Force = False,
    browse: Browse = False,
) -> None:
    """Draw a metric, or the total of a function with its callees, over the measured versions of a branch.

    A branch is followed along first parents. Below the line, `^` marks a regression, `v` an improvement, `/` and `\\`
    the beginning of a drift, `~` a change of the variance, and `|` another machine. If several versions may have made a
    change, the text names the range. The options --since, --until, --tags, --last and --every choose the versions that
    are drawn, as they do in `perf collect`; versions without profiles do not count. The scale goes
    from the lowest value to the highest, not from zero. A file that ends in .html becomes a page with charts, which
    --open opens.
    """
    console: Console = ctx.obj
    if as_json and as_csv:
        raise UsageError("--json and --csv exclude one another")
    repository = console.history.repository
    query = HistoryQuery(
        subject=what,
        metric=metric,
        command=command,
        benchmarks=benchmarks,
        head=version,
        since=since,
        until=until,
        tags=tags,
        last=last,
        step=step,
    )
    load = functools.cache(lambda: queries.history(repository, query, console))
    if as_json:
        result = load()
        console.output_to(output, force=force)
        console.json(result.as_json())
        return

    @functools.cache
    def shown() -> tuple[MetricHistory, ...]:
        series = load().series
        return series if as_csv else machine_names.in_histories(repository, series)

    data = ViewData(
        series=shown,
        changes=lambda: tuple(change for series in shown() for change in series.changes),
        source=VersionSources(repository).read,
        accepted=lambda: load().accepted,
        decided=lambda: load().decided,
        releases=lambda: context.releases(repository),
        gated=lambda: context.gated(repository, data.changes),
    )
    values = {"csv": True, "raw_text": raw_text} if as_csv else {}
    drawing = views.make(console, view, data, {**values, **view_options(ctx, view)})
    drawing.draw_to(console, data, output, force=force, browse=browse, name="history")
