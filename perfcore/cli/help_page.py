"""The help of a collector as it was made before, for which neither Typer nor the collector need be imported.

It is kept in the user's cache with the states of the files of all modules that it was made with, the standard library
left out, and is made anew when one of them changes. So what Settings say has to follow from the code alone.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from perfcore import __version__, files
from perfcore.digests import sha1
from perfcore.plugins.installed import file_state, forget_oldest

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from perfcore.cli.console import Console

_FORM = ("COLUMNS", "LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG")  # variables on which the words and the lines depend


def show(console: Console, collector: str, words: Sequence[str]) -> bool:
    """Print the help of a collector. False, and nothing is printed, where it is not known."""
    path = _file(console, collector)
    data = None if path is None else files.cached(path)
    text, *states = (data or b"").decode("utf-8", "surrogateescape").split("\0")
    if not states or any(file_state(file) != state for file, state in zip(states[::2], states[1::2], strict=True)):
        return False
    sys.stdout.write(f"{text}\n")
    return True


def remember(console: Console, collector: str, text: str) -> None:
    """Keep the help of a collector for the next time. A cache that cannot be written costs time, nothing else."""
    path = _file(console, collector)
    names = (name for name in sys.modules if name.partition(".")[0] not in sys.stdlib_module_names)
    loaded = sorted({str(file) for name in names if (file := getattr(sys.modules[name], "__file__", None))})
    if path is not None:
        words = (text, *(word for file in loaded for word in (file, file_state(file))))
        files.cache(path, "\0".join(words).encode("utf-8", "surrogateescape"))
        forget_oldest(path.parent)


def _file(console: Console, collector: str) -> Path | None:
    """None for a collector that is not one installed plugin, and where nothing is kept."""
    infos = [info for info in console.plugins.infos("collector") if info.is_called(collector)]
    place = console.places.installed
    if place is None or len(infos) != 1 or console.plugins.is_local(infos[0]):
        return None
    # Without docstrings, as by `python -OO`, the help says less.
    form = (str(console.width), str(sys.flags.optimize), *(os.environ.get(variable, "") for variable in _FORM))
    words = "\0".join((__version__, sys.executable, *sys.path, *infos[0][:5], collector, *form))
    return place.with_name("help") / sha1(words.encode("utf-8", "replace")).hexdigest()
