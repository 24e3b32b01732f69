"""`perf gc`: remove what nothing refers to."""

from __future__ import annotations

from typing import Annotated

import typer

from perfcore.cli.console import Console
from perfcore.cli.options import seconds
from perfcore.text import plural, quantity
from perfcore_command_store.garbage import remove_garbage


def new_app() -> typer.Typer:
    """A new Typer app with the command."""
    app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)
    app.command()(gc)
    return app


def gc(
    ctx: typer.Context,
    grace: Annotated[
        str | None,
        typer.Option(
            "--grace",
            metavar="TIME",
            help="Keep objects used within this time, such as 12h or 30d (default: gc.grace, two weeks).",
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print what would be removed.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Remove objects that nothing refers to, once their grace is over, and pack the others into few files.

    Versions, pending profiles and notes refer to objects."""
    console: Console = ctx.obj
    result = remove_garbage(console.repository, seconds("--grace", grace), dry_run=dry_run)
    if as_json:
        console.json(result.as_json())
        return
    for key in result.removed if dry_run else ():
        console.line(key)
    verb = "would remove" if dry_run else "removed"
    packed = f", {result.packed:,} packed" if result.packed else ""
    removed = f"{plural(len(result.removed), 'object')} ({quantity(result.bytes, 'B')})"
    console.say(f"{verb} {removed}, {result.kept:,} kept{packed}")
