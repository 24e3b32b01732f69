"""Real commands for the tests, and hardware counters on machines without them: PAPI's own component for the
processor, on events of the kernel's software, by a small library that is compiled and preloaded."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from perfcore_collect_papi import PapiCollector, PapiSettings

from perfcore.model import Job
from perfcore.testing.collector import Measuring
from perfcore.testing.project import empty_project, project

__all__ = ["empty_project", "project"]

Measure = Callable[..., Measuring]
KERNEL = ("task-clock", "page-faults")

BURN = """
import os, sys, threading, time
def burn(seconds, cpu=None):
    if cpu is not None:
        os.sched_setaffinity(0, {cpu})
    start = time.thread_time()
    while time.thread_time() - start < seconds * 1.05:
        pass
"""


@pytest.fixture
def measure(tmp_path: Path) -> Measure:
    """`measure("sleep", "1", runs=2, event=("task-clock",))`: a session that is over. Other options are those of the
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
        with Measuring(PapiCollector(PapiSettings(**options)), job) as measuring:
            for _ in range(runs):
                measuring.run()
        return measuring

    return measure


@pytest.fixture
def python(measure: Measure) -> Measure:
    """The same for Python that has a function `burn(seconds, cpu)`."""

    def python(code: str, *words: str, **options: Any) -> Measuring:
        return measure(sys.executable, "-I", "-S", "-c", BURN + code, *words, **options)

    return python


@pytest.fixture(scope="session")
def preload(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library that makes counters of a processor out of those of the kernel."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("there is no C compiler to build the library that is preloaded")
    made = tmp_path_factory.mktemp("preload") / "fakepmu.so"
    source = Path(__file__).with_name("fakepmu.c")
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", made, source, "-ldl"], check=True)
    return made


@pytest.fixture
def processor(preload: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is started from here on has counters: instructions are page faults, all else is time on a CPU."""
    monkeypatch.setenv("LD_PRELOAD", str(preload))
    monkeypatch.setenv("LIBPFM_FORCE_PMU", "skl")


def totals(measuring: Measuring, run: int = 0) -> dict[str, int]:
    """The sum over the rows of a run, by event."""
    names = [column.name for column in measuring.resources.columns if column.role == "value"]
    rows = [row for row in measuring.rows if row["run"] == run]
    return {name: sum(row[name] for row in rows if row[name] is not None) for name in names}


def by_cpu(measuring: Measuring, event: str) -> dict[int | None, int]:
    """The sum over runs and snapshots, by CPU."""
    found: dict[int | None, int] = {}
    for row in measuring.rows:
        found[row["cpu"]] = found.get(row["cpu"], 0) + row[event]
    return found


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
