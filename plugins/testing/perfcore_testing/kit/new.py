"""`perf plugins new`: a new plugin as a complete distribution."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from perfcore.cli.verbs import VERBS
from perfcore.errors import UsageError
from perfcore.hookspecs import CommandContext
from perfcore.text import printable
from perfcore_testing.kit import scaffold
from perfcore_testing.kit.names import named


class NewCommand:
    """Write a new plugin: a distribution that works and passes its tests, to be changed."""

    def app(self) -> typer.Typer:
        app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)
        app.command("new")(_new)
        return app


def _new(
    ctx: typer.Context,
    kind: Annotated[str, typer.Argument(metavar="KIND", help="Such as collector, view, hook: `perf plugins list`.")],
    name: Annotated[str, typer.Argument(metavar="NAME", help="What users are going to type, such as my-wall.")],
    directory: Annotated[
        Path | None,
        typer.Option("--dir", metavar="PATH", help="The folder to be made (default: one named like the distribution)."),
    ] = None,
) -> None:
    """Write a new plugin: a distribution that works and passes its tests, to be changed."""
    console: CommandContext = ctx.obj
    plugin = named(kind, name)
    for installed in console.plugins.infos(plugin.kind):
        if installed.name == plugin.name:
            raise UsageError(
                f"{installed} is installed already", hint="two of one kind and name are an error: take another"
            )
    if plugin.kind == "command" and name in VERBS:
        raise UsageError(f"`perf {name}` is perfcore's own, take another name")
    folder = console.directory / (directory or Path(plugin.distribution))
    contents = scaffold.files(plugin)
    scaffold.write(folder, contents)
    printable_folder = printable(str(folder))
    for path in contents:
        console.line(f"{printable_folder}/{path}")
    editable = shlex.quote(f"{printable_folder}[test]")
    console.say(f"next: pip install -e {editable} && perf plugins check {scaffold.first(plugin)}")
