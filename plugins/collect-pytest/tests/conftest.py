"""Suites of pytest in temporary folders, measured in real processes."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from perfcore_collect_pytest.collector import PytestCollector, PytestSettings
from perfcore_testing.collector import Measuring
from perfcore_testing.processes import Measure
from perfcore_testing.project import empty_project, project

__all__ = ["empty_project", "project"]

MeasureTests = Callable[..., Measuring]
PLUGIN = ("-p", "perfcore_collect_pytest.plugin")


@pytest.fixture(autouse=True)
def without_other_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    """The plugins of the environment take most of the time in which pytest starts."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)


@pytest.fixture
def measure(tmp_path: Path) -> MeasureTests:
    """Measures the tests of a file: `measure("def test_a(perf): ...", runs=2)`."""

    def measure(text: str, *, words: tuple[str, ...] = (".",), **options: Any) -> Measuring:
        write(tmp_path / "test_a.py", text)
        collectors = Measure(lambda **settings: PytestCollector(PytestSettings(**settings)), tmp_path)
        return collectors(*words, **options)

    return measure


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(text), encoding="utf-8")


def names(measuring: Measuring) -> list[str]:
    return sorted({str(row["benchmark"]) for row in measuring.rows})


def statuses(measuring: Measuring) -> dict[str, tuple[str, str]]:
    rows = measuring.session.tables["benchmarks"].build().iter_rows()
    return {str(row["benchmark"]): (str(row["status"]), str(row["message"] or "")) for row in rows}
