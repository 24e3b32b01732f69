"""`perf fleet show`: the samples of a release in a view."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from perfcore_command_kit.options import Browse, Force, Output
from perfcore_command_kit.plugin_options import HANDS_ON, run_plugin_command, split_plugin
from perfcore_fleet_kit.query import Query

from perfcore.cli.console import Console
from perfcore.model import ViewData
from perfcore.repository.repository import Repository
from perfcore_command_fleet.profiles import profile_with_state
from perfcore_command_fleet.query_options import Question, asking
from perfcore_command_fleet.sources import FleetSources
from perfcore_command_fleet.verb import Verb


def show(
    ctx: typer.Context,
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[REV] VIEW [OPTIONS]", help="The release; a view, such as annotate; its options."),
    ] = None,
) -> None:
    """Show the samples in a view: annotated sources, a flame graph.

    The options are --where, --query, --since, --until, -o, --open and those of the view, which
    `perf fleet show VIEW --help` lists.
    """
    console: Console = ctx.obj
    view, options = split_plugin(words or [], console.plugins, "view", None)

    def draw(
        question: Question,
        revision: Annotated[str | None, typer.Argument(metavar="[REV]", show_default=False)] = None,
        output: Output = None,
        force: Force = False,
        browse: Browse = False,
        *,
        values: dict[str, Any],
    ) -> None:
        # Imported when it draws: every verb of `perf fleet` imports this module, and what draws brings much along.
        from perfcore_command_show import views

        data = view_data(console.repository, revision, question.query(console.repository), question.name, console)
        drawing = views.make(console, view, data, values)
        drawing.draw_to(console, data, output, force=force, browse=browse, name=f"fleet {view} {data.names[0]}")

    run_plugin_command(console.plugins, "view", view, options, asking(draw), f"perf fleet show {view}")


def view_data(
    repository: Repository, revision: str | None, query: Query, name: str, listener: Console | None = None
) -> ViewData:
    """The samples of a query for a view."""
    from perfcore_command_show import context

    state, profile = profile_with_state(repository, revision, query, name, listener)
    return ViewData(
        profiles=(profile,),
        names=(profile.label,),
        versions=lambda: (repository.vcs.get_minor_version_info(state.version),),
        source=FleetSources(repository, state).read,
        releases=lambda: context.releases(repository),
    )


VERBS = {"show": Verb(show, HANDS_ON)}
