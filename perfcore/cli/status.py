"""`perf status`: where we are."""

from __future__ import annotations

from typing import Annotated

import typer

from perfcore.cli import status_page
from perfcore.cli.options import AsJson

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)


@app.command()
def status(
    ctx: typer.Context,
    short: Annotated[
        bool, typer.Option(*status_page.SHORT, help="Print one line for each profile, for scripts.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show the current version, its profiles, and the pending ones."""
    status_page.show(ctx.obj, short=short, as_json=as_json)
