"""The documentation as a site: it builds without a warning, opens by double click, and everybody can read it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from perfcore_testing import pages

from perfcore.errors import PerfError
from perfcore.locks import Lock

axe, browser, window = pages.axe, pages.browser, pages.window
ROOT = Path(__file__).parents[2]
MAIN = ("index", "start", "commands/check", "configuration", "gallery")


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built once for all processes of the tests."""
    for package in ("sphinx", "myst_parser", "furo"):
        pytest.importorskip(package, reason=f"{package} is not installed, of which the site is made")
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    out = shared / "documentation"
    with Lock(shared / "documentation.lock").hold(600, PerfError("the site is not built in ten minutes")):
        if not out.exists():
            command = [sys.executable, "-W", "ignore", str(ROOT / "docs" / "site.py"), str(out)]
            done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
            assert done.returncode == 0, "\n".join(sorted(set(done.stderr.splitlines())))
    return out


@pytest.fixture
def look(window: Any, built: Path) -> Iterator[Callable[..., Any]]:
    """Opens a page of the site as a file, with the width of the window and the colours that its user wants."""

    def opened(page: str, width: int = 1200, colors: str = "light", drawn: str = "article", query: str = "") -> Any:
        window.resize(width, 800)
        window.media(prefers_color_scheme=colors)
        window.open((built / page).as_uri() + query, drawn)
        assert window.problems == [], page
        return window

    yield opened
    assert [address for address in window.requests if re.match("https?:", address)] == [], "it needs no network"


def broken_rules(window: Any, axe: str) -> Any:
    """Those of axe-core. It asks for style sheets again, which a page that was opened as a file may not."""
    broken = pages.violations(window, axe)
    window.call("Page.navigate", url="about:blank")
    window.frames()
    window.problems.clear()
    return broken


@pytest.mark.parametrize("colors", ["light", "dark"])
def test_a_page_can_be_read_by_everybody(look: Callable[..., Any], axe: str, colors: str) -> None:
    for page in MAIN:
        assert broken_rules(look(f"docs/{page}.html", colors=colors), axe) == [], page


def test_a_page_fits_a_telephone(look: Callable[..., Any], axe: str) -> None:
    for page in MAIN:
        window = look(f"docs/{page}.html", width=400)
        assert window.run("document.documentElement.scrollWidth") <= 400, page
        assert broken_rules(window, axe) == [], page


def test_a_word_is_searched_by_double_click_and_leads_to_its_page(look: Callable[..., Any], built: Path) -> None:
    window = look("docs/index.html")
    form = window.run("document.querySelector('input[name=q]').form.action").removeprefix(f"{built.as_uri()}/")
    window = look(form, query="?q=sandwich", drawn="#search-results li a")
    links = window.run("[...document.querySelectorAll('#search-results li a')].map((a) => [a.textContent, a.href])")
    assert {"Gallery", "perfcore-view-flamegraph"} <= {title for title, _ in links}
    page = dict(links)["Gallery"].partition("?")[0].partition("#")[0].removeprefix(f"{built.as_uri()}/")
    assert look(page).run("document.title").startswith("Gallery")


def test_the_front_leads_to_the_first_page(look: Callable[..., Any]) -> None:
    window = look("index.html", drawn="article")
    window.settle("location.pathname.endsWith('docs/index.html')")


def test_a_command_has_a_page_and_a_manual_page_with_the_options_of_plugins(built: Path) -> None:
    page = (built / "docs/commands/show.html").read_text(encoding="utf-8")
    manual = (built / "man/man1/perfcore-show.1").read_text(encoding="utf-8")
    assert 'id="perf-show-flamegraph"' in page
    assert "--min-share" in page
    assert "\\-\\-min\\-share PERCENT" in manual
    assert manual.count(".SH ") > 10
    assert ".SH NAME\nperfcore-show \\- Show profiles in a view\n" in manual
    names = {path.stem for path in (built / "man/man1").iterdir()}
    assert {"perfcore", "perfcore-check", "perfcore-collect", "perfcore-bisect"} <= names
