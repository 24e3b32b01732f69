"""Sections of threads: what samples that are taken meanwhile belong to."""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from collections.abc import Iterator

Stack = tuple[int, ...]
"""The id of the code object and the position in it, of each frame, innermost first."""


class OpenSection:
    """A section that goes on. Its samples are counted here, because labels may follow until its end."""

    __slots__ = ("counts", "labels", "name", "outer")

    def __init__(self, name: str, labels: dict[str, str], outer: OpenSection | None) -> None:
        self.name = name
        self.labels = labels
        self.outer = outer
        self.counts: dict[Stack, int] = {}


# By thread. Only the thread itself writes its entry, and the sampler reads it: one step of the interpreter each.
open_sections: dict[int, OpenSection] = {}
finished: deque[OpenSection] = deque()
is_sampling = False


@contextlib.contextmanager
def section(name: str, **labels: object) -> Iterator[None]:
    """A stretch of this thread's work with a name and labels. Costs a microsecond where nothing is sampled."""
    if not is_sampling:
        yield
        return
    thread = threading.get_ident()
    outer = open_sections.get(thread)
    opened = OpenSection(name, {key: str(value) for key, value in labels.items()}, outer)
    open_sections[thread] = opened
    try:
        yield
    finally:
        if outer is None:
            open_sections.pop(thread, None)
        else:
            open_sections[thread] = outer
        if opened.counts:
            finished.append(opened)


def label(key: str, value: object) -> None:
    """A label of the innermost section of this thread; of all of its samples, also of those before."""
    opened = open_sections.get(threading.get_ident())
    if opened is not None:
        opened.labels[key] = str(value)
