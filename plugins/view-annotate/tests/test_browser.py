"""The pages as people use them, in a real browser."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from perfcore_testing import hostile, profiles
from perfcore_testing.output import FakeOutput
from perfcore_testing.pages import violations
from perfcore_view_annotate import AnnotateView

from perfcore.model import MinorVersion, ViewData
from perfcore.profile.stacks import Frame, StackBuilder
from perfcore.profile.table import column, table

CANARY = "window.hacked = true"
HOSTILE = (*hostile.NAMES, f"</script><script>{CANARY}</script>", f'"><img src=x onerror="{CANARY}">')
CODE = "".join(f"    step_{n}()  # {'long ' * n}\n" for n in range(60))
TEXT = f"def work():\n{CODE}def main():\n    work()\n"
DRAWN = "main"
Opener = Callable[[str], None]


@pytest.fixture
def opened(window: Any, tmp_path: Path) -> Opener:
    """Writes the folder, and opens the page whose name begins with this."""
    builder = StackBuilder()
    main = Frame("main", "app.py", 63, 62)
    stacks = [((main, Frame("work", "app.py", line, 1)), 10 * line) for line in (3, 20, 50)]
    stacks += [
        (
            (
                main,
                Frame("sort", "xs:sort"),
            ),
            70,
        ),
        ((main, Frame("tiny", "app.py", 5, 4)), 1),
    ]
    stacks += [((main, Frame(name, name, 1, 1)), 20) for name in HOSTILE]
    numbers = [builder.add(frames) for frames, _ in stacks]
    values = column("samples", [amount for _, amount in stacks], role="value")
    resources = table("resources", [column("stack", numbers), values])
    profile = profiles.sampled().replace_tables(resources=resources, **builder.tables())
    output = FakeOutput()
    output.path = tmp_path / "site"
    AnnotateView().render(
        ViewData(
            profiles=(profile,),
            names=("0@p",),
            versions=(MinorVersion("a" * 40),),
            source=lambda version, path: {"app.py": TEXT, HOSTILE[-1]: CANARY}.get(path, "").encode() or None,
        ),
        output,
    )

    def opened(name: str) -> None:
        (path,) = (tmp_path / "site").glob(f"{name}*.html")
        window.open(path.as_uri(), DRAWN)

    return opened


@pytest.mark.parametrize("width", [400, 1400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["index", "app.py"])
def test_pages_are_accessible(window: Any, opened: Opener, axe: str, name: str, scheme: str, width: int) -> None:
    """In both themes; on a phone nothing but tables scrolls aside."""
    window.media(prefers_color_scheme=scheme)
    window.resize(width, 800)
    opened(name)
    assert violations(window, axe) == []
    assert window.run("document.documentElement.scrollWidth") <= width
    assert window.run("document.documentElement.dataset.theme") == scheme
    assert window.problems == []
    assert len(window.requests) == 1  # the page


def test_no_name_runs(window: Any, opened: Opener) -> None:
    opened("index")
    links = window.run("[...document.querySelectorAll('.top a')].map((link) => link.href)")
    assert len(set(links)) > len(HOSTILE)
    pages = {link.partition("#")[0] for link in links}
    for link in sorted(pages):
        window.open(link, DRAWN)
        assert window.run("window.hacked === undefined && document.images.length === 0")
    assert window.problems == []
    assert {request.partition("#")[0] for request in window.requests[1:]} <= pages


def test_keys_go_from_hot_line_to_hot_line(window: Any, opened: Opener) -> None:
    opened("app.py")

    def line() -> Any:
        return window.run("document.querySelector('tr.now')?.cells[0].textContent")

    assert line() is None
    visited = []
    for key in ("n", "n", "n", "n", "p"):
        window.press(key)
        visited.append(line())
    assert visited == ["3", "20", "50", "3", "50"]
    assert "Hot line 3 of 3: line 50, own" in window.run("document.getElementById('said').textContent")
    top = window.run("document.querySelector('tr.now').getBoundingClientRect().top")
    assert 0 < top < 800


def test_calls_can_be_hidden(window: Any, opened: Opener) -> None:
    opened("app.py")
    shown = "getComputedStyle(document.querySelector('tr.calls')).display !== 'none'"
    assert window.run(shown)
    window.press("c")
    assert not window.run(shown)
    assert window.run("document.getElementById('calls').getAttribute('aria-pressed')") == "false"
    window.run("document.getElementById('calls').click()")
    assert window.run(shown)


def test_links_lead_to_lines(window: Any, opened: Opener) -> None:
    """From the graph to the function, from there to the line that calls it."""
    opened("index")
    window.run("document.querySelector('#flame a').focus()")
    window.press("ArrowDown")
    name = window.run("document.activeElement.querySelector('title').textContent")
    assert name.startswith("work ")
    window.press("ArrowRight", "ArrowLeft", "ArrowUp", "ArrowDown")
    assert window.run("document.activeElement.querySelector('title').textContent") == name
    window.press("Enter")
    window.settle("location.hash.startsWith('#f-')")
    assert "work" in window.run("document.querySelector('tr:target').textContent")
    window.run("document.querySelector('tr:target a').click()")
    window.settle("location.hash === '#L63'")
    assert "work()" in window.run("document.querySelector('tr:target').textContent")


def test_the_theme_is_that_of_all_pages(window: Any, opened: Opener) -> None:
    opened("app.py")
    window.run("document.getElementById('theme').click()")
    opened("index")
    assert window.run("document.documentElement.dataset.theme") == "dark"
    window.run("localStorage.clear()")


def test_tables_are_sorted_and_filtered(window: Any, opened: Opener) -> None:
    opened("index")
    first = "document.querySelector('table.top tbody tr:not([hidden]) th').textContent"
    window.run("document.querySelectorAll('table.top thead button')[2].click()")
    assert window.run(first) == "main"
    window.run("document.querySelector('input[type=search]').focus()")
    window.write("sor")
    assert window.run(first) == "sort"
