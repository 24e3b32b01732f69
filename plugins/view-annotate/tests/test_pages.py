"""The pages of annotated sources one by one, as sites ask for them."""

from __future__ import annotations

import html
import re

import pytest
from perfcore_testing import hostile
from perfcore_view_annotate import AnnotateView
from perfcore_view_annotate.pages import AnnotatedPages
from perfcore_view_annotate.profile_tree import profile_tree
from perfcore_view_annotate.sources import Sources
from perfcore_view_annotate.view import AnnotateSettings
from perfcore_view_kit.source_pages import INDEX, SourcePages, SourcePagesView

from perfcore.model import ViewData
from perfcore.profile.stacks import Frame

from .test_annotate import PROGRAM, VERSION, profile, subject

HOME = ("The <version>", "../../version/a.html")


def pages(data: ViewData | None = None, most_bytes: int = 10**6) -> SourcePages:
    return AnnotateView().source_pages(data or subject(profile(*PROGRAM)), most_bytes=most_bytes)


def test_the_view_offers_pages() -> None:
    assert isinstance(AnnotateView(), SourcePagesView)
    other = AnnotateView(AnnotateSettings(metric="wall"))
    assert other.source_pages_revision != AnnotateView().source_pages_revision


def test_every_page_links_the_page_above_and_pages_that_there_are() -> None:
    made = pages()
    assert INDEX in made.names
    for name in made.names:
        text = made.render(name, HOME)
        assert f'<a href="{HOME[1]}">The &lt;version&gt;</a>' in text
        ids = {other: set(re.findall(r' id="([^"]*)"', made.render(other, HOME))) for other in made.names}
        for link in re.findall(r'href="([^"]*)"', text):
            page, _, anchor = html.unescape(link).partition("#")
            assert page == HOME[1] or not anchor or anchor in ids[page or name]


def test_functions_lead_to_the_lines_where_they_begin() -> None:
    made = pages()
    top = made.top(2)
    assert [(link.name, link.file, link.line, link.own, link.total) for link in top] == [
        ("sort", "xs:sort", 0, "60.00", "60.00"),
        ("work", "lib/work.py", 1, "30.00", "90.00"),
    ]
    assert made.addresses()["work", "lib/work.py"] == top[1].address
    page, _, anchor = top[1].address.partition("#")
    assert re.search(rf'<tr class="begin" id="{anchor}">.*?<tr id="L1"', made.render(page, HOME), re.DOTALL)


def test_a_page_that_would_be_too_large_shows_the_lines_that_took_something() -> None:
    lines = [f"value_{number} = {number}  # {'x' * 60}" for number in range(1, 3_001)]
    hot = Frame("work", "big.py", 1_500, 1_499)
    data = subject(profile(((hot,), 5)), {"big.py": "\n".join(lines).encode()})
    (name,) = (name for name in pages(data).names if name != INDEX)
    whole, small = pages(data, 10**6).render(name, HOME), pages(data, 60_000).render(name, HOME)
    assert "value_1 =" in whole
    assert "so that the page stays small" not in whole
    assert len(small.encode()) <= 60_000 < len(whole.encode())
    assert "value_1500 =" in small
    assert "value_1 =" not in small
    assert "Only lines near those that took something are shown, so that the page stays small." in small


def test_an_index_that_would_be_too_large_leaves_out_files_and_says_so() -> None:
    stacks = [((Frame(f"f{number}", f"file{number}.py", 2, 1),), 1 + number % 7) for number in range(2_000)]
    data = subject(profile(*stacks), {})
    small = pages(data, 290_000).render(INDEX, HOME)
    assert len(small.encode()) <= 290_000 < len(pages(data, 10**9).render(INDEX, HOME).encode())
    assert "files with less are left out, so that the page stays small" in small


def test_names_are_never_markup_nor_paths() -> None:
    stacks = [((Frame(name, f"{name}.py", 2, 1),), 3) for name in hostile.NAMES]
    made = pages(subject(profile(*stacks), {}))
    for name in made.names:
        assert re.fullmatch(r"[a-z0-9][a-z0-9_.-]{0,79}", name)
        text = made.render(name, HOME)
        assert hostile.unsafe(text) == set()
        assert not any(tag in text for tag in hostile.TAGS)


def test_a_page_that_there_is_not_is_an_error() -> None:
    made = pages()
    for name in ("../index.html", "", "app.py", "/etc/passwd"):
        with pytest.raises(KeyError):
            made.render(name, HOME)


def test_a_folder_has_no_page_above_and_no_limit() -> None:
    tree = profile_tree(profile(*PROGRAM), None)
    made = AnnotatedPages(tree, Sources(None, VERSION, None), title="A title", version="1.0")
    assert 'class="up"' not in made.render(INDEX)
    assert made.missing == 2
