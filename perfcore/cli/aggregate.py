"""`perf aggregate`: several profiles as one."""

from __future__ import annotations

from typing import Annotated, Any, Optional

import typer

from perfcore.cli.console import Console
from perfcore.cli.options import HANDS_ON, run_plugin_command, split_plugin

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)
DEFAULT = "sum"


@app.command(context_settings=HANDS_ON)
def aggregate(
    ctx: typer.Context,
    words: Annotated[
        Optional[list[str]],
        typer.Argument(
            metavar="PROFILE... [AGGREGATE] [OPTIONS]", help="Profiles, a way to join them (default: sum), its options."
        ),
    ] = None,
) -> None:
    """Join several profiles into one, which becomes pending.

    It belongs to their version if they all are of one.
    """
    console: Console = ctx.obj
    name, options = split_plugin(words or [], console.plugins, "aggregate", DEFAULT)

    def join(
        profiles: Annotated[Optional[list[str]], typer.Argument(metavar="PROFILE...", show_default=False)] = None,
        *,
        values: dict[str, Any],
    ) -> None:
        from perfcore.measure.aggregation import aggregate_profiles

        refs = [ref for word in profiles or () for ref in console.find(word)]
        console.line(aggregate_profiles(console.repository, refs, name, values).name)

    run_plugin_command(console.plugins, "aggregate", name, options, join, f"perf aggregate {name}")
