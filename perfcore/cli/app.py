"""The command line as a whole: global options, lazy verbs, and what becomes of errors."""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from perfcore.cli.console import Console, disabled_by_environment
from perfcore.cli.options import invoke
from perfcore.cli.verbs import VERBS
from perfcore.errors import PerfError, UsageError, nearest
from perfcore.text import printable, printable_lines

INTERNAL = 70
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
        raise UsageError(f"perf has no command '{printable(name)}'", hint=hint or "`perf --help` lists them")

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
    directory: Annotated[
        Path, typer.Option("-C", metavar="PATH", show_default=False, help="Work as if started in this folder.")
    ] = Path(),
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
    """Run a command line; errors become one message and an exit code that is never 0, and never 1, which says
    that a degradation was found."""
    debug = "--debug" in takewhile(lambda word: word not in VERBS, arguments) or bool(os.environ.get("PERF_DEBUG"))
    _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        with _terminations():
            return _run(arguments)
    except PerfError as error:
        return _tell(error, debug)
    except typer.TyperException as error:
        return _tell_usage(error)
    except BrokenPipeError:
        _silence()
        return BROKEN_PIPE
    except OSError as error:
        if error.filename is None:  # it may be what is left to be written
            _silence()
        return _tell(PerfError(f"{error.filename or 'input or output'}: {error.strerror or error}"), debug, error)
    except (KeyboardInterrupt, typer.Abort) as error:
        signalled = error.args[0] if error.args and isinstance(error.args[0], int) else signal.SIGINT
        sys.stderr.write("\ninterrupted\n" if signalled == signal.SIGINT else "terminated\n")
        return 128 + signalled
    except (Exception, SystemExit) as error:
        if isinstance(error, SystemExit) and not error.code:  # shell completion ends like this
            return 0
        return _tell_internal(error, debug)


def _run(arguments: Sequence[str]) -> int:
    if os.environ.get("_PERF_COMPLETE"):
        app(args=list(arguments), prog_name="perf")
    try:
        code = invoke(typer.main.get_command(app), arguments, "perf")
    except typer.Exit as exit:
        code = exit.exit_code
    sys.stdout.flush()
    return code if isinstance(code, int) else 0


@contextlib.contextmanager
def _terminations() -> Iterator[None]:
    """While this lasts, SIGTERM and SIGHUP end the command as Ctrl-C does: everything is cleaned up."""

    def end(number: int, frame: object) -> None:
        signal.signal(number, signal.SIG_IGN)
        raise KeyboardInterrupt(number)

    names = [name for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {}
    if threading.current_thread() is threading.main_thread():
        before = {number: signal.getsignal(number) for number in (getattr(signal, name) for name in names)}
    for number, handler in before.items():
        if handler == signal.SIG_DFL:
            signal.signal(number, end)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _open_closed_streams() -> None:
    """Something harmless for the streams that our parent has closed, so that no file takes their place. What is
    written to a closed standard output fails, as it does everywhere."""
    for number, name, mode in ((0, "stdin", os.O_RDONLY), (1, "stdout", os.O_RDONLY), (2, "stderr", os.O_WRONLY)):
        if getattr(sys, name) is None:
            handle = os.open(os.devnull, mode)
            if handle != number:
                os.dup2(handle, number)
                os.close(handle)
            setattr(sys, name, open(number, "w" if number else "r", closefd=False))  # noqa: SIM115


def _silence() -> None:
    """Throw away what standard output still holds: at exit, Python would try to write it again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _tell(error: PerfError, debug: bool, cause: BaseException | None = None) -> int:
    if debug:
        _trace(cause or error)
    sys.stderr.write(f"perf: {printable_lines(str(error))}\n")
    if error.hint:
        sys.stderr.write(f"  hint: {printable_lines(error.hint)}\n")
    return error.exit_code


def _tell_usage(error: typer.TyperException) -> int:
    context: Any = getattr(error, "ctx", None)
    if context is None:
        sys.stderr.write(f"perf: {printable_lines(error.format_message())}\n")
        return UsageError.exit_code
    if error.message == context.get_help():  # nothing was asked for
        sys.stderr.write(f"{error.message}\n")
        return UsageError.exit_code
    sys.stderr.write(f"{printable_lines(context.get_usage())}\nperf: {printable_lines(error.message)}\n")
    option = getattr(error, "option_name", None)
    flags = [flag for parameter in context.command.params for flag in (*parameter.opts, *parameter.secondary_opts)]
    hint = nearest(option, flags) if option else None
    sys.stderr.write(f"  hint: {hint or f'`{printable(context.command_path)} --help` explains'}\n")
    return UsageError.exit_code


def _tell_internal(error: BaseException, debug: bool) -> int:
    from perfcore.plugins import owner_of

    if debug:
        _trace(error)
    owner = owner_of(error)
    whose = f"{owner} failed" if owner else "perfcore failed in a way it should not"
    sys.stderr.write(f"perf: {whose}: {type(error).__name__}: {printable_lines(str(error))}\n")
    sys.stderr.write("  hint: run again with --debug for the traceback, and report it\n")
    return INTERNAL


def _trace(error: BaseException) -> None:
    import traceback

    sys.stderr.write(printable_lines("".join(traceback.format_exception(error))))


def _console(ctx: Any) -> Console:
    if not isinstance(ctx.obj, Console):
        ctx.obj = Console(directory=Path(), disabled=disabled_by_environment(os.environ))
    return ctx.obj


def _plugin_verbs(ctx: Any) -> list[str]:
    console = _console(ctx)
    return [name for name in console.plugins.names("command") if name not in VERBS] if console.plugins.observers else []
