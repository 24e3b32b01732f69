"""How a command ends: what becomes of errors, of signals and of pipes that are closed, and the exit codes."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from perfcore.errors import OutputClosedError, PerfError, UsageError
from perfcore.text import printable, printable_lines

if TYPE_CHECKING:
    import typer

INTERNAL = 70  # EX_SOFTWARE of sysexits.h
SIGNALLED = 128  # to which shells add the number of the signal
_NUMBERS = {"a valid int range": "a whole number", "a valid float range": "a number"}


class ExitError(Exception):
    """The command has ended with an exit code, the one argument, and nothing more is to be said."""


def is_exit(kind: type[BaseException]) -> bool:
    """Whether an exception is how commands end with an exit code of their own."""
    typer = sys.modules.get("typer")  # which nobody can have raised who has not imported it
    return issubclass(kind, ExitError) or (typer is not None and issubclass(kind, typer.Exit))


def finished(command: Callable[[], int], *, debug: bool = False) -> int:
    """The exit code of a command after it ran. An error becomes one message and a code that is never 0, and never
    1, which says that a degradation was found."""
    _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # for names that the locale cannot write
    try:
        with _terminations():
            code = _code(command)
            sys.stdout.flush()  # a full disk is told now; at exit Python could only print it
            return code
    except OutputClosedError as error:
        return error.exit_code
    except PerfError as error:
        return _tell(error, debug, error)
    except BrokenPipeError:  # when what is left is written
        silence_output()
        return OutputClosedError.exit_code
    except OSError as error:
        if error.filename is None:  # it may be what is left to be written
            silence_output()
        return _tell(PerfError(f"{error.filename or 'input or output'}: {error.strerror or error}"), debug, error)
    except KeyboardInterrupt as error:
        return _tell_signal(error)
    except (Exception, SystemExit) as error:
        if (typer := sys.modules.get("typer")) and isinstance(error, typer.TyperException):
            return _tell_usage(error)
        if typer and isinstance(error, typer.Abort):
            return _tell_signal(error)
        if isinstance(error, SystemExit) and not error.code:  # shell completion ends like this
            return 0
        return _tell_internal(error, debug)


def _code(command: Callable[[], int]) -> int:
    try:
        return command()
    except Exception as error:
        if not is_exit(type(error)):
            raise
        return int(error.args[0] if isinstance(error, ExitError) else error.exit_code)  # type: ignore[attr-defined]


@contextlib.contextmanager
def _terminations() -> Iterator[None]:
    """While this lasts, SIGTERM and SIGHUP end the command as Ctrl-C does: everything is cleaned up."""

    def end(number: int, frame: object) -> None:
        signal.signal(number, signal.SIG_IGN)  # a second one must not end the cleaning up
        raise KeyboardInterrupt(number)

    names = [name for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {}
    if threading.current_thread() is threading.main_thread():  # Python sets handlers nowhere else
        before = {number: signal.getsignal(number) for number in (getattr(signal, name) for name in names)}
    for number, handler in before.items():
        if handler == signal.SIG_DFL:  # nohup ignores SIGHUP, and so shall the command
            signal.signal(number, end)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _open_closed_streams() -> None:
    """Something harmless for the streams that our parent has closed."""
    # Else the next file that is opened takes the number of the stream, and what is printed goes into it. What is
    # written to a closed standard output fails, as it does everywhere: hence reading only.
    for descriptor, name, mode in ((0, "stdin", os.O_RDONLY), (1, "stdout", os.O_RDONLY), (2, "stderr", os.O_WRONLY)):
        if getattr(sys, name) is None:
            handle = os.open(os.devnull, mode)
            if handle != descriptor:
                os.dup2(handle, descriptor)
                os.close(handle)
            os.set_inheritable(descriptor, True)  # PEP 446: what os.open gives is not, and programs that run need it
            setattr(sys, name, open(descriptor, "w" if descriptor else "r", closefd=False))  # noqa: SIM115


def silence_output() -> None:
    """Throw away what standard output still holds: at exit, Python would try to write it again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _say(text: str) -> None:
    with contextlib.suppress(OSError):  # a standard error that is full or closed changes nothing about the end
        sys.stderr.write(text)


def _tell(error: PerfError, debug: bool, cause: BaseException) -> int:
    if debug:
        _trace(cause)
    if str(error):  # nothing where the user was told as it happened
        _say(f"perf: {printable_lines(str(error))}\n")
    if error.hint:
        _say(f"  hint: {printable_lines(error.hint)}\n")
    return error.exit_code


def _tell_usage(error: typer.TyperException) -> int:
    context: Any = getattr(error, "ctx", None)
    if context is None:
        _say(f"perf: {printable_lines(_as_ours(error.format_message()))}\n")
        return UsageError.exit_code
    if error.message == context.get_help():  # nothing was asked for
        _say(f"{error.message}\n")
        return UsageError.exit_code
    option = getattr(error, "option_name", None)
    message = error.message if option else error.format_message()  # an unknown option's hint is our own
    _say(f"{printable_lines(context.get_usage())}\nperf: {printable_lines(_as_ours(message))}\n")
    hint = _nearest_option(option, context.command.params) if option else None
    _say(f"  hint: {hint or f'`{printable(context.command_path)} --help` explains'}\n")
    return UsageError.exit_code


def _as_ours(message: str) -> str:
    """A message of the parser, written as ours are."""
    for theirs, ours in _NUMBERS.items():
        message = message.replace(theirs, ours)
    return (message[:1].lower() + message[1:]).removesuffix(".")


def _nearest_option(option: str, parameters: Sequence[Any]) -> str | None:
    flags = [flag for parameter in parameters for flag in (*parameter.opts, *parameter.secondary_opts)]
    names = [flag.removeprefix("--") for flag in flags if flag.startswith("--")]  # an argument has a name, too
    import difflib

    close = difflib.get_close_matches(option.lstrip("-"), names, n=1, cutoff=0.6)
    return f"did you mean '--{close[0]}'?" if close else None


def _tell_signal(error: BaseException) -> int:
    signal_number = error.args[0] if error.args and isinstance(error.args[0], int) else signal.SIGINT
    _say("\ninterrupted\n" if signal_number == signal.SIGINT else "terminated\n")
    return SIGNALLED + signal_number


def _tell_internal(error: BaseException, debug: bool) -> int:
    from perfcore.plugins.description import owner_of

    if debug:
        _trace(error)
    owner = owner_of(error)
    whose = f"{owner} failed" if owner else "perfcore failed in a way it should not"
    _say(f"perf: {whose}: {type(error).__name__}: {printable_lines(str(error))}\n")
    _say("  hint: run again with --debug for the traceback, and report it\n")
    return INTERNAL


def _trace(error: BaseException) -> None:
    import traceback

    _say(printable_lines("".join(traceback.format_exception(error))))
