"""Every page made once, for scripts that want to know whether a history can be shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
from perfcore_site_kit.site import Site, SiteOptions

from perfcore.text import plural

if TYPE_CHECKING:
    from perfcore.repository.repository import Repository


@attrs.frozen(kw_only=True)
class PageCheck:
    """How many pages there are, and the address and the bytes of the largest."""

    pages: int
    largest: str
    size: int

    @property
    def text(self) -> str:
        return f"{plural(self.pages, 'page')}, the largest with {self.size:,} bytes: /{self.largest}"


def check_pages(repository: Repository, head: str | None = None) -> PageCheck:
    """All pages of a repository as a server makes them."""
    site = Site(repository, SiteOptions(head=head))
    sizes = [(len(site.render(path).content), path.address) for path in site.pages()]
    size, largest = max(sizes)
    return PageCheck(pages=len(sizes), largest=largest, size=size)
