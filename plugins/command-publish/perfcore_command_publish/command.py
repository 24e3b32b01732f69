"""`perf publish`: write the history as a static site."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from perfcore.cli.console import Console
from perfcore.text import plural, printable
from perfcore_command_publish import engine


def new_app() -> typer.Typer:
    """A new Typer app with the one command."""
    app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)
    app.command()(publish)
    return app


def publish(
    ctx: typer.Context,
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="The folder: a new one, or one that an earlier call wrote.")
    ],
    title: Annotated[
        str, typer.Option("--title", metavar="TEXT", help="The name of the project (default: that of its folder).")
    ] = "",
    url: Annotated[
        str, typer.Option("--url", metavar="URL", help="Where the site is read, for the links of the feed.")
    ] = "",
    head: Annotated[
        str | None,
        typer.Option("--head", metavar="REV", help="Where the branch ends (default: the version checked out)."),
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Make every page anew.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Write the pages of `perf serve` as a static site: for any web server, or to be opened from the disk.

    The site has an Atom feed of regressions (feed.xml) and badges (badge.svg, and one for each series). It loads
    nothing from elsewhere. Pages that show nothing new are kept, and the folder changes in one step: a killed command
    leaves the old site. A folder with other files is refused.
    """
    console: Console = ctx.obj
    result = engine.publish(console.repository, folder, title=title, url=url, head=head, fresh=fresh, listener=console)
    console.clear_progress()
    if as_json:
        console.json(result.as_json())
        return
    removed = f", {result.removed} removed" if result.removed else ""
    console.line(f"{plural(result.made, 'file')} written, {result.kept} kept{removed}")
    console.line(f"open {printable(str(result.folder / 'index.html'))}")
