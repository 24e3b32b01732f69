"""What the page of a plugin says to install is enough for the commands below it."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
INSTALLS = re.compile(r"^(?:\$ |    )?pip install (?P<words>[^#\n]*).*(?P<rest>(?:\n(?!\s*\n|```).*)*)", re.MULTILINE)
NO_STORE = ("testing",)  # `perf plugins new` and `perf plugins check` need none


def _uses_perf(page: Path) -> bool:
    rests = (found["rest"] for found in INSTALLS.finditer(page.read_text()))
    return any(re.search(r"^\s*(?:\$ )?perf ", rest, re.MULTILINE) for rest in rests)


PAGES = [
    page for page in sorted(ROOT.glob("plugins/*/README.md")) if page.parent.name not in NO_STORE and _uses_perf(page)
]


def test_pages_are_found() -> None:
    assert len(PAGES) >= 20


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.parent.name)
def test_a_page_installs_perf_and_its_plugin(page: Path) -> None:
    """A plugin alone has no storage and no executor, so that `perf` can neither measure nor show."""
    requirements = tomllib.loads((ROOT / "plugins/standard/pyproject.toml").read_text())["project"]["dependencies"]
    usual = {requirement.partition(">=")[0] for requirement in requirements}
    words = {word for found in INSTALLS.finditer(page.read_text()) for word in found["words"].split()}
    assert "perfcore-standard" in words
    assert f"perfcore-{page.parent.name}" in words | usual
