"""The served pages in a browser: the story of a regression, by mouse and by keyboard, in both themes, and narrow."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from perfcore_testing.measured import sampled_history
from perfcore_testing.pages import violations
from perfcore_testing.project import Project, new_repository

from .conftest import Served, running


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A history in which `./slow` becomes slower, with call stacks of both versions around."""
    project = new_repository(tmp_path_factory.mktemp("story"))
    sampled_history(project)
    with running(project, "--allow-triage") as server:
        yield server


def _follow(window: Any, selector: str, kind: str) -> None:
    """Click a link by its selector, and wait for a page of a kind."""
    box = window.run(
        f"(() => {{ const link = document.querySelector({selector!r}); link.scrollIntoView({{block: 'center'}});"
        " const box = link.getClientRects()[0]; return [box.x + 4, box.y + box.height / 2]; })()"
    )
    window.click(*box)
    window.settle(f"document.readyState === 'complete' && document.body.classList.contains({kind!r})")


def test_the_story_of_a_regression_is_clicked_through(story: Served, window: Any, axe: str, tmp_path: Path) -> None:
    window.open(story.url, "main")
    assert window.run("location.search") == ""
    assert window.run("document.querySelector('.answer').textContent").startswith("Yes: 1 of 3 benchmarks is slower")
    assert violations(window, axe) == []
    _follow(window, "table.overview tbody a", "series")
    window.settle("!!document.querySelector('figure.chart').dataset.drawn")
    assert violations(window, axe) == []
    _follow(window, "header nav a[href$=changes]", "changes")
    assert violations(window, axe) == []
    _follow(window, "tr:not(.group) a[href*='change/']", "change")
    assert "it came with" in window.run("document.querySelector('.answer').textContent")
    assert violations(window, axe) == []
    _follow(window, "ul.links a[href*='diff/']", "diff")
    assert "changed most" in window.run("document.querySelector('.answer').textContent")
    assert window.run("document.querySelectorAll('.picture svg rect').length") > 3
    assert violations(window, axe) == []
    flame = window.run("document.querySelector('a[href*=\"flame/\"]').href")
    window.open(flame, "canvas")
    assert window.problems == []


def test_a_function_leads_to_its_annotated_line(story: Served, window: Any, axe: str) -> None:
    window.open(story.url, "main")
    _follow(window, "header nav a[href$=changes]", "changes")
    _follow(window, "tr.group a", "version")
    assert violations(window, axe) == []
    _tab_to(window, "#sources ~ div tbody a[href*='write.py-']")
    window.press("Enter")
    window.settle("location.pathname.startsWith('/sources/') && document.readyState === 'complete'")
    assert text_of(window, "h1") == "write.py"
    assert "write_2" in text_of(window, ":target")
    assert window.run("document.querySelector(':target').nextElementSibling.id") == "L5"
    assert 0 <= window.run("document.querySelector(':target').getBoundingClientRect().top") < 800
    assert violations(window, axe) == []
    window.press("n")
    assert text_of(window, "#said").startswith("Hot line 1 of 1: line 7")
    for selector, heading in (("p.up a:last-child", "python app.py"), ("p.up a", "Change 7")):
        window.run(f"document.querySelector({selector!r}).focus()")
        window.press("Enter")
        window.settle(f"document.querySelector('h1')?.textContent.includes({heading!r})")
    assert window.problems == []


@pytest.mark.parametrize(("scheme", "width"), [("dark", 1200), ("light", 400), ("dark", 400)])
def test_annotated_sources_fit_and_can_be_read(story: Served, window: Any, axe: str, scheme: str, width: int) -> None:
    window.open(story.url, "main")
    _follow(window, "header nav a[href$=changes]", "changes")
    _follow(window, "tr.group a", "version")
    window.media(prefers_color_scheme=scheme, prefers_reduced_motion="reduce")
    window.resize(width, 800)
    assert violations(window, axe) == []
    for selector in ("#sources ~ p a", "table a[href^='write.py-']"):
        window.open(window.run(f"document.querySelector({selector!r}).href"), "main")
        assert window.run("document.documentElement.dataset.theme") == scheme
        assert violations(window, axe) == []
        assert window.run("document.documentElement.scrollWidth <= document.documentElement.clientWidth") is True
    assert window.problems == []


def test_a_function_of_a_difference_leads_to_its_annotated_line(story: Served, window: Any) -> None:
    window.open(story.url, "main")
    _follow(window, "header nav a[href$=changes]", "changes")
    _follow(window, "tr:not(.group) a[href*='change/']", "change")
    _follow(window, "ul.links a[href*='diff/']", "diff")
    links = window.run("[...document.querySelectorAll('#functions ~ div tbody th a')].map((link) => link.href)")
    assert len(links) == window.run("document.querySelectorAll('#functions ~ div tbody th').length") >= 4
    for link in links:
        window.open(link, "main")
        assert window.run("!!document.querySelector(':target')") is True
    assert window.problems == []


def test_a_comparison_that_was_not_made_yet_is_asked_for(story: Served, window: Any, axe: str) -> None:
    window.open(story.url, "main")
    _follow(window, "header nav a[href$=changes]", "changes")
    _follow(window, "tr.group a", "version")
    window.settle("!document.querySelector('[data-load]')")
    window.settle("!!document.querySelector('section table.sortable')")
    assert "slower" in window.run("document.querySelector('[id^=side-] + p').textContent")
    assert violations(window, axe) == []
    assert window.run(
        "[...document.querySelectorAll('section a')].every((link) => link.href.startsWith(location.origin))"
    )
    assert window.problems == []


