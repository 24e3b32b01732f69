"""The annotated sources of a version: whole documents of the view that makes them, and links to lines of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from markupsafe import Markup
from perfcore_view_kit.form import shown
from perfcore_view_kit.table import Cell, table

from perfcore.errors import NotFoundError, PerfError
from perfcore.model import Entry, MinorVersion
from perfcore_site_kit.annotated import SourceLink, sources_path
from perfcore_site_kit.branch import version_path

if TYPE_CHECKING:
    from perfcore_site_kit.renderer import View

_PARTS = 3


def sources_page(view: View) -> str:
    """The index, or the page of a file."""
    if len(view.path.parts) != _PARTS:
        raise NotFoundError("there is no such page")
    version_part, config_part, name = view.path.parts
    version = view.branch.by_part.get(version_part)
    if version is None:
        raise NotFoundError("this version was not measured on this branch")
    sources = view.site.sources
    home = f"Version {version.id[:10]}", view.link(version_path(version))
    try:
        pages = sources.pages(version, sources.entry(version, config_part))
    except NotFoundError:
        raise
    except PerfError as error:
        raise NotFoundError(f"the sources cannot be annotated: {error.message}") from error
    try:
        return pages.render(name, home)
    except KeyError:
        raise NotFoundError("the profile has no such file") from None


def sections(view: View, version: MinorVersion) -> Sequence[Mapping[str, Any]]:
    """For each profile of a version with annotated sources: its name, the address of the index, and the functions that
    took most, with links to their lines."""
    sources = view.site.sources
    listed = []
    for entry in sources.entries(version):
        contents = sources.contents(version, entry)
        link = view.link(sources_path(version, entry.config_id)) if contents.names else ""
        if link:
            functions = _functions(view, version, entry, contents.top)
            listed.append({"label": entry.label or entry.name, "link": link, "functions": functions})
    return listed


def _functions(view: View, version: MinorVersion, entry: Entry, top: Sequence[SourceLink]) -> Markup:
    rows: list[list[str | Cell]] = [
        [
            Cell(shown(link.name, 100), link=line_address(view, version, entry.config_id, link.address)),
            link.own,
            link.total,
            shown(f"{link.file}:{link.line}" if link.line else link.file, 80),
        ]
        for link in top
    ]
    caption = f"Functions that took most: {entry.label or entry.name}"
    return Markup(table(shown(caption, 160), ("Function", "Own %", "Total %", "Begins at"), rows, left=(3,)))


def line_address(view: View, version: MinorVersion, config_id: str, address: str) -> str:
    """The address of a line in the annotated sources of a version; empty where there are none in this mode."""
    name, _, anchor = address.partition("#")
    link = view.link(sources_path(version, config_id, name)) if name else ""
    return f"{link}#{anchor}" if link else ""
