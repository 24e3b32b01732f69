"""The command `perf`. Only this package reads the environment and the arguments, prints, and exits."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from importlib.machinery import ModuleSpec
    from typing import Any

_NUMPY_THREADS = "OPENBLAS_NUM_THREADS"
_YOUNG = 200_000  # objects until a search for garbage, of some 20 MB; Python 3.11 begins with 700


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
        sys.meta_path.insert(0, _OneThreadForNumPy)
    code = None if "_PERF_COMPLETE" in os.environ else _short_answer(arguments)
    if code is not None:
        return code
    from perfcore.cli.app import run

    return run(arguments)


def _short_answer(words: Sequence[str]) -> int | None:
    """Answer a verb with plain options, or the help of a collector, as the parser of arguments would, whose import
    takes longer than the answer. None where it has to."""
    from perfcore.cli.verbs import VERBS

    verb, *rest = words or ("",)
    page = VERBS[verb].page if verb in VERBS else ""
    is_help = len(rest) == 2 and verb == "collect" and rest[1] in ("--help", "-h") and rest[0][:1] != "-"
    if not page and not is_help:
        return None
    from importlib import import_module

    from perfcore.cli.console import new_console
    from perfcore.cli.outcome import finished

    module: Any = import_module(f"perfcore.cli.{page or 'help_page'}")
    options: Any = _plain_options(rest, module.PLAIN) if page else {"collector": rest[0]}
    if options is None:
        return None
    answered = True

    def answer() -> int:
        nonlocal answered
        with new_console() as console:
            answered = module.show(console, **options) is not False
        return 0

    code = finished(answer, debug=bool(os.environ.get("PERF_DEBUG")))
    return code if answered else None


def _plain_options(words: Sequence[str], options: Mapping[str, tuple[str, type]]) -> dict[str, bool | int] | None:
    """The values that `--short`, `-n 5`, `-n5`, `-5` or `--last=5` give to names. None where a word is anything else,
    wrong ones included."""
    values: dict[str, bool | int] = {}
    rest = iter(words)
    for word in rest:
        text = f"-n{word[1:]}" if word[:1] == "-" and word[1:].isdigit() else word  # as in git
        flag, attached, value = text.partition("=") if text[:2] == "--" else (text[:2], text[2:], text[2:])
        name, kind = options.get(flag, ("", None))
        value = value if attached or kind is bool else next(rest, "")
        number = kind is int and value.isascii() and value.isdigit() and len(value) <= 9  # the parser reads longer ones
        if not number and (kind is not bool or attached):
            return None
        values[name] = int(value) if number else True
    return values


def _look_less_for_garbage() -> None:
    # Almost all that a command makes is in use until it ends: classes, functions, modules. To look again and again for
    # what is not, and at exit to take it all apart, is a quarter of a short command.
    import atexit
    import gc

    gc.set_threshold(_YOUNG)
    atexit.register(gc.freeze)  # what is frozen is not taken apart


class _OneThreadForNumPy:
    """Finds NumPy's compiled part, and loads it so that its library of linear algebra starts no threads. Each waits
    busily for work at first, as long as all of NumPy takes to import, and no array of ours is worth two."""

    @classmethod
    def find_spec(cls, name: str, path: Sequence[str] | None = None, _: object = None) -> ModuleSpec | None:
        if name != "numpy._core._multiarray_umath" or _NUMPY_THREADS in os.environ:
            return None
        from importlib.machinery import PathFinder

        sys.meta_path.remove(cls)
        loader: Any = (spec := PathFinder.find_spec(name, path)) and spec.loader
        create = getattr(loader, "create_module", None)
        if create is None:
            return spec

        def create_module(spec: ModuleSpec) -> object:
            os.environ[_NUMPY_THREADS] = "1"
            try:
                return create(spec)
            finally:
                del os.environ[_NUMPY_THREADS]  # what is measured shall not have it

        loader.create_module = create_module
        return spec


def _tell_version() -> int:
    from perfcore import __version__

    print(f"perfcore {__version__}", flush=True)
    return 0
