"""What stands for the pages while a history is compared for the first time."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from perfcore_testing.measured import STEP, measure
from perfcore_testing.pages import violations
from perfcore_testing.project import Project, new_repository

from .conftest import Served, running

HELD = """
import sys, time
from pathlib import Path
from perfcore_site_kit.site import Site

refresh = Site.refresh


def held(site):
    while Path("held").exists():
        time.sleep(0.02)
    if Path("broken").exists():
        raise ValueError("broken")
    return refresh(site)


Site.refresh = held
from perfcore.cli import main

sys.exit(main())
"""
"""A command whose comparison takes as long as there is a file of this name."""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    project = new_repository(tmp_path)
    measure(project, {"./slow": lambda at: 5_000_000 * (1 + (at >= STEP))})
    return project


@pytest.fixture
def held(project: Project) -> Iterator[Path]:
    """The file that holds the comparison up."""
    path = project.path / "held"
    path.touch()
    yield path
    path.unlink(missing_ok=True)  # else the server would not end


@pytest.fixture
def server(project: Project, held: Path) -> Iterator[Served]:
    with running(project, program=(sys.executable, "-c", HELD), wait=False) as server:
        yield server
        held.unlink(missing_ok=True)


def test_each_address_says_that_it_waits_until_its_page_is_there(server: Served, held: Path) -> None:
    cookie = server.cookie()
    for address in ("/", "/changes", "/series/any/thing", "/version/0123"):
        answer = server.ask(address, cookie=cookie)
        assert (answer.status, answer.headers["retry-after"]) == (503, "1")
        assert "compared for the first time" in answer.text
        assert "etag" not in answer.headers
    assert server.ask("/").status == 403
    held.unlink()
    ready = server.until_ready()
    assert ready.status == 200
    assert "Yes: 1 of 1 benchmark" in ready.text
    assert "etag" in ready.headers


def test_what_goes_wrong_is_told_and_tried_again(server: Served, held: Path, project: Project) -> None:
    broken = project.path / "broken"
    broken.touch()
    cookie = server.cookie()
    assert server.ask("/", cookie=cookie).status == 503
    held.unlink()
    assert server.until_ready().status == 500
    broken.unlink()
    assert server.until_ready().status == 200


def test_the_page_comes_by_itself(server: Served, held: Path, window: Any, axe: str) -> None:
    window.open(server.url, "main")
    answer = "(document.querySelector('.answer')?.textContent ?? '')"
    assert "compared for the first time" in window.run(answer)
    assert violations(window, axe) == []
    held.unlink()
    window.settle(f"{answer}.startsWith('Yes: 1 of 1 benchmark')")
    assert [text for text in window.problems if "503" not in text] == []
