"""`perf remote`: list, add and remove remotes."""

from __future__ import annotations

from typing import Annotated

import typer

from perfcore.cli.console import Console
from perfcore.cli.options import AsJson
from perfcore.text import align, printable
from perfcore_command_remote import remotes

Name = Annotated[str, typer.Argument(metavar="NAME", help="Such as origin.", show_default=False)]


def new_app() -> typer.Typer:
    """A new Typer app with the commands."""
    app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)
    app.callback(invoke_without_command=True)(remote)
    app.command()(add)
    app.command()(remove)
    return app


def remote(ctx: typer.Context, as_json: AsJson = False) -> None:
    """Name places to push to and pull from, or list them: a git repository by its URL, or a folder.

    The remotes of a git repository can be used by their names there.
    """
    if ctx.invoked_subcommand is not None:
        return
    console: Console = ctx.obj
    repository = console.repository
    rows = [remotes.remote(repository, name, url) for name, url in sorted(remotes.configured(repository).items())]
    names = {row.name for row in rows}
    others = [
        remotes.remote(repository, name, url, start=repository.home)
        for name, url in sorted(remotes.of_vcs(repository).items())
        if name not in names
    ]
    if as_json:
        console.json({"schema": 1, "remotes": [{"name": row.name, "url": row.shown} for row in (*rows, *others)]})
        return
    cells = [(row.name, row.shown, "") for row in rows] + [
        (row.name, row.shown, f"(of {repository.vcs_name})") for row in others
    ]
    console.write("".join(f"{line.rstrip()}\n" for line in align(cells)))
    if not cells:
        console.say("there are no remotes: perf remote add NAME URL")


def add(
    ctx: typer.Context,
    name: Name,
    url: Annotated[str, typer.Argument(metavar="URL", help="Of a git repository, or a folder.", show_default=False)],
) -> None:
    """Keep a place under a name. Nothing is sent."""
    console: Console = ctx.obj
    added = remotes.add(console.repository, name, url)
    console.say(f"{added.name} is {added.shown}")


def remove(ctx: typer.Context, name: Name) -> None:
    """Forget a place. Nothing changes there."""
    console: Console = ctx.obj
    remotes.remove(console.repository, name)
    console.say(f"{printable(name)} is forgotten")
