"""The site as a reader opens it: from a disk, in a real browser, with a pointer, by keys, in the dark, on a phone."""

from __future__ import annotations

import base64
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from perfcore_command_publish import engine
from perfcore_testing.measured import measure, sampled_history
from perfcore_testing.pages import violations
from perfcore_testing.project import Project, new_repository

from perfcore.library import open_repository

DRAWN = "main h1"


@pytest.fixture(scope="module")
def site(measured_template: Project, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("published") / "a site with spaces #1"
    engine.publish(open_repository(measured_template.path).repository, folder)
    return folder


def follow(window: Any, selector: str, drawn: str = DRAWN) -> None:
    """Click a link as a person does, and wait for the page that it leads to."""
    before = window.run("location.href")
    window.run(f"document.querySelector({selector!r}).scrollIntoView({{block: 'center'}})")
    x, y = (
        window.run(
            f"(({{left, top, width, height}}) => {side})(document.querySelector({selector!r}).getBoundingClientRect())"
        )
        for side in ("left + width / 2", "top + height / 2")
    )
    window.click(x, y)
    window.settle(f"location.href !== {before!r} && document.readyState === 'complete'")
    window.settle(f"!!document.querySelector({drawn!r})")


def heading(window: Any) -> str:
    return str(window.run("document.querySelector('main h1').textContent"))


def test_the_story_is_clicked_through_from_the_disk(window: Any, site: Path) -> None:
    window.open((site / "index.html").as_uri(), DRAWN)
    assert heading(window) == "Is it slower?"
    assert window.run("document.querySelector('.answer').textContent").startswith("Yes: 1 of 2 benchmarks is slower")
    follow(window, 'main a[href^="series/"]', "figure[data-drawn]")
    assert "./slow" in heading(window)
    assert window.run("document.querySelector('canvas.plot').width") > 300
    follow(window, 'main a[href*="change/"]', "figure[data-drawn]")
    assert "./slow" in heading(window)
    follow(window, 'main a[href*="compare/"]', "table")
    assert "→" in heading(window)
    follow(window, 'nav a[href$="measure.html"]')
    assert heading(window) == "Can I trust it?"
    follow(window, ".brand a")
    assert heading(window) == "Is it slower?"
    assert window.problems == []
    assert all(address.startswith("file:///") for address in window.requests)


@pytest.fixture(scope="module")
def sampled_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site with annotated sources."""
    project = new_repository(tmp_path_factory.mktemp("sampled"))
    sampled_history(project)
    folder = tmp_path_factory.mktemp("published") / "a site with spaces #2"
    engine.publish(open_repository(project.path).repository, folder)
    return folder


def test_a_function_is_followed_to_its_annotated_line_from_the_disk(window: Any, sampled_site: Path) -> None:
    window.open((sampled_site / "changes.html").as_uri(), DRAWN)
    follow(window, 'main tr.group a[href*="version/"]')
    follow(window, '#sources ~ div tbody a[href*="write.py-"]', "table.source")
    assert window.run("document.querySelector('h1').textContent") == "write.py"
    assert "write_2" in window.run("document.querySelector(':target').textContent")
    assert window.run("document.querySelector(':target').nextElementSibling.id") == "L5"
    follow(window, "p.up a:last-child", "#flame")
    follow(window, "p.up a")
    assert "Change 7" in heading(window)
    follow(window, 'main a[href*="compare/"]', "table")
    follow(window, 'main a[href*="diff/"]', "#functions")
    follow(window, '#functions ~ div tbody a[href*="app.py-"]', "table.source")
    assert window.run("document.querySelector(':target').nextElementSibling.id") == "L6"
    assert window.problems == []
    assert all(address.startswith("file:///") for address in window.requests)


@pytest.mark.parametrize(("width", "scheme"), [(1200, "dark"), (400, "light"), (400, "dark")])
def test_annotated_sources_have_no_finding_of_axe(
    window: Any, sampled_site: Path, axe: str, width: int, scheme: str
) -> None:
    window.resize(width, 800)
    window.media(prefers_color_scheme=scheme, prefers_reduced_motion="reduce")
    for page in sorted((sampled_site / "sources").rglob("*.html")):
        window.open(page.as_uri(), "main")
        assert window.run("document.documentElement.scrollWidth") <= width, f"{page.name} scrolls sideways"
        assert violations(window, axe) == [], page.name
    assert window.problems == []


def test_it_works_by_keys_alone(window: Any, site: Path) -> None:
    page = next((site / "series").rglob("cpu.html"))
    window.open(page.as_uri(), "figure[data-drawn]")
    window.press("Tab")
    assert window.run("document.activeElement.textContent") == "Skip to the content"
    for _ in range(30):
        window.press("Tab")
        if window.run("document.activeElement.matches('canvas.plot')"):
            break
    assert window.run("document.activeElement.matches('canvas.plot')")
    window.press("End", "ArrowLeft")
    assert window.run("document.querySelector('figure [role=status]').textContent")
    window.open((site / "index.html").as_uri(), DRAWN)
    for _ in range(40):
        window.press("Tab")
        if window.run("document.activeElement.matches('main a[href^=\"series/\"]')"):
            break
    window.press("Enter")
    window.settle("location.href.includes('/series/') && !!document.querySelector('figure[data-drawn]')")
    assert window.problems == []


@pytest.mark.parametrize(("width", "scheme"), [(1200, "light"), (1200, "dark"), (400, "light"), (400, "dark")])
def test_no_page_has_a_finding_of_axe(window: Any, site: Path, axe: str, width: int, scheme: str) -> None:
    window.resize(width, 800)
    window.media(prefers_color_scheme=scheme, prefers_reduced_motion="reduce")
    kinds = ["index.html", "changes.html", "measure.html"]
    kinds += [str(sorted((site / kind).rglob("*.html"))[0]) for kind in ("series", "change", "version", "compare")]
    for name in kinds:
        window.open((site / name).as_uri(), DRAWN)
        if "/series/" in name or "/change/" in name:
            window.settle("!!document.querySelector('figure[data-drawn]')")
        assert window.run("document.documentElement.scrollWidth") <= width, f"{name} scrolls sideways"
        assert window.problems == []
        assert violations(window, axe) == [], name
        window.problems.clear()  # axe fetches the style, which the policy of the page refuses


SIZE_ENDS = """Math.max(...[...document.querySelectorAll('main tbody td')]
    .filter((cell) => /^[+\\u2212][0-9.]+ %$/.test(cell.textContent.trim()))
    .map((cell) => cell.getBoundingClientRect().right))"""
"""Where the sizes of changes end."""


def test_a_telephone_shows_the_size_of_a_change_without_scrolling(
    window: Any, tmp_path: Path, project: Project
) -> None:
    measure(project, {"./a-program-of --a-long-name": lambda at: 4_000_000 * (1 + (at >= 6))}, versions=12)
    engine.publish(open_repository(project.path).repository, tmp_path / "site")
    window.resize(400, 800)
    for name in ("index.html", "changes.html"):
        window.open((tmp_path / "site" / name).as_uri(), DRAWN)
        assert 100 < window.run(SIZE_ENDS) <= 400, name


def test_data_that_are_missing_are_said_where_the_chart_would_be(window: Any, site: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(site, tmp_path / "site"))
    shutil.rmtree(copy / "data")
    page = next((copy / "series").rglob("cpu.html"))
    window.open(page.as_uri(), "figure .problem")
    assert "is missing" in window.run("document.querySelector('figure .problem').textContent")
    assert window.run("document.querySelectorAll('figure table tbody tr').length") >= 1, "the tables stay"


def test_a_flame_graph_is_printed_across_and_the_other_pages_upright(window: Any, sampled_site: Path) -> None:
    """Its letters would be too small to read on a page that stands."""
    sizes = {}
    for page in (next(sampled_site.glob("diff/**/*.html")), sampled_site / "index.html"):
        window.open(page.as_uri(), DRAWN)
        document = base64.b64decode(window.call("Page.printToPDF", preferCSSPageSize=True)["data"])
        boxes = re.findall(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", document)
        sizes[page.name] = {float(width) > float(height) for width, height in boxes}
    upright_and_across, upright = sizes.values()
    assert upright_and_across == {False, True}
    assert upright == {False}
