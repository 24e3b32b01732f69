"""`perf export`: a profile as a file."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Optional

import typer

from perfcore.cli.console import Console
from perfcore.errors import PluginError, UsageError

_TABLES = (".csv", ".md")

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)


@app.command()
def export(
    ctx: typer.Context,
    profile: Annotated[str, typer.Argument(metavar="PROFILE", help="0@i, 0@p, REV:0@i, a tag, a name, an id, a path.")],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Where to write.")],
    format_name: Annotated[
        Optional[str],
        typer.Option("--format", "-f", metavar="NAME", help="Format (default: perf, a complete file of our own)."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the file.")] = False,
) -> None:
    """Write a profile to a file that holds all of it."""
    console: Console = ctx.obj
    repository = console.repository
    name = format_name or "perf"
    found, driver = console.plugins.make("format", name, repository.plugin_options("format", name))
    if not hasattr(driver, "write"):
        raise PluginError(f"{found} can only read")
    place = output if output.is_absolute() else repository.cwd / output
    if place.exists() and not force:
        raise UsageError(f"{output} is there already", hint="--force replaces it")
    driver.write(repository.load(console.find_one(profile)), place)
    console.say(f"wrote {output}")
    if format_name is None and output.suffix.lower() in _TABLES:
        words = shlex.join(["perf", "show", profile, "table", "-f", "-o", str(output)])
        console.say(f"note: it is a complete profile, whatever its name; a table: {words}")
