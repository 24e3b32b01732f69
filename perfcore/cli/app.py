"""The command line as a whole: global options and lazy verbs."""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from perfcore.cli import tell_version
from perfcore.cli.console import console_of
from perfcore.cli.options import invoke, named
from perfcore.cli.outcome import finished
from perfcore.cli.verbs import VERBS
from perfcore.errors import UsageError


class Verbs(TyperGroup):
    """The verbs, each imported when it is used. Commands of plugins stand beside those of perfcore."""

    def list_commands(self, ctx: Any) -> list[str]:
        return [*VERBS, *console_of(ctx).plugin_verbs()]

    def get_command(self, ctx: Any, name: str) -> Any:
        if name in VERBS:
            module = importlib.import_module(f"perfcore.cli.{VERBS[name].module}")
            return named(module.app, name)
        console = console_of(ctx)
        from perfcore.cli.extensions import plugin_command, unknown_command

        if name in console.configured_verbs():
            return plugin_command(console, name)
        raise unknown_command(ctx, name, self.list_commands(ctx))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args == ["help"]:
            typer.echo(ctx.get_help())
            raise typer.Exit(0)
        if args[0] == "help":  # as git has it
            args = [*args[1:], "--help"]
        word = args[0]
        if word not in VERBS and not ctx.resilient_parsing and word not in console_of(ctx).configured_verbs():
            from perfcore.cli.kernel_tool import hand_over

            if reason := hand_over(args):
                raise UsageError(f"perf has no command '{word}'", hint=reason)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        console = console_of(ctx)
        verbs = VERBS
        if added := console.plugin_verbs():
            from perfcore.cli.extensions import with_plugin_verbs

            verbs = with_plugin_verbs(console.plugins, added)
        for chapter in dict.fromkeys(verb.chapter for verb in verbs.values()):
            with formatter.section(chapter):
                formatter.write_dl([(name, verb.help) for name, verb in verbs.items() if verb.chapter == chapter])


app = typer.Typer(
    cls=Verbs,
    name="perf",
    help="A performance version system: what got slower, when, where, by how much, and how sure are we.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        tell_version()
        raise typer.Exit(0)


@app.callback()
def options(
    ctx: typer.Context,
    directory: Annotated[
        Path,
        typer.Option(
            "-C", metavar="PATH", show_default=False, is_eager=True, help="Work as if started in this folder."
        ),
    ] = Path(),
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks.")] = False,
    no_plugins: Annotated[
        bool, typer.Option("--no-plugins", is_eager=True, help="Leave out observers and commands from elsewhere.")
    ] = False,
    version: Annotated[
        bool, typer.Option("--version", "-V", is_eager=True, callback=_version, help="Print the version and exit.")
    ] = False,
) -> None:
    console_of(ctx)


def run(arguments: Sequence[str]) -> int:
    """Run a command line and give its exit code."""
    # Behind the verb, or `--`, it may be an option of the measured command.
    debug = "--debug" in takewhile(lambda word: word not in VERBS and word != "--", arguments) or bool(
        os.environ.get("PERF_DEBUG")
    )
    return finished(lambda: _run(arguments), debug=debug)


def _run(arguments: Sequence[str]) -> int:
    if os.environ.get("_PERF_COMPLETE"):  # set by Click's scripts for completion in shells
        app(args=list(arguments), prog_name="perf")
    code = invoke(typer.main.get_command(app), arguments, "perf")
    return code if isinstance(code, int) else 0
