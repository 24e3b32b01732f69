"""What all pages of a folder share: the frame, styles and script of `view-kit`, and names of pages and anchors."""

from __future__ import annotations

import functools
import hashlib
import html
from pathlib import Path

from perfcore_view_kit.page import page, source
from perfcore_view_kit.site import page_name
from perfcore_view_kit.source_pages import INDEX

__all__ = ["INDEX", "anchor", "file_page", "header", "index_page", "page_of", "revision", "up"]

_PACKAGE = "perfcore_view_annotate"
_TITLE, _BODY = "\ue000", "\ue001"  # for private use (Unicode): no text that is shown has them


@functools.cache
def _parts(*scripts: str) -> tuple[str, str, str]:
    whole = page(_TITLE, _BODY, scripts, styles=[source(_PACKAGE, "page.css")])
    before, _, rest = whole.partition(_TITLE)
    between, _, after = rest.partition(_BODY)
    return before, between, after


def file_page(title: str, body: str) -> str:
    """The page of a file."""
    before, between, after = _parts(source(_PACKAGE, "page.js"))
    return f"{before}{html.escape(title)}{between}{body}{after}"


def index_page(title: str, body: str) -> str:
    """The page of all files, with tables that are sorted and filtered."""
    scripts = (source(_PACKAGE, "page.js"), source("perfcore_view_kit", "table.js"), source(_PACKAGE, "flame.js"))
    before, between, after = _parts(*scripts)
    return f"{before}{html.escape(title)}{between}{body}{after}"


@functools.cache
def revision() -> str:
    """A hash of everything that makes pages, so that those of another release of this package are rendered again."""
    digest = hashlib.sha256("".join(_parts()).encode())
    for file in sorted(Path(__file__).parent.iterdir()):
        if file.name.endswith((".py", ".js", ".css")):
            digest.update(file.read_bytes())
    return digest.hexdigest()


@functools.lru_cache(1 << 16)
def page_of(file: str) -> str:
    """The name of a file's page."""
    return f"{page_name(file)}.html"


@functools.lru_cache(1 << 18)
def anchor(function: str) -> str:
    """Where a function is on the page of its file."""
    return f"f-{hashlib.sha1(function.encode('utf-8', 'surrogatepass'), usedforsecurity=False).hexdigest()[:10]}"


def header(title: str, summary: str, controls: str = "", above: str = "") -> str:
    """The head of a page. `controls` and `above` are markup."""
    return (
        f'<header><div class="titles">{above}<h1>{html.escape(title)}</h1><p>{html.escape(summary)}</p></div>'
        f'<div class="controls">{controls}<button type="button" id="theme" aria-pressed="false">Dark</button></div>'
        "</header>\n"
    )


def up(*links: tuple[str, str] | None) -> str:
    """Links to the pages above, as (text, address), the topmost first."""
    anchors = [f'<a href="{html.escape(address)}">{html.escape(text)}</a>' for text, address in filter(None, links)]
    return f'<p class="up">{" / ".join(anchors)}</p>' if anchors else ""
