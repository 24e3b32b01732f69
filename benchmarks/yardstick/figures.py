"""Numbers that no race of two programs gives: what they are, how they are found, and what they may be at most."""

from __future__ import annotations

import contextlib
import io
import tempfile
from collections.abc import Callable
from pathlib import Path

import attrs

from benchmarks import new_stacks as of_new_stacks
from benchmarks import remotes
from benchmarks.yardstick.cost import weight
from benchmarks.yardstick.room import Room


@attrs.frozen(kw_only=True)
class Figure:
    """`find` gives the number, and what it may be at most."""

    name: str
    what: str
    find: Callable[[Room], tuple[float, float]]


def files(folder: Path) -> int:
    """How many there are below it."""
    return sum(path.is_file() for path in folder.rglob("*"))


def bytes_below(folder: Path) -> int:
    return weight(folder)[0]


def new_stacks(room: Room, stacks: int, versions: int) -> float:
    """Bytes in blocks that each of the later versions adds after `perf gc`, each imported from another file name."""
    return of_new_stacks.added(room.perf(), stacks, versions)[1]


def pushed(over: str, versions: int) -> tuple[float, float]:
    """Bytes that a push of one more version moves, both ways together, and three times its stored size plus 20 kB."""
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        found = remotes.growth(Path(folder), over, versions)
    return found["sent"] + found["received"], found["allowed"]
