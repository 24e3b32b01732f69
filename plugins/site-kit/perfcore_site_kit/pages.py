"""The kinds of pages: what builds each, and its template."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import attrs

from perfcore_site_kit import paths
from perfcore_site_kit.change_list import changes_page
from perfcore_site_kit.overview_page import overview_page
from perfcore_site_kit.series_page import range_page, series_page

if TYPE_CHECKING:
    from perfcore_site_kit.renderer import View


@attrs.frozen(kw_only=True)
class PageKind:
    """`build` gives what the template needs. Some kinds need a server."""

    template: str
    build: Callable[[View], Mapping[str, Any]]
    server_only: bool = False


PAGES: Mapping[str, PageKind] = {
    paths.OVERVIEW: PageKind(template="overview.html", build=overview_page),
    paths.CHANGES: PageKind(template="changes.html", build=changes_page),
    paths.SERIES: PageKind(template="series.html", build=series_page),
    paths.RANGE: PageKind(template="range.html", build=range_page),
}
