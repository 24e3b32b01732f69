"""Machines of every shape, and a headless Chromium for the tests that look at a page: where it or a package is missing
they are skipped."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from perfcore_testing.project import empty_project, project

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["empty_project", "project"]


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


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    pytest.importorskip("websockets", reason="the package websockets is not installed, by which Chromium is driven")
    from perfcore_testing import browser as chromium

    if chromium.PROGRAM is None:
        pytest.skip("chromium is not installed")
    with chromium.window(tmp_path_factory.mktemp("chromium")) as window:
        yield window


@pytest.fixture
def window(browser: Any) -> Any:
    """A window of 1200 by 800 pixels whose user wants light colours; nothing is open."""
    browser.call("Page.navigate", url="about:blank")
    browser.resize(1200, 800)
    browser.media(prefers_color_scheme="light", prefers_reduced_motion="reduce")
    browser.problems.clear()
    browser.requests.clear()
    return browser
