"""`perf rm`: take profiles away."""

from __future__ import annotations

from typing import Annotated

import typer

from perfcore.cli.console import Console
from perfcore.store.lookup import Ref
from perfcore.text import printable
from perfcore_command_store.removal import check_removable, remove


def new_app() -> typer.Typer:
    """A new Typer app with the command."""
    app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)
    app.command()(rm)
    return app


def rm(
    ctx: typer.Context,
    profiles: Annotated[list[str], typer.Argument(metavar="PROFILE...", help="0@i, REV:0@i, 0@p, a tag, a name.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print what would be removed.")] = False,
) -> None:
    """Remove profiles from their version, or delete pending ones.

    The object of a registered profile stays until `perf gc` finds it unused for longer than its grace.
    """
    console: Console = ctx.obj
    repository = console.repository
    named: list[Ref] = []
    for name in profiles:
        named += (refs := console.find(name))
        check_removable(repository, name, refs)
    refs = list(remove(repository, named, dry_run=True))
    for ref in refs:
        if ref.entry is not None:
            console.line(f"{ref.entry.profile} of {ref.version}: {printable(ref.entry.name)}")
        elif ref.pending is not None:
            console.line(f"{ref.pending.name} (pending)")
    if dry_run:
        return
    remove(repository, refs)
    console.say(f"removed {len(refs)}")
