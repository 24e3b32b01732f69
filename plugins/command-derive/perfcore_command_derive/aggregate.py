"""`perf aggregate`: several profiles as one."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from perfcore_command_kit.plugin_options import HANDS_ON, run_plugin_command, split_plugin

from perfcore.cli.console import Console
from perfcore_command_derive.aggregation import aggregate_profiles

DEFAULT = "sum"


def new_app() -> typer.Typer:
    """A new Typer app with the one command, which hands the options of a plugin on to it."""
    app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)
    app.command(context_settings=HANDS_ON)(aggregate)
    return app


def aggregate(
    ctx: typer.Context,
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PROFILE... [AGGREGATE] [OPTIONS]", help="Profiles, an aggregate (default: sum), its options."
        ),
    ] = None,
) -> None:
    """Join several profiles into one, which becomes pending.

    The result belongs to the version of the profiles if they have only one.
    """
    console: Console = ctx.obj
    name, options = split_plugin(words or [], console.plugins, "aggregate", DEFAULT)

    def join(
        profiles: Annotated[list[str] | None, typer.Argument(metavar="PROFILE...", show_default=False)] = None,
        *,
        values: dict[str, Any],
    ) -> None:
        refs = [ref for word in profiles or () for ref in console.find(word)]
        console.line(aggregate_profiles(console.history.repository, refs, name, values).name)

    run_plugin_command(console.plugins, "aggregate", name, options, join, f"perf aggregate {name}")
