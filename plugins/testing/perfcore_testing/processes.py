"""What became of the processes that a test started."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest

from perfcore.hookspecs import Collector
from perfcore.model import Job
from perfcore_testing.collector import Measuring

# Seconds after which a test that waits for a process fails: one that hangs is told, and one on a machine that others
# keep busy is not. Most take a hundredth of it.
PATIENCE = 600.0


@attrs.frozen
class Measure:
    """Sessions of a collector in a folder: `measure("sleep", "1", runs=2, timeout=1)` is one that is over. `shell`,
    `env` and `cwd` are the job's, other options those of the collector that `make` makes."""

    make: Callable[..., Collector]
    folder: Path

    def __call__(self, *argv: str, runs: int = 1, **options: Any) -> Measuring:
        popen_options = {name: options.pop(name) for name in ("shell", "env", "cwd") if name in options}
        job = Job(argv=argv, cmd=argv[0], **{"cwd": self.folder, **popen_options})
        with Measuring(self.make(**options), job) as measuring:
            for _ in range(runs):
                measuring.run()
        return measuring


def living(marker: str) -> list[int]:
    """The processes with this word on their command lines, zombies left out."""
    processes = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if marker.encode() in (folder / "cmdline").read_bytes().split(b"\0") and int(folder.name) != os.getpid():
                processes.append(int(folder.name))
    return processes


def eventually(true: Callable[[], bool], seconds: float = PATIENCE) -> bool:
    """Whether something becomes true in time: as soon as it does."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if true():
            return True
        time.sleep(0.01)
    return true()


@contextlib.contextmanager
def marked() -> Iterator[str]:
    """A word to know processes by: a number of seconds that `sleep` takes. None of them is left over."""
    word = f"{10_000 + time.monotonic_ns() % 10**9 / 1e9:.9f}"
    try:
        yield word
    finally:
        for pid in living(word):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, 9)


@pytest.fixture
def marker() -> Iterator[str]:
    """A word to know the processes of a test by."""
    with marked() as word:
        yield word
