"""The command line as a whole: global options, lazy verbs, and what becomes of errors."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from perfcore.cli.console import Console, disabled_by_environment
from perfcore.cli.verbs import VERBS
from perfcore.errors import PerfError, UsageError, nearest
from perfcore.text import printable_lines

INTERNAL = 70
INTERRUPTED = 130
BROKEN_PIPE = 141


class Verbs(TyperGroup):
    """The verbs, each imported when it is used. Commands of plugins stand beside those of perfcore."""

    def list_commands(self, ctx: Any) -> list[str]:
        return [*VERBS, *_plugin_verbs(ctx)]

    def get_command(self, ctx: Any, name: str) -> Any:
        if name in VERBS:
            module = importlib.import_module(f"perfcore.cli.{VERBS[name].module}")
            return named(module.app, name)
        if name in _plugin_verbs(ctx):
            _, driver = _console(ctx).plugins.make("command", name)
            return named(driver.app(), name)
        hint = nearest(name, self.list_commands(ctx))
        raise UsageError(f"perf has no command {name!r}", hint=hint or "`perf --help` lists them")

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        for chapter in dict.fromkeys(verb.chapter for verb in VERBS.values()):
            with formatter.section(chapter):
                formatter.write_dl([(n, v.help) for n, v in VERBS.items() if v.chapter == chapter])
        plugins = _plugin_verbs(ctx)
        if plugins:
            with formatter.section("From plugins"):
                formatter.write_dl([(name, f"`perf {name} --help`") for name in plugins])


def named(app: typer.Typer, name: str) -> Any:
    """The command of a Typer app under a name."""
    command = typer.main.get_command(app)
    command.name = name
    return command


app = typer.Typer(
    cls=Verbs,
    name="perf",
    help="A performance version system: what got slower, when, where, by how much, and how sure are we.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def options(
    ctx: typer.Context,
    directory: Annotated[Path, typer.Option("-C", help="Work as if started in this folder.")] = Path(),
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks.")] = False,
    no_plugins: Annotated[bool, typer.Option("--no-plugins", help="Leave observers and plugin commands out.")] = False,
    version: Annotated[bool, typer.Option("--version", "-V", help="Print the version and exit.")] = False,
) -> None:
    if version:
        from perfcore import __version__

        print(f"perfcore {__version__}")
        raise typer.Exit(0)
    if not directory.is_dir():
        raise UsageError(f"{directory} is not a folder")
    ctx.obj = Console(
        directory=directory,
        debug=debug or bool(os.environ.get("PERF_DEBUG")),
        observers=not no_plugins,
        disabled=disabled_by_environment(os.environ),
    )


def run(arguments: Sequence[str]) -> int:
    """Run a command line; errors become one message and an exit code that is never 0 or 1."""
    debug = "--debug" in arguments or bool(os.environ.get("PERF_DEBUG"))
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        code = app(args=list(arguments), prog_name="perf", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except PerfError as error:
        return _tell(error, debug)
    except typer.TyperException as error:
        return _tell_usage(error)
    except (KeyboardInterrupt, typer.Abort):
        sys.stderr.write("\ninterrupted\n")
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except OSError as error:
        if debug:
            raise
        return _tell(PerfError(f"{error.filename or 'input or output'}: {error.strerror or error}"), debug)
    except Exception as error:
        if debug:
            raise
        return _tell_internal(error)


def _tell(error: PerfError, debug: bool) -> int:
    if debug:
        import traceback

        traceback.print_exception(error)
    sys.stderr.write(f"perf: {printable_lines(str(error))}\n")
    if error.hint:
        sys.stderr.write(f"  hint: {printable_lines(error.hint)}\n")
    return error.exit_code


def _tell_usage(error: typer.TyperException) -> int:
    context: Any = getattr(error, "ctx", None)
    if context is not None:
        sys.stderr.write(f"{context.get_usage()}\n")
    sys.stderr.write(f"perf: {printable_lines(error.format_message())}\n")
    if context is not None:
        sys.stderr.write(f"  hint: `{context.command_path} --help` explains\n")
    return UsageError.exit_code


def _tell_internal(error: Exception) -> int:
    from perfcore.plugins import owner_of

    owner = owner_of(error)
    whose = f"{owner} failed" if owner else "perfcore failed in a way it should not"
    sys.stderr.write(f"perf: {whose}: {type(error).__name__}: {printable_lines(str(error))}\n")
    sys.stderr.write("  hint: run again with --debug for the traceback, and report it\n")
    return INTERNAL


def _console(ctx: Any) -> Console:
    if not isinstance(ctx.obj, Console):
        ctx.obj = Console(directory=Path(), disabled=disabled_by_environment(os.environ))
    return ctx.obj


def _plugin_verbs(ctx: Any) -> list[str]:
    console = _console(ctx)
    return [name for name in console.plugins.names("command") if name not in VERBS] if console.plugins.observers else []
