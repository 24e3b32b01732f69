"""The guides: every file is written, every command of a session typed, and what is printed compared."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.skipif(os.name != "posix", reason="their commands are those of a POSIX shell")


@pytest.mark.parametrize("guide", ["start.md", "c-project.md", "python-suite.md"])
def test_the_commands_of_a_guide_print_what_it_says(
    guide: str, page_of: Callable[[str], Any], follow: Callable[[Any], None]
) -> None:
    page = page_of(guide)
    if "Makefile" in page.files and not (shutil.which("make") and shutil.which("cc")):
        pytest.skip("make and a C compiler are not installed")
    assert len(page.commands) > 5
    follow(page)
