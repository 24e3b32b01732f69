"""Suites in temporary folders, measured in real processes."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from perfcore_collect_bench.collector import BenchCollector, BenchSettings
from perfcore_testing.collector import Measuring
from perfcore_testing.processes import Measure, marker
from perfcore_testing.project import empty_project, project

__all__ = ["empty_project", "marker", "project"]

MeasureSuite = Callable[..., Measuring]


def write(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")


@pytest.fixture
def measure(tmp_path: Path) -> MeasureSuite:
    """Measures the files of a folder: `measure({"bench_a.py": "..."}, runs=2)`. The command is the folder."""

    def measure(files: Mapping[str, str], *, words: tuple[str, ...] = (".",), **options: Any) -> Measuring:
        write(tmp_path, files)
        collectors = Measure(lambda **settings: BenchCollector(BenchSettings(**settings)), tmp_path)
        return collectors(*words, **options)

    return measure


def names(measuring: Measuring) -> list[str]:
    """The benchmarks that have rows, in the alphabet."""
    return sorted({str(row["benchmark"]) for row in measuring.rows})


def statuses(measuring: Measuring) -> dict[str, tuple[str, str | None]]:
    """Status and message by name."""
    rows = measuring.session.tables["benchmarks"].build().iter_rows()
    return {str(row["benchmark"]): (str(row["status"]), row["message"]) for row in rows}  # type: ignore[misc]
