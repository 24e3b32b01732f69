"""Machines of every shape, and a headless Chromium for the tests that look at a page: where it or a package is missing
they are skipped."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest
from perfcore_testing.pages import axe, browser, window
from perfcore_testing.project import empty_project, project

__all__ = ["axe", "browser", "empty_project", "project", "window"]


def beside(name: str) -> Any:
    """A module of this folder, which is no package."""
    spec = importlib.util.spec_from_file_location(f"topology_{name}", Path(__file__).with_name(f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def machines() -> Any:
    """The functions of machines.py."""
    return beside("machines")
