"""The page of suites: its suite is measured, and its session prints what the page says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from perfcore_testing.project import Project


def test_the_session_prints_what_the_page_says(
    page_of: Callable[[str], Any], play: Callable[[Any], None], project: Project
) -> None:
    page = page_of("benchmarks.md")
    for name, text in page.files.items():
        project.write(name, text)
    assert len(page.commands) == 2
    play(page)
