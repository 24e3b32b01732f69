"""The engine of `perf publish`: from a repository to a folder of pages.

The pages are those of `perf serve`, by the same renderer. A page that shows nothing new stays as it is, and so do the
files of data, whose names are digests of what they hold. The folder changes in one step.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import asdict
from perfcore_site_kit.fingerprints import Fingerprints, digest
from perfcore_site_kit.page_types import DATA, FILES, SiteOptions
from perfcore_site_kit.site import Site
from perfcore_view_kit.site import Site as Folder

from perfcore.errors import UsageError
from perfcore.text import brief
from perfcore_command_publish import badge, feed

if TYPE_CHECKING:
    from perfcore_site_kit.paths import PagePath

    from perfcore.model.listener import Listener
    from perfcore.repository.repository import Repository

SCHEMA = 1  # of the JSON document
KIND = "perf publish"
FEED = "feed.xml"
BADGE = "badge.svg"
_REFERENCE = re.compile(rb'data-file="[./]*(' + DATA.encode() + rb'/[0-9a-f]{20}\.js)"')


class PublishResult(msgspec.Struct, frozen=True, kw_only=True):
    """A published folder: how many of its files were made, kept as they were, and removed since the last time."""

    folder: Path
    made: int
    kept: int
    removed: int

    def as_json(self) -> dict[str, Any]:
        """As in docs/schemas/publish.json."""
        return {"schema": SCHEMA, **asdict(self), "folder": str(self.folder)}


def publish(
    repository: Repository,
    folder: Path,
    *,
    title: str = "",
    url: str = "",
    head: str | None = None,
    fresh: bool = False,
    listener: Listener | None = None,
) -> PublishResult:
    """Write the site of the branch that ends at `head` (None: the version that is checked out) into a folder, which is
    made, or which an earlier call made. `url` is the address at which it is read, for the feed, whose links are else
    relative; `fresh` makes every page anew. UsageError for a folder that holds anything else."""
    if url:
        url = _checked(url)
    with Folder(folder, kind=KIND, fresh=fresh) as target:  # refused before anything is derived
        site = Site(repository, SiteOptions(title=title, head=head), listener)
        prints = Fingerprints(site)
        pages = site.pages()
        for number, path in enumerate(pages):
            if listener is not None:
                listener.progress(number, len(pages), "pages")
            _add_page(target, site, path, prints.of(path))
        for name, content in _others(site, url).items():
            target.add(name, digest(content), functools.partial(bytes, content))
        published = target.publish()
    return PublishResult(folder=target.folder, made=published.rendered, kept=published.kept, removed=published.removed)


def _add_page(target: Folder, site: Site, path: PagePath, fingerprint: str) -> None:
    """A page with the files of data that it loads. One that is kept names those that it needs; where one of them is
    gone, the page is made again for its sake."""
    files: dict[str, bytes] = {}

    def render() -> bytes:
        page = site.render(path, FILES)
        files.update(page.files)
        return page.content

    def data(name: str) -> bytes:
        if name not in files:
            render()
        return files[name]

    content = target.add(path.file, fingerprint, render)
    for match in _REFERENCE.finditer(content):
        name = match[1].decode()
        if name not in target:
            target.add(name, name, functools.partial(data, name))


def _others(site: Site, url: str) -> Mapping[str, bytes]:
    """The script, the style, the feed and the badges."""
    badges = {f"badges/{'/'.join(row.parts)}.svg": badge.of_series(site.branch, row) for row in site.branch.series}
    return {
        **site.assets(FILES),
        FEED: feed.atom(site, url, FEED),
        BADGE: badge.of_branch(site.branch),
        **badges,
    }


def _checked(url: str) -> str:
    """An address with a slash at its end."""
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url)
        is_fit = parts.scheme in ("http", "https") and bool(parts.hostname) and not (parts.query or parts.fragment)
    except ValueError:
        is_fit = False
    if not is_fit or not url.isascii() or re.search(r"[\s<>\"\\^`{|}\x00-\x1f\x7f]", url):
        raise UsageError(f"{brief(url)} is no address of a site", hint="such as https://example.org/performance/")
    return url if url.endswith("/") else f"{url}/"
