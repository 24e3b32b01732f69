"""Links between the pages of the project lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).parents[2]
_FENCED = re.compile(r"^( *)(```|~~~).*?^\1\2", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
_DEFINED = re.compile(r"^\[[^\]]+\]:\s*(\S+)", re.MULTILINE)
_HEADING = re.compile(r"^#{1,6}\s+(.*)$", re.MULTILINE)


def _pages() -> list[str]:
    """All pages but those in hidden folders, where environments and caches are."""
    found = (path.relative_to(ROOT) for path in ROOT.rglob("*.md"))
    return sorted(path.as_posix() for path in found if not any(part.startswith(".") for part in path.parts))


PAGES = _pages()


def prose(path: Path) -> str:
    return _FENCED.sub("", path.read_text(encoding="utf-8"))


def anchors(path: Path) -> set[str]:
    """The names that GitHub gives to the headings of a page."""
    headings = (re.sub(r"`|\[([^\]]*)\]\([^)]*\)", r"\1", heading) for heading in _HEADING.findall(prose(path)))
    return {re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in headings}


def broken(page: Path) -> list[str]:
    text, found = prose(page), []
    for link in (*_LINK.findall(text), *_DEFINED.findall(text)):
        place, _, anchor = unquote(link).partition("#")
        if re.match(r"[a-z][a-z0-9+.-]*:", place):
            continue
        target = page.parent / place if place else page
        known = target.exists() and target.resolve().is_relative_to(ROOT)
        if not known or (anchor and anchor not in anchors(target)):
            found.append(link)
    return found


def test_there_are_pages() -> None:
    assert {"README.md", "docs/formats.md", "docs/plugins/README.md"} <= set(PAGES)


@pytest.mark.parametrize("page", PAGES)
def test_the_links_of_a_page_lead_somewhere(page: str) -> None:
    assert broken(ROOT / page) == []


def test_a_link_that_leads_nowhere_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A title\n\n[one](none.md) [two](page.md) [three](#a-title) [four](#other)\n")
    assert broken(page) == ["none.md", "page.md", "#a-title", "#other"], "outside of the project"
