"""The Linux kernel's tool of the same name, which perfcore hides where its environment is active: the verbs that are
not ours are handed to it."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

# Those of https://perf.wiki.kernel.org that perfcore does not have, too.
_VERBS = """annotate archive bench buildid-cache buildid-list c2c daemon data evlist ftrace inject iostat kallsyms kmem
kvm kwork list lock mem probe record report sched script stat test timechart top trace"""
PATHS = ("/usr/bin/perf", "/usr/local/bin/perf")
"""Where it is looked for. Never in PATH, where anybody's archive may have put a program of this name."""


def hand_over(arguments: Sequence[str]) -> str:
    """Become the kernel's tool with these arguments, if they begin with one of its verbs; where there is none, the
    reason. Nothing happens where they are not all of a command line of `perf`: `perfcore record` and
    `perf -C elsewhere record` are mistakes."""
    is_whole = Path(sys.argv[0]).name == "perf" and list(arguments) == sys.argv[1:]
    if not is_whole or arguments[0] not in _VERBS.split():
        return ""
    for path in map(Path, PATHS):
        if os.access(path, os.X_OK) and not _is_ours(path):
            if sys.stderr.isatty():
                sys.stderr.write(f"note: `perf {arguments[0]}` is a command of the Linux kernel's tool, {path}\n")
            os.execv(path, [str(path), *arguments])
    return f"`perf {arguments[0]}` is a command of the Linux kernel's tool, which is neither {' nor '.join(PATHS)}"


def _is_ours(path: Path) -> bool:
    with path.open("rb") as file:
        return b"perfcore" in file.read(1 << 12)  # the script that pip writes imports it in its first lines
