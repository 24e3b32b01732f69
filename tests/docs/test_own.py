"""`docs/plugins/own.md`, word for word: plugins that stay in the project."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from perfcore_testing.project import Project


def test_a_plugin_of_the_project_works_as_the_page_says(
    project: Project, page_of: Callable[[str], Any], play: Callable[[Any], None]
) -> None:
    page = page_of("plugins/own.md")
    assert set(page.files) == {"tools/plugins.py", ".perfcore.yml"}
    for name, text in page.files.items():
        project.write(name, text)
    assert len(page.commands) > 4
    play(page)
