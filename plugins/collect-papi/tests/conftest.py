"""Real commands for the tests, and hardware counters on machines without them: PAPI's own component for the
processor, on events of the kernel's software, by a small library that is compiled and preloaded."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from perfcore_collect_papi import PapiCollector, PapiSettings
from perfcore_testing.collector import Measuring
from perfcore_testing.processes import Measure, marker
from perfcore_testing.project import empty_project, project

__all__ = ["empty_project", "marker", "project"]

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
    return Measure(lambda **options: PapiCollector(PapiSettings(**options)), tmp_path)


@pytest.fixture
def python(measure: Measure) -> Callable[..., Measuring]:
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
