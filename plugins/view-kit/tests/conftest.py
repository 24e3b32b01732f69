"""Charts to try things on, and a headless Chromium for the tests that look at a page: where it or a package is missing
they are skipped."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest
from perfcore_testing.pages import axe, browser, window

__all__ = ["axe", "browser", "window"]


@pytest.fixture(scope="session")
def charts() -> Any:
    """The functions of charts.py, which is no package."""
    spec = importlib.util.spec_from_file_location("view_kit_charts", Path(__file__).with_name("charts.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
