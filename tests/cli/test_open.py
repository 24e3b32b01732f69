"""`perf show --open`: a browser gets the finished file."""

from __future__ import annotations

from pathlib import Path

import pytest
from perfcore_testing import profiles
from perfcore_testing.project import Project

from perfcore.library import open_repository


@pytest.fixture
def browser(project: Project, tmp_path: Path) -> Path:
    """A browser that notes what it was given, and a profile to look at."""
    script = tmp_path / "browser"
    script.write_text(f'#!/bin/sh\nprintf %s "$1" >"{tmp_path}/opened"\n')
    script.chmod(0o755)
    project.env["BROWSER"] = f"{script} %s"
    project.collect("true")
    return tmp_path / "opened"


def test_the_file_that_was_asked_for_is_opened(project: Project, browser: Path) -> None:
    project.perf("show", "0@p", "table", "--format", "csv", "-o", "a table.csv", "--open")
    assert browser.read_text() == (project.path / "a table.csv").as_uri()


def test_without_a_file_a_page_is_made_for_it(project: Project, browser: Path) -> None:
    for _ in range(2):
        project.perf("show", "0@p", "table", "--format", "csv", "--open")
    page = Path(browser.read_text().removeprefix("file://"))
    assert page.parent == project.path / ".perf" / "tmp"
    assert "wall" in page.read_text()
    assert len(list(page.parent.iterdir())) == 1


def test_a_view_that_fails_opens_nothing(project: Project, browser: Path) -> None:
    project.perf("show", "0@p", "table", "--table", "nothing", "--open", code=None)
    assert not browser.exists()


def test_a_page_of_a_profile_without_a_view_shows_its_runs(project: Project, browser: Path) -> None:
    project.perf("show", "0@p", "--open")
    page = Path(browser.read_text().removeprefix("file://"))
    assert "<h1>Runs</h1>" in page.read_text()
    project.perf("show", "0@p", "-o", "runs.svg")
    assert (project.path / "runs.svg").read_text().startswith("<?xml")


def test_a_page_of_a_profile_with_stacks_is_a_flame_graph(project: Project) -> None:
    open_repository(project.path).save(profiles.sampled())
    project.perf("show", "0@p", "-o", "stacks.html")
    assert "Flame graph." in (project.path / "stacks.html").read_text()


def test_the_history_opens_as_a_page(project: Project, browser: Path) -> None:
    project.perf("add", "0@p")
    project.perf("history", "wall", "--open")
    page = Path(browser.read_text().removeprefix("file://"))
    assert "<figure" in page.read_text()
