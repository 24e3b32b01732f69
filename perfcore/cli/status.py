"""`perf status`: where we are."""

from __future__ import annotations

from typing import Annotated

import typer

from perfcore.cli import status_page
from perfcore.cli.console import Console
from perfcore.cli.options import AsJson

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)


@app.command()
def status(
    ctx: typer.Context,
    short: Annotated[bool, typer.Option("--short", "-s", help="Print one line for each profile, for scripts.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show the current version, its profiles, and the pending ones."""
    console: Console = ctx.obj
    if as_json:
        console.json(status_page.as_json(console))
    elif short:
        status_page.show_short(console)
    else:
        status_page.show(console)
