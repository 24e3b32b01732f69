"""One version against its predecessor and the last release, and two versions against one another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from markupsafe import Markup
from msgspec.structs import replace
from perfcore_view_compare.page import comparison_table
from perfcore_view_compare.ranking import Row, rows

from perfcore.errors import NotFoundError, PerfError
from perfcore.model import MinorVersion
from perfcore_site_kit import comparisons, data, paths, sentences, sources_page
from perfcore_site_kit.branch import version_path
from perfcore_site_kit.change_list import change_row, once_for_a_machine
from perfcore_site_kit.comparisons import Comparison
from perfcore_site_kit.paths import PagePath
from perfcore_site_kit.stacked import configurations

if TYPE_CHECKING:
    from perfcore_site_kit.renderer import View

_FEWEST = 7  # digits of a version that is abbreviated, as git does it
_UNPAIRED = 50


def version_page(view: View) -> Mapping[str, Any]:
    version = _version(view, view.path.parts[0] if len(view.path.parts) == 1 else "")
    branch = view.branch
    position = branch.position[version.id]
    before = branch.versions[position - 1] if position else None
    release = _last_release(view, position)
    listed = [
        data.listed_change(branch, at, change)
        for at, change in branch.changes
        if branch.at(change) == position and change.kind in data.REPORTED
    ]
    own_rows = [change_row(view, *alike) for alike in once_for_a_machine(listed)]
    others = [] if before is None else [("the version before", before)]
    if release is not None and release != before:
        others.append((f"the release {', '.join(branch.releases[release.id])}", release))
    against = [_against(view, f"Against {name}", base, version) for name, base in others]
    return {
        "version": version,
        "heading": f"{version.id[:10]} {version.subject}",
        "answer": sentences.version(against[0]["comparison"] if against else None, listed, before),
        "tags": branch.releases.get(version.id, ()),
        "own": own_rows,
        "against": against,
        "sources": sources_page.sections(view, version),
        "before": view.link(version_path(before)) if before is not None else "",
        "after": view.link(version_path(branch.versions[position + 1])) if position < branch.newest else "",
    }


def _against(view: View, title: str, other: MinorVersion, version: MinorVersion) -> Mapping[str, Any]:
    """A section with a comparison. One that nobody has made yet takes some time: a server sends the page without it,
    and the script asks for it."""
    repository = view.site.repository
    if view.is_served and not comparisons.is_kept(repository, other, version):
        link = view.link(PagePath(paths.COMPARE, (paths.pair(other.id, version.id),)))
        return {"title": title, "comparison": None, "load": link}
    comparison = replace(comparisons.compare(repository, other, version, view.site.lines), gated=view.branch.gated)
    return {**_side(title, view, comparison), "comparison": comparison}


def compare_page(view: View) -> Mapping[str, Any]:
    baseline, target = versions_of(view, view.path.parts[0] if len(view.path.parts) == 1 else "")
    comparison = replace(
        comparisons.compare(view.site.repository, baseline, target, view.site.lines), gated=view.branch.gated
    )
    return {
        "heading": f"{baseline.id[:10]} → {target.id[:10]}",
        "answer": sentences.comparison(comparison),
        "side": {
            **_side("Everything that both were measured with", view, comparison),
            "answer": "",
        },  # the page says it
        "unpaired": comparison.unpaired[:_UNPAIRED],
        "rest": max(0, len(comparison.unpaired) - _UNPAIRED),
        "versions": [(version, view.link(version_path(version))) for version in (baseline, target)],
    }


def versions_of(view: View, text: str) -> tuple[MinorVersion, MinorVersion]:
    """The two versions of a part of an address. NotFoundError where one is not on the branch."""
    names = text.split(paths.BETWEEN)
    if len(names) != 2:
        raise NotFoundError("a comparison is of two versions: A..B")
    baseline, target = (_version(view, name) for name in names)
    if baseline.id == target.id:
        raise NotFoundError("both sides are the same version")
    return baseline, target


def _version(view: View, text: str) -> MinorVersion:
    """The version of a part, or of the beginning of an id that only one version has."""
    version = view.branch.by_part.get(text)
    if version is None and len(text) >= _FEWEST:
        candidates = [candidate for candidate in view.branch.versions if candidate.id.startswith(text)]
        version = candidates[0] if len(candidates) == 1 else None
    if version is None:
        raise NotFoundError("this version was not measured on this branch")
    return version


def _last_release(view: View, position: int) -> MinorVersion | None:
    """The newest measured version before this one that has a tag."""
    branch = view.branch
    positions = [at for version in branch.releases if (at := branch.position.get(version, position)) < position]
    return branch.versions[max(positions)] if positions else None


def _side(title: str, view: View, comparison: Comparison) -> Mapping[str, Any]:
    ranked = rows(comparison.deciding, view.branch.accepted, view.branch.decided)
    parts = paths.pair(comparison.baseline.id, comparison.target.id)
    return {
        "title": title,
        "load": "",
        "answer": sentences.comparison(comparison),
        "table": Markup(comparison_table(ranked, lambda row: _history(view, row))) if ranked else None,
        "link": view.link(PagePath(paths.COMPARE, (parts,))) if view.path.kind != paths.COMPARE else "",
        "code": _code_links(view, comparison, parts),
        "unpaired": len(comparison.unpaired),
    }


def _history(view: View, row: Row) -> str:
    """The page of the series that a comparison is of."""
    change = row.change
    names = (change.config_id, change.metric, *([change.resource] if change.resource else []))
    at = view.branch.by_parts.get(tuple(map(paths.part, names)))
    return view.link(view.branch.series[at].path) if at is not None else ""


def _code_links(view: View, comparison: Comparison, parts: str) -> list[tuple[str, str]]:
    try:
        entries = configurations(view.site.repository, comparison.baseline.id, comparison.target.id)
    except PerfError:
        return []
    links = [(e.label, view.link(PagePath(paths.DIFF, (parts, paths.part(e.config_id))))) for e in entries]
    return [(label, link) for label, link in links if link]
