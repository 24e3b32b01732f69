"""`docs/library.md`, word for word: every script is written, every command typed."""

from __future__ import annotations

import sys
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


def test_one_script_measures_checks_compares_and_bisects(project: Project, page_of: Callable[[str], Any]) -> None:
    """A step by a factor of six, in CPU time: no load of the machine hides it."""
    (script,) = (text for name, text in page_of("library.md").files.items() if name == "investigate.py")
    (project.path / ".gitignore").write_text("investigate.py\n")
    for number in range(8):
        steps = 300_000 if number < 5 else 3_000_000  # far more than the start of the interpreter
        project.commit(f"Change {number}", work__py=f"# {number}\nsum(number * number for number in range({steps}))\n")
    (project.path / "investigate.py").write_text(script)
    done = project.run(sys.executable, "investigate.py")
    assert done.code == 0, done
    assert len(script.splitlines()) <= 30
    assert "HEAD against the oldest: degradation" in done.lines
    assert done.lines[-1] == "found: ['Change 5']"
    (slow,) = (line for line in done.lines if line.startswith("slower since"))
    assert project.git("log", "-1", "--format=%s", slow.split()[-1]).out.strip() == "Change 5"


def test_the_methods_that_it_names_are_there(page_of: Callable[[str], Any]) -> None:
    text = page_of("library.md").text
    public = {name for name in vars(History) if not name.startswith("_")}
    assert {name for name in public if f"{name}(" not in text and f"`{name}`" not in text} <= {"version"}
