"""The folder of pages of a profile."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import attrs
from perfcore_view_kit.site import Published, Site

from perfcore_view_annotate.pages import AnnotatedPages

KIND = "annotate"


@attrs.frozen
class SiteResult:
    """What became of the pages, and how many sources are missing."""

    published: Published
    missing: int


def write_site(
    folder: Path,
    pages: AnnotatedPages,
    *,
    fresh: bool = False,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> SiteResult:
    """Render what changed since the folder was last written, and publish it."""
    with Site(folder, kind=KIND, fresh=fresh) as site:
        for done, name in enumerate(pages.names):
            page = pages.page(name)
            site.add(name, page.fingerprint, page.render)
            progress(done, len(pages.names))
        published = site.publish()
    return SiteResult(published, pages.missing)
