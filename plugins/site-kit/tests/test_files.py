"""A static site opened by a double click: in a browser, from files, without any request."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from perfcore_site_kit.site import FILES, Site
from perfcore_testing.pages import violations


def test_files_are_opened_and_followed_without_a_request(site: Site, window: Any, axe: str, tmp_path: Path) -> None:
    for name, content in site.assets(FILES).items():
        _write(tmp_path / name, content)
    for path in site.pages():
        page = site.render(path, FILES)
        for name, content in {path.file: page.content, **page.files}.items():
            _write(tmp_path / name, content)
    window.open((tmp_path / "index.html").as_uri(), "main")
    assert window.run("getComputedStyle(document.querySelector('.answer')).fontSize") == "20px"
    window.run("document.querySelector('table.overview tbody a').click()")
    window.settle("document.readyState === 'complete' && !!document.querySelector('figure[data-drawn]')")
    window.run("document.querySelector('header nav a[href*=changes]').click()")
    window.settle("document.readyState === 'complete' && document.body.classList.contains('changes')")
    window.run("document.querySelector('tr:not(.group) a[href*=change\\\\/]').click()")
    window.settle("document.readyState === 'complete' && document.body.classList.contains('change')")
    assert window.run("document.querySelectorAll('form').length") == 0
    assert window.problems == []
    assert all(address.startswith(("file:", "about:")) for address in window.requests)
    assert violations(window, axe) == []  # it asks for the style itself, which the policy refuses


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
