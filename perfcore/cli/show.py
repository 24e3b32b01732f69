"""`perf show`: profiles in a view."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Optional

import typer

from perfcore.cli.console import Console
from perfcore.cli.options import run_plugin_command, split_plugin
from perfcore.errors import UsageError

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)
DEFAULT = "table"


@app.command(
    context_settings={
        "allow_extra_args": True,
        "ignore_unknown_options": True,
        "allow_interspersed_args": False,
    }
)
def show(
    ctx: typer.Context,
    output: Annotated[Optional[Path], typer.Option("--output", "-o", metavar="FILE", help="Write to a file.")] = None,
    force: Annotated[bool, typer.Option("--force", "-f", help="Replace the file.")] = False,
    words: Annotated[
        Optional[list[str]],
        typer.Argument(metavar="PROFILE... [VIEW] [OPTIONS]", help="Profiles, a view (default: table), its options."),
    ] = None,
) -> None:
    """Show profiles in a view. `perf show 0@p table --help` lists the options of a view.

    Profiles are named 0@p (pending), 0@i (of this version), REV:0@i, by tag, name, id or path.
    """
    console: Console = ctx.obj
    names, view, rest = split_plugin(words or [], console.plugins, "view", DEFAULT)
    if not names and not {"-h", "--help"} & set(rest):
        raise UsageError("say which profile", hint="`perf status` lists them: 0@p is the first pending one")

    def render(values: dict[str, Any]) -> None:
        repository = console.repository
        refs = [ref for name in names for ref in repository.find(name)]
        options = {**repository.plugin_options("view", view), **values}
        found, driver = console.plugins.make("view", view, options)
        console.output_to(output, force=force)
        from perfcore.plugins import guard

        with guard(found, "render"):
            driver.render(repository.subject(refs), console)

    run_plugin_command(console.plugins, "view", view, rest, render, f"perf show {' '.join(names) or 'PROFILE'} {view}")
