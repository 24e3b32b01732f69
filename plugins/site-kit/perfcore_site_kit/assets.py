"""The script, style and icon of pages: known without Jinja2, as a site whose pages all stay needs nothing else."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping

from perfcore_view_kit import chart, table
from perfcore_view_kit.page import source

_PACKAGE = "perfcore_site_kit"


class Assets:
    """Pages of a server hold the script and the style; for files they are files beside the pages, under names that
    change with them. Browsers ask a server for the icon by themselves."""

    @functools.cached_property
    def style(self) -> str:
        return "\n".join((source("perfcore_view_kit", "base.css"), *chart.styles(), source(_PACKAGE, "site.css")))

    @functools.cached_property
    def script(self) -> str:
        parts = (source("perfcore_view_kit", "base.js"), *chart.scripts(), table.script(), source(_PACKAGE, "site.js"))
        return "\n".join(parts)

    @functools.cached_property
    def icon(self) -> str:
        return source(_PACKAGE, "icon.svg")

    @functools.cached_property
    def style_name(self) -> str:
        return _name(self.style, "css")

    @functools.cached_property
    def script_name(self) -> str:
        return _name(self.script, "js")

    @functools.cached_property
    def icon_name(self) -> str:
        return _name(self.icon, "svg")

    def files(self) -> Mapping[str, bytes]:
        contents = {self.script_name: self.script, self.style_name: self.style, self.icon_name: self.icon}
        return {name: content.encode() for name, content in contents.items()}


def _name(content: str, suffix: str) -> str:
    return f"assets/site-{hashlib.sha256(content.encode()).hexdigest()[:16]}.{suffix}"
