"""The folder of pages of a profile."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import attrs
from perfcore_view_kit.site import Published, Site

from perfcore_view_annotate import file_page, index_view
from perfcore_view_annotate.costs import costs_of
from perfcore_view_annotate.file_view import file_view
from perfcore_view_annotate.flame import boxes
from perfcore_view_annotate.generated_lines import ranges_of
from perfcore_view_annotate.profile_tree import ProfileTree
from perfcore_view_annotate.shell import INDEX, page_of
from perfcore_view_annotate.sources import Origin, Sources

KIND = "annotate"


@attrs.frozen
class SiteResult:
    """What became of the pages, and how many sources are missing."""

    published: Published
    files: int
    missing: int


def write_site(
    folder: Path,
    tree: ProfileTree,
    sources: Sources,
    *,
    title: str,
    version: str,
    fresh: bool = False,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> SiteResult:
    """Render what changed since the folder was last written, and publish it."""
    ranges = ranges_of([file for _, file, _, _ in tree.all_frames], sources.generated)
    costs = costs_of(tree, ranges)
    origins: dict[str, Origin] = {}
    with Site(folder, kind=KIND, fresh=fresh) as site:
        for done, name in enumerate(sorted(costs.files)):
            file = costs.files[name]
            source = sources.source(name, [costs.functions[id].name for id in file.functions])
            origins[name] = source.origin
            view = file_view(file, costs, source, version, ranges.get(name, ()))
            site.add(page_of(name), view.fingerprint, partial(file_page.render, view))
            progress(done, len(costs.files))
        index = index_view.index_view(title, costs, origins, version, boxes(tree, costs.total))
        site.add(INDEX, index.fingerprint, partial(index_view.render, index))
        published = site.publish()
    missing = sum(origin == "missing" and not name.startswith("xs:") for name, origin in origins.items())
    return SiteResult(published, len(costs.files), missing)
