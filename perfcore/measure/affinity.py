"""Pinning: the CPUs on which what is measured runs. Processes inherit those of the thread that starts them."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator

from perfcore.errors import UsageError
from perfcore.text import brief

_PART = re.compile(r"(\d{1,5})(?:-(\d{1,5}))?")


def cpus(text: str) -> frozenset[int]:
    """The numbers of a list such as `0-3,5`, as `taskset` and cpusets write it. UsageError for what is no such list, or
    names a CPU that this process may not use."""
    numbers: set[int] = set()
    for part in text.split(","):
        match = _PART.fullmatch(part.strip())
        if match is None or int(match[2] or match[1]) < int(match[1]):
            raise UsageError(f"{brief(text)} is no list of CPUs", hint="such as 1, or 0-3,5")
        numbers.update(range(int(match[1]), int(match[2] or match[1]) + 1))
    if not hasattr(os, "sched_setaffinity"):
        raise UsageError("this system pins no process to a CPU: leave --cpu out")
    if missing := sorted(numbers - os.sched_getaffinity(0)):
        allowed = ",".join(map(str, sorted(os.sched_getaffinity(0))))
        raise UsageError(f"this process cannot use CPU {missing[0]}", hint=f"it may use {allowed}")
    return frozenset(numbers)


@contextlib.contextmanager
def pinned(numbers: frozenset[int]) -> Iterator[None]:
    """What is started meanwhile runs on these CPUs."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, numbers)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
