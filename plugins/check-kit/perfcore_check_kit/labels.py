"""What commands and benchmarks are called: commands below the root of the tree by their folder, too."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Sequence

_OPERATORS = frozenset({"|", "||", "&", "&&", ";", "<", ">", ">>"})  # of a command that a shell ran
_DEFAULT_COLLECTOR = "time"  # of `perf compare` and `perf bisect`


def in_folder(label: str) -> tuple[str, str]:
    """The folder of a command and the command as it was typed: `svc/one` and `./run` of `svc/one: ./run`. A folder with
    a blank cannot be told from a command of the shell, and is left in the command."""
    folder, _, typed = label.partition(": ")
    return (folder, typed) if typed and folder == "".join(folder.split()) else ("", label)


def whole_name(name: str, names: Collection[str]) -> str:
    """The benchmark whose name ends like this after its file, module or case, if there is one such: `test_parse[4]` for
    `tests/test_words.py::test_parse[4]`. Otherwise the name as it is."""
    fitting = [benchmark for benchmark in names if benchmark.endswith((f"::{name}", f".{name}", f"/{name}"))]
    return fitting[0] if len(fitting) == 1 and name not in names else name


def arguments(label: str, collector: str, options: Sequence[str] = ()) -> str:
    """What `perf compare A B` and `perf bisect A B` take to measure this command again, with more options:
    `--collector bench -- benchmarks`. COMMAND stands for one that cannot be typed."""
    folder, typed = in_folder(label)
    try:
        words = shlex.split(typed)
    except ValueError:
        words = [typed]
    is_whole = bool(words) and label.isprintable() and _OPERATORS.isdisjoint(words)
    every = [] if collector == _DEFAULT_COLLECTOR else ["--collector", collector]
    every += [*options, *(("--cwd", folder) if folder and is_whole else ())]
    return f"{shlex.join(every)} -- {shlex.join(words) if is_whole else 'COMMAND'}".lstrip()
