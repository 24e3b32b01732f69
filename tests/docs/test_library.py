"""`docs/library.md`, word for word: every script is written, every command typed."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import pytest
from perfcore_testing.project import Project

from perfcore.library import History


def test_the_scripts_print_what_the_page_says(
    project: Project, page_of: Callable[[str], Any], play: Callable[[Any], None]
) -> None:
    for needed in ("polars", "pandas"):
        if find_spec(needed) is None:
            pytest.skip(f"{needed} is not installed beside this interpreter")
    page = page_of("library.md")
    (project.path / ".gitignore").write_text("*.py\n")
    project.commit("Second")
    for name, text in page.files.items():
        (project.path / name).write_text(text)
    assert len(page.commands) > 5
    play(page)


def test_the_methods_that_it_names_are_there(page_of: Callable[[str], Any]) -> None:
    text = page_of("library.md").text
    public = {name for name in vars(History) if not name.startswith("_")}
    assert {name for name in public if f"{name}(" not in text and f"`{name}`" not in text} <= {"version"}
