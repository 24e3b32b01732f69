"""What tests of pages share: a headless Chromium as fixtures, which a conftest imports, and the rules of a page as a
file. Without Chromium or the package websockets, the tests that look at a page are skipped."""

from __future__ import annotations

import base64
import hashlib
import re
from typing import TYPE_CHECKING, Any

import pytest

from perfcore_testing import npm

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


@pytest.fixture(scope="session")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The script of axe-core, from the registry of npm."""
    return (npm.install(tmp_path_factory.mktemp("axe"), "axe-core@4") / "axe-core/axe.min.js").read_text()


def violations(window: Any, axe: str) -> Any:
    """What axe-core finds wrong in the open page: pairs of a rule and the elements that break it."""
    if not window.run("typeof axe !== 'undefined'"):
        window.run(axe)
    assert window.run("axe.run().then(({ passes }) => passes.length)") > 5
    return window.run(
        "axe.run().then(({ violations }) => violations.map(({ id, nodes }) => [id, nodes.map((n) => n.html)]))"
    )


def assert_self_contained(page: str) -> None:
    """The page allows only its own script and style, by their hashes, and names no other file."""
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    assert policy[1].startswith("default-src 'none';")
    for tag in ("script", "style"):
        (text,) = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy[1]
    assert not re.search(r"https?:|\bsrc=|@import|url\(", page)
