"""`perf export`: a profile as a file."""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from perfcore_command_kit.options import is_standard_output
from perfcore_command_kit.plugin_options import HANDS_ON, run_plugin_command

from perfcore.cli.console import Console
from perfcore.errors import UsageError
from perfcore_command_exchange import library

NATIVE = "perf"
_TABLES = (".csv", ".md")

Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE", help="The file to write (required); - is standard output."),
]
Format = Annotated[
    str | None,
    typer.Option("--format", metavar="NAME", help="Format (default: perf, the native format)."),
]
Force = Annotated[bool, typer.Option("--force", "-f", help="Replace the file.")]


def new_app() -> typer.Typer:
    """A new Typer app with the one command, which hands the options of a format on to it."""
    app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)
    app.command(context_settings=HANDS_ON)(export)
    return app


def export(
    ctx: typer.Context,
    output: Output = None,
    format_name: Format = None,
    force: Force = False,
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="PROFILE [OPTIONS]", help="0@i, 0@p, REV:0@i, a tag, a name, an id, a path."),
    ] = None,
) -> None:
    """Write a complete profile to a file.

    `perf export --format folded PROFILE --help` lists the options of a format.
    """
    console: Console = ctx.obj
    words = words or []
    named = _named_format(words) or format_name

    def write(
        profile: Annotated[str, typer.Argument(metavar="PROFILE", show_default=False)],
        file: Output = output,
        into: Format = named,
        replace: Force = force,
        *,
        values: dict[str, Any],
    ) -> None:
        if file is None:
            raise UsageError("say where to write", hint="--output FILE")
        if is_standard_output(file):
            _print(console, profile, into or NATIVE, values)
            return
        library.export(console.history, name=profile, path=file, format=into or NATIVE, force=replace, options=values)
        console.say(f"wrote {file}")
        if into is None and file.suffix.lower() in _TABLES:
            table = shlex.join(["perf", "show", profile, "table", "-f", "-o", str(file)])
            console.say(f"note: it is a complete profile, whatever its name; a table: {table}")

    run_plugin_command(console.plugins, "format", named or NATIVE, words, write, "perf export")


def _print(console: Console, profile: str, format_name: str, options: Mapping[str, Any]) -> None:
    """The file to standard output; formats write to files only."""
    with tempfile.TemporaryDirectory(prefix="perf-export-") as folder:
        path = Path(folder, "profile")
        library.export(console.history, name=profile, path=path, format=format_name, options=options)
        if path.is_dir():
            raise UsageError(f"the format {format_name} writes a folder", hint="--output FOLDER")
        console.write_bytes(path.read_bytes())


def _named_format(words: Sequence[str]) -> str | None:
    """The value of --format among words that are not parsed yet: it decides which other options there are."""
    named = None
    for position, word in enumerate(words):
        if word == "--format":
            named = next(iter(words[position + 1 :]), named)
        elif word.startswith("--format="):
            named = word.removeprefix("--format=")
    return named
