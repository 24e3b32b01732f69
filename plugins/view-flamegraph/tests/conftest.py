"""A headless Chromium for the tests that look at a page. Where it or a package is missing they are skipped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator


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
