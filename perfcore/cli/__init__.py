"""The command `perf`. Only this package reads the environment and the arguments, prints, and exits."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

_YOUNG = 200_000  # objects until a search for garbage, of some 20 MB; Python 3.11 begins with 700


def command() -> int:
    """Run the command line of this process, and end it as Python does, but for taking apart what it holds: the system
    frees that at once. Where this process is profiled or traced, only give the exit code."""
    code = main()
    import atexit

    if sys.getprofile() or sys.gettrace():
        return code
    if threading := sys.modules.get("threading"):
        threading._shutdown()
    atexit._run_exitfuncs()
    for stream in filter(None, (sys.stdout, sys.stderr)):
        try:
            stream.flush()
        except (OSError, ValueError):
            code = code or 120  # as Python ends then
    os._exit(code)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line, that of this process for None, and give its exit code. `--version` answers before anything
    else is imported."""
    is_process = arguments is None
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    if arguments in (["--version"], ["-V"]):
        try:
            return tell_version()
        except OSError:  # nobody reads it, or the disk is full: this is told as everywhere
            from perfcore.cli.outcome import finished

            return finished(tell_version)
    if is_process:
        import _signal  # type: ignore[import-not-found]  # `signal` takes as long to import as a short answer
        import gc

        from perfcore.cli.lazy_imports import LazyImports

        if hasattr(_signal, "SIGCHLD"):
            _signal.signal(_signal.SIGCHLD, _signal.SIG_DFL)  # where it is ignored, every child seems to succeed
        gc.set_threshold(_YOUNG)  # almost all that a command makes is in use until it ends
        if sys.path[0] == os.path.dirname(sys.executable):  # the folder of this script has no modules to look for
            del sys.path[0]
        sys.meta_path.insert(0, LazyImports)
    if "_PERF_COMPLETE" not in os.environ and (code := _short_answer(arguments)) is not None:
        return code
    from perfcore.cli.app import run

    return run(arguments)


def _short_answer(words: Sequence[str]) -> int | None:
    """Answer a verb with plain options, or a collector, as the parser of arguments would, whose import
    takes longer than the answer. None where it has to."""
    from perfcore.cli.verbs import VERBS

    verb, *rest = words or ("",)
    page = VERBS[verb].page if verb in VERBS else ""
    if is_collector := verb == "collect" and len(rest) > 1 and rest[0][:1] not in ("", "-"):
        page = "help_page" if rest[1:] in (["--help"], ["-h"]) else "collect_plain"
    if not page:
        return None
    from importlib import import_module

    from perfcore.cli.console import new_console
    from perfcore.cli.outcome import finished

    module: Any = import_module(f"perfcore.cli.{page}")
    plain: Any = [{"collector": rest[0], "words": rest[1:]}, ()] if is_collector else plain_options(rest, module.PLAIN)
    if plain is None or plain[1]:
        return None
    answered = True

    def answer() -> int:
        nonlocal answered
        with new_console() as console:
            answered = module.show(console, **plain[0]) is not False
        return 0

    code = finished(answer, debug=bool(os.environ.get("PERF_DEBUG")))
    return code if answered else None


def plain_options(
    words: Sequence[str], options: Mapping[str, tuple[str, type]]
) -> tuple[dict[str, bool | int | str], list[str]] | None:
    """(values, the words behind the options): those that `--short`, `-n 5`, `-n5`, `-5` or `--last=5` give to names.
    None where an option is anything else, wrong ones included."""
    values: dict[str, bool | int | str] = {}
    rest = iter(words)
    for word in rest:
        if word[:1] != "-" or word == "--":
            return values, [word, *rest][word == "--" :]
        text = f"-n{word[1:]}" if word[1:].isdigit() else word  # as in git
        flag, attached, value = text.partition("=") if text[:2] == "--" else (text[:2], text[2:], text[2:])
        name, kind = options.get(flag, ("", None))
        value = value if attached or kind is bool else next(rest, "")
        number = kind is int and value.isascii() and value.isdigit() and len(value) <= 9  # the parser reads longer ones
        if not (number or (kind is bool and not attached) or (kind is str and value[:1] not in ("", "-"))):
            return None
        values[name] = int(value) if number else True if kind is bool else value
    return values, []


def tell_version() -> int:
    """Print the version."""
    from perfcore import __version__

    print(f"perfcore {__version__}", flush=True)
    return 0
