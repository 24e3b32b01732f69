"""The kinds of pages: what builds each, and its template."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from perfcore_site_kit import paths

if TYPE_CHECKING:
    from perfcore_site_kit.renderer import View


class PageKind(msgspec.Struct, frozen=True, kw_only=True):
    """`builder` names the function that gives what the template needs; it is imported when a page first needs it. A
    kind without a template is a whole document of another view. Some kinds need a server."""

    builder: str
    template: str = ""
    server_only: bool = False

    def build(self, view: View) -> Mapping[str, Any]:
        values: Mapping[str, Any] = self._function()(view)
        return values

    def document(self, view: View) -> str:
        return str(self._function()(view))

    def _function(self) -> Callable[[View], Any]:
        module, _, name = self.builder.partition(":")
        function: Callable[[View], Any] = getattr(importlib.import_module(f"perfcore_site_kit.{module}"), name)
        return function


PAGES: Mapping[str, PageKind] = {
    paths.OVERVIEW: PageKind(builder="overview_page:overview_page", template="overview.html"),
    paths.CHANGES: PageKind(builder="change_list:changes_page", template="changes.html"),
    paths.CHANGE: PageKind(builder="change_page:change_page", template="change.html"),
    paths.SERIES: PageKind(builder="series_page:series_page", template="series.html"),
    paths.RANGE: PageKind(builder="series_page:range_page", template="range.html"),
    paths.VERSION: PageKind(builder="version_page:version_page", template="version.html"),
    paths.COMPARE: PageKind(builder="version_page:compare_page", template="compare.html"),
    paths.DIFF: PageKind(builder="diff_page:diff_page", template="diff.html"),
    paths.FLAME: PageKind(builder="diff_page:flame_page"),
    paths.SOURCES: PageKind(builder="sources_page:sources_page"),
    paths.MEASURE: PageKind(builder="measure_page:measure_page", template="measure.html"),
    paths.CONTRACTS: PageKind(builder="server_pages:contracts_page", template="contracts.html", server_only=True),
    paths.PLUGINS: PageKind(builder="server_pages:plugins_page", template="plugins.html", server_only=True),
    paths.SEARCH: PageKind(builder="server_pages:search_page", template="search.html", server_only=True),
    paths.LIVE: PageKind(builder="server_pages:live_page", template="live.html", server_only=True),
}
