"""Real commands for the tests, and a look at what became of them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from perfcore_collect_time import TimeCollector, TimeSettings
from perfcore_testing.collector import Measuring
from perfcore_testing.processes import Measure, marker
from perfcore_testing.project import empty_project, project

__all__ = ["empty_project", "marker", "project"]


@pytest.fixture
def measure(tmp_path: Path) -> Measure:
    return Measure(lambda **options: TimeCollector(TimeSettings(**options)), tmp_path)


@pytest.fixture
def python(measure: Measure) -> Callable[..., Measuring]:
    """The same for a line of Python."""

    def python(code: str, *words: str, **options: Any) -> Measuring:
        return measure(sys.executable, "-I", "-S", "-c", code, *words, **options)

    return python