@pytest.mark.parametrize(("scheme", "width"), [("dark", 1200), ("light", 400)])
def test_every_page_fits_and_can_be_read(story: Served, window: Any, axe: str, scheme: str, width: int) -> None:
    window.open(story.url, "main")
    origin = window.run("location.origin")
    window.media(prefers_color_scheme=scheme, prefers_reduced_motion="reduce")
    window.resize(width, 800)
    links = set(window.run("[...document.querySelectorAll('a[href]')].map((link) => link.href)"))
    window.open(f"{origin}/changes", "main")
    links |= set(window.run("[...document.querySelectorAll('a[href]')].map((link) => link.href)"))
    for link in sorted({link.partition("#")[0] for link in links} | {f"{origin}/search?q=s"}):
        window.open(link, "main")
        assert violations(window, axe) == [], link
        assert window.run("document.documentElement.scrollWidth <= document.documentElement.clientWidth") is True, link
        assert window.run("document.querySelectorAll('main').length + document.querySelectorAll('h1').length") == 2
    assert window.problems == []
    assert all(address.startswith((origin, "about:")) for address in window.requests)


@pytest.mark.parametrize("width", [1100, 1024])
def test_tables_of_nine_columns_fit_into_the_window_of_a_laptop(story: Served, window: Any, width: int) -> None:
    window.resize(width, 800)
    window.open(story.url, "main")
    window.run("document.querySelectorAll('details').forEach((details) => { details.open = true; })")
    # What a long history has in its widest columns: a decision, an interval, and an age.
    _fill(window, {2: "= same, accepted", 3: "+104.2 %", 4: "+157.3 % to +211.1 %", 6: "27.5 ms", 9: "64 versions ago"})
    assert len(_widths(window)) == 2
    assert all(needed <= available for needed, available in _widths(window)), _widths(window)
    for kind in ("change", "compare"):
        window.open(window.run(f"document.querySelector('main a[href*=\"{kind}/\"]').href"), "main table")
    _fill(window, {2: "? inconclusive", 4: "+104.2 %", 5: "−73.8 % to +142.8 %", 7: "6.53 ms", 8: "9.04 ms"})
    assert all(needed <= available for needed, available in _widths(window)), _widths(window)


def _fill(window: Any, texts: Mapping[int, str]) -> None:
    """Write texts into columns of the tables."""
    for column, text in texts.items():
        cells = f"document.querySelectorAll('.scroll td:nth-child({column})')"
        window.run(f"{cells}.forEach((cell) => {{ cell.textContent = {text!r}; }})")


def _widths(window: Any) -> list[list[int]]:
    """What each table needs, and what it has."""
    widths: list[list[int]] = window.run(
        "[...document.querySelectorAll('.scroll')].map((box) => [box.scrollWidth, box.clientWidth])"
    )
    return widths


def test_pages_are_used_by_keyboard(story: Served, window: Any) -> None:
    window.open(story.url, "main")
    window.press("Tab")
    assert window.run("document.activeElement.className") == "skip"
    window.press("Enter")
    assert window.run("document.activeElement.id") == "main"
    _tab_to(window, "a[href*='series/']")
    window.press("Enter")
    window.settle("document.body.classList.contains('series') && document.readyState === 'complete'")
    window.settle("!!document.querySelector('figure.chart').dataset.drawn")
    _tab_to(window, "canvas.plot")
    window.press("ArrowDown", "ArrowDown")  # the first one is the release
    assert "slower" in window.run("document.querySelector('figure p.at').textContent")
    window.press("Enter")
    window.settle("document.body.classList.contains('version')")


def _tab_to(window: Any, selector: str) -> None:
    for _ in range(60):
        window.press("Tab")
        if window.run(f"document.activeElement.matches({selector!r})"):
            return
    raise AssertionError(f"the Tab key does not reach {selector}")


def text_of(window: Any, selector: str) -> str:
    return str(window.run(f"document.querySelector({selector!r}).textContent"))


def test_a_change_is_decided_about_in_the_page(story: Served, window: Any, axe: str) -> None:
    window.open(story.url, "main")
    _follow(window, "table.overview td a[href*='change/']", "change")
    window.run("document.querySelector('select[name=state]').value = 'confirmed'")
    window.run("document.querySelector('input[name=why]').value = 'seen again'")
    window.run("window.before = true")
    window.run("document.querySelector('form.decide button').click()")
    window.settle("!window.before && document.readyState === 'complete'")
    window.settle("document.body.textContent.includes('seen again')")
    window.run("document.querySelector('figure.chart').scrollIntoView()")
    window.settle("!!document.querySelector('figure.chart').dataset.drawn")
    window.run("document.querySelector('canvas.plot').focus()")
    window.press("ArrowDown", "ArrowDown")  # the first one is the release
    assert re.search(r"slower .* confirmed by [^;]+: seen again", text_of(window, "figure p.at"))
    assert "▲ slower" in text_of(window, "figure table")
    assert "seen again" in text_of(window, "figure table")
    assert violations(window, axe) == []
    assert window.problems == []


def test_what_is_measured_appears_while_the_page_is_open(story: Served, window: Any, project: Project) -> None:
    project.commit("Measured")
    with running(project) as server:
        window.open(server.url, "main")
        window.open(f"http://{server.host}/live", "#live")
        assert "Nothing is measured now" in window.run("document.querySelector('.answer').textContent")
        project.collect("true", repeat=3)
        window.settle("document.querySelectorAll('#live tbody tr').length === 1")
        assert "complete" in window.run("document.querySelector('#live tbody').textContent")
        assert window.problems == []
