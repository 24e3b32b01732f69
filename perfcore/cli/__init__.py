"""The command `perf`. Only this package reads the environment and the arguments, prints, and exits."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_YOUNG = 50_000  # objects until a search for garbage; Python 3.11 begins with 700


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line, that of this process for None, and give its exit code. `--version` answers before anything
    else is imported."""
    is_process = arguments is None
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    if arguments in (["--version"], ["-V"]):
        try:
            return _tell_version()
        except OSError:  # nobody reads it, or the disk is full: this is told as everywhere
            from perfcore.cli.outcome import finished

            return finished(_tell_version)
    if is_process:
        _look_less_for_garbage()
    code = None if "_PERF_COMPLETE" in os.environ else _short_answer(arguments)
    if code is not None:
        return code
    from perfcore.cli.app import run

    return run(arguments)


def _short_answer(words: Sequence[str]) -> int | None:
    """Answer a verb without options, or the help of a collector, as the parser of arguments would, whose import takes
    longer than the answer. None where it has to."""
    from perfcore.cli.verbs import VERBS

    page = VERBS[words[0]].page if len(words) == 1 and words[0] in VERBS else ""
    is_help = len(words) == 3 and words[0] == "collect" and words[2] in ("--help", "-h") and words[1][:1] != "-"
    if not page and not is_help:
        return None
    from importlib import import_module

    from perfcore.cli.console import new_console
    from perfcore.cli.outcome import finished

    answered = True

    def answer() -> int:
        nonlocal answered
        with new_console() as console:
            if page:
                import_module(f"perfcore.cli.{page}").show(console)
            else:
                answered = import_module("perfcore.cli.help_page").show(console, words[1])
        return 0

    code = finished(answer, debug=bool(os.environ.get("PERF_DEBUG")))
    return code if answered else None


def _look_less_for_garbage() -> None:
    # Almost all that a command makes is in use until it ends: classes, functions, modules. To look again and again for
    # what is not, and at exit to take it all apart, is a quarter of a short command.
    import atexit
    import gc

    gc.set_threshold(_YOUNG)
    atexit.register(gc.freeze)  # what is frozen is not taken apart


def _tell_version() -> int:
    from perfcore import __version__

    print(f"perfcore {__version__}", flush=True)
    return 0
