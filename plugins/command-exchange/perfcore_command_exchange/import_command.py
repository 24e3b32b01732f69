"""`perf import`: profiles from other tools."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from perfcore_command_kit.plugin_options import HANDS_ON, run_plugin_command

from perfcore.cli.console import Console
from perfcore.errors import FormatError, NotFoundError, PerfError, UsageError, VersionError
from perfcore.text import plural, printable
from perfcore_command_exchange.importing import Imported, import_profiles

# The options of a file whose format nobody named are those of the native format, which has none.
_UNNAMED = "perf"

Version = Annotated[
    str | None,
    typer.Option("--version", "-v", metavar="REV", help="The version of profiles whose file names none that is here."),
]
Register = Annotated[bool, typer.Option("--add", help="Register them at once.")]


def new_app() -> typer.Typer:
    """A new Typer app with the one command, which hands the options of a format on to it."""
    app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)
    app.command("import", context_settings=HANDS_ON)(import_)
    return app


def import_(
    ctx: typer.Context,
    version: Version = None,
    register: Register = False,
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FORMAT] FILE... [OPTIONS]",
            help="A format (default: detected), files or a directory, its options.",
        ),
    ] = None,
) -> None:
    """Read profiles from files; they become pending. `perf import folded --help` lists the options of a format.

    `perf import FORMAT DIR` imports a directory, such as the store of another tool. A profile that was registered there
    is registered with its version. With --add, a profile whose file names its version, as files of `perf export` do, is
    registered with that version or refused.
    """
    console: Console = ctx.obj
    words = words or []
    format_name = words[0] if len(words) > 1 and words[0] in console.plugins.names("format") else None
    paths_and_options = words if format_name is None else words[1:]

    def read(
        files: Annotated[list[Path] | None, typer.Argument(metavar="FILE...", show_default=False)] = None,
        revision: Version = version,
        add: Register = register,
        *,
        values: dict[str, Any],
    ) -> None:
        if not files:
            raise UsageError("say which files", hint="perf import [FORMAT] FILE...")
        _import(console, files, format_name, revision, add, values)

    prog = f"perf import {format_name}" if format_name else "perf import"
    run_plugin_command(console.plugins, "format", format_name or _UNNAMED, paths_and_options, read, prog)


def _import(
    console: Console, paths: list[Path], format: str | None, version: str | None, add: bool, values: dict[str, Any]
) -> None:
    """Print each profile as it is saved. What is left out of a directory, or of several files, is a warning, and the
    command fails in the end."""
    imported, hints, left_out = 0, dict[str, None](), 0
    repository = console.repository
    target = repository.version(version) if version else None
    # One by one and not by `History.import_`: what was saved before a failure has been printed.
    for path, item in _items(console, paths, format or "", version=target, register=add, options=values):
        if isinstance(item, PerfError):
            console.warn(f"{item} (left out)")
            left_out += 1
            hints |= dict.fromkeys([item.hint] if item.hint else [])
            continue
        imported += 1
        if item.entry is None or item.version is None:
            console.line(item.pending.name)
        else:
            console.line(f"{item.entry.profile} registered for {item.version[:10]}: {item.entry.name}")
        if item.assumed:
            console.say(f"note: {printable(str(path))} names no version, so the head is taken; else --version REV")
    if imported != 1 or (repository.cwd / paths[0]).is_dir():
        console.say(f"imported {plural(imported, 'profile')}")
    if left_out:
        source = f"{len(paths)} files" if len(paths) > 1 else printable(str(paths[0]))
        message = f"{plural(left_out, 'item')} in {source} could not be imported: see above"
        raise FormatError(message, hint="; ".join(hints))


def _items(console: Console, paths: list[Path], format: str, **how: Any) -> Iterator[tuple[Path, Imported | PerfError]]:
    """What is imported of each path. One damaged file of many does not keep the others back."""
    for path in paths:
        try:
            for item in import_profiles(console.repository, console.repository.cwd / path, format, **how):
                yield path, item
        except (FormatError, VersionError, NotFoundError, UsageError) as error:
            if len(paths) == 1:
                raise
            named = path.name in error.message
            yield path, error if named else PerfError(f"{printable(str(path))}: {error}", hint=error.hint)
