"""Real commands for the tests, and a look at what became of them."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from perfcore_collect_time import TimeCollector, TimeSettings

from perfcore.model import Job
from perfcore.testing.collector import Measuring
from perfcore.testing.project import empty_project, project

__all__ = ["empty_project", "project"]

Measure = Callable[..., Measuring]


@pytest.fixture
def measure(tmp_path: Path) -> Measure:
    """`measure("sleep", "1", runs=2, timeout=1)`: a session that is over. Other options are those of the
    collector; `shell`, `env` and `cwd` are the job's."""

    def measure(
        *argv: str,
        runs: int = 1,
        shell: bool = False,
        env: dict[str, str] | None = None,
        cwd: Path = tmp_path,
        **options: Any,
    ) -> Measuring:
        job = Job(argv=argv, cmd=argv[0], shell=shell, env=env or {}, cwd=cwd)
        with Measuring(TimeCollector(TimeSettings(**options)), job) as measuring:
            for _ in range(runs):
                measuring.run()
        return measuring

    return measure


@pytest.fixture
def python(measure: Measure) -> Measure:
    """The same for a line of Python."""

    def python(code: str, *words: str, **options: Any) -> Measuring:
        return measure(sys.executable, "-I", "-S", "-c", code, *words, **options)

    return python


def living(marker: str) -> list[int]:
    """The processes with this word on their command lines, zombies left out."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if marker.encode() in (folder / "cmdline").read_bytes().split(b"\0") and int(folder.name) != os.getpid():
                found.append(int(folder.name))
    return found


def eventually(true: Callable[[], bool], seconds: float = 20.0) -> bool:
    """Whether something becomes true in time: as soon as it does."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if true():
            return True
        time.sleep(0.01)
    return true()


@pytest.fixture
def marker() -> Iterator[str]:
    """A word to know the processes of a test by: a number of seconds that `sleep` takes. None is left over."""
    word = f"{10_000 + time.monotonic_ns() % 10**9 / 1e9:.9f}"
    yield word
    for pid in living(word):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, 9)
