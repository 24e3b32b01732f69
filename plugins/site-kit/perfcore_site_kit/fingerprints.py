"""What a page of a static site depends on, as a digest: a page with the same one need not be made again.

A page that shows the newest version depends on all; one of a closed range or of an old change depends on what was
measured up to there, on its own changes, and on what people decided. The digests are of contents, not of times of
files: the same history gives the same ones on every machine.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace
from perfcore_command_kit import decisions

from perfcore import __version__
from perfcore.analysis import note_keys
from perfcore.config.layers import KEYS
from perfcore.errors import KeyMissingError
from perfcore.store import notes
from perfcore_site_kit import data, paths
from perfcore_site_kit.branch import RANGE, Branch, version_path
from perfcore_site_kit.derive import ranges
from perfcore_site_kit.page_types import FILES

if TYPE_CHECKING:
    from perfcore_site_kit.paths import PagePath
    from perfcore_site_kit.site import Site

_AROUND = 64  # versions after a change that its page shows, and a few more
_CONFIGURED = tuple(key for key in KEYS if key.startswith(("check.", "benchmarks.", "view.")))


class Fingerprints:
    """Of the pages of a site as it is now."""

    def __init__(self, site: Site, options: Sequence[object] = ()) -> None:
        self._site = site
        self._branch = branch = site.branch
        self._measured = _measured(site)
        all_pages = site.pages()
        pages = {path for path in all_pages if path.kind not in (paths.VERSION, paths.SOURCES)}
        # The links from other pages to annotated sources, by the part of the version.
        self._annotated: dict[str, set[str]] = {}
        for path in all_pages:
            if path.kind == paths.SOURCES:
                self._annotated.setdefault(path.parts[0], set()).add(path.parts[1])
        config = site.repository.config
        self._common = digest(
            __version__,
            sorted(site.assets(FILES)),
            site.title,
            branch.name,
            [(key, config.get(key)) for key in _CONFIGURED],
            sorted(branch.accepted.items()),
            sorted(branch.decided.items()),
            branch.notes,
            [repr(decision) for decision in decisions.every(site.repository.store)],
            sorted(pages - {row.path for row in branch.series}),
            *options,
        )
        self._series = [digest(row) for row in branch.series]
        self._all = digest(self._common, self._measured[-1:], self._series, sorted(branch.releases.items()))

    def of(self, path: PagePath) -> str:
        """The digest of what a page shows."""
        kinds = {
            paths.SERIES: self._of_series,
            paths.RANGE: self._of_range,
            paths.CHANGE: self._of_change,
            paths.VERSION: self._of_version,
            paths.COMPARE: self._of_comparison,
            paths.DIFF: self._of_comparison,
            paths.FLAME: self._of_comparison,
            paths.MEASURE: self._of_trust,
            paths.SOURCES: self._of_sources,
        }
        build = kinds.get(path.kind)
        return digest(path, *(build(path) if build is not None else (self._all,)))

    def _of_series(self, path: PagePath) -> Sequence[object]:
        branch = self._branch
        series = self._series[branch.by_parts[path.parts]]
        return self._common, self._measured[-1:], series, sorted(branch.releases.items())

    def _of_range(self, path: PagePath) -> Sequence[object]:
        """A closed range does not depend on what was measured later, but the links to newer ranges do."""
        branch, number = self._branch, int(path.parts[0]) - 1
        at = branch.by_parts[path.parts[1:]]
        row, stored = branch.series[at], self._site.stored_points(at, number)
        first, last = stored.positions[0], stored.positions[-1]
        within = [change for change in row.changes if first <= branch.at(change) <= last]
        steady = replace(row, changes=tuple(within), spark=(), points=0, measured=0, newest=0, median=None)
        steady = replace(steady, runs=0, noise=None, spread=None, environments=(), sessions=0, takes_turns=False)
        return self._common, self._until(last), steady, ranges(row), self._releases(first, last)

    def _of_change(self, path: PagePath) -> Sequence[object]:
        branch = self._branch
        at, change = branch.by_change[path.parts[0]]
        row = branch.series[at]
        begin, end = data.extent(branch, change)
        near = [other for other in row.changes if abs(branch.at(other) - branch.at(change)) <= RANGE]
        moved = data.companions(branch, change)
        return (
            self._common,
            self._until(max(end, branch.at(change)) + self._shown(at)),
            (change, near, [(item.change, item.accepted) for item in moved]),
            [self._site.has(version_path(branch.versions[version])) for version in range(max(0, begin), end + 1)],
            self._releases(max(0, begin - _AROUND), end + _AROUND),
            row.path,
        )

    def _shown(self, at: int) -> int:
        """The positions after a change that its chart may show: its points, where others were not measured."""
        row = self._branch.series[at]
        gaps = (row.newest - row.first + 1) / max(1, row.points)
        return _AROUND if gaps <= 1 else len(self._branch.versions)

    def _of_version(self, path: PagePath) -> Sequence[object]:
        branch = self._branch
        at = branch.position[branch.by_part[path.parts[0]].id]
        beside = [branch.versions[near] for near in (at - 1, at + 1) if 0 <= near <= branch.newest]
        own = [(change, branch.accepted.get(change.id)) for _, change in branch.changes if branch.at(change) == at]
        links = [self._site.has(version_path(version)) for version in beside]
        return self._common, self._until(at), own, links, self._releases(0, at), self._links_to_sources(path.parts[0])

    def _of_comparison(self, path: PagePath) -> Sequence[object]:
        branch = self._branch
        ends = [branch.by_part[part] for part in path.parts[0].split(paths.BETWEEN)]
        links = [self._site.has(version_path(version)) for version in ends]
        last = max(branch.position[version.id] for version in ends)
        return self._common, self._until(last), links, self._links_to_sources(*path.parts[0].split(paths.BETWEEN))

    def _of_sources(self, path: PagePath) -> Sequence[object]:
        """A profile and the sources of a version never change, so that these pages are made once."""
        version = self._branch.by_part[path.parts[0]]
        entry = self._site.sources.entry(version, path.parts[1])
        tags = self._branch.releases.get(version.id, ())
        return __version__, self._site.sources.revision, version.id, entry.profile, entry.label, tags

    def _links_to_sources(self, *parts: str) -> Sequence[object]:
        links = [sorted(self._annotated.get(part, ())) for part in parts]
        return (self._site.sources.revision, links) if any(links) else ()

    def _of_trust(self, _: PagePath) -> Sequence[object]:
        try:
            calibrations = self._site.repository.store.storage.read(notes.key(note_keys.CALIBRATION)).data
        except KeyMissingError:
            calibrations = b""
        return self._all, calibrations

    def _until(self, position: int) -> str:
        """What was measured up to a position."""
        return self._measured[min(position, len(self._measured) - 1)] if self._measured and position >= 0 else ""

    def _releases(self, first: int, last: int) -> list[tuple[str, tuple[str, ...]]]:
        position = self._branch.position
        releases = self._branch.releases.items()
        return sorted((version, tags) for version, tags in releases if first <= position.get(version, -1) <= last)


def digest(*values: Any) -> str:
    """The hash of values whose `repr` says all of them."""
    return hashlib.sha256(repr(values).encode("utf-8", "backslashreplace")).hexdigest()


def _measured(site: Site) -> list[str]:
    """For each position a digest of the versions up to there with their profiles."""
    branch = site.branch
    profiles: list[list[object]] = [[tuple(version)] for version in branch.versions]  # without the names of its fields
    for at in _one_of_each(branch):
        for number in range(ranges(branch.series[at])):
            stored = site.stored_points(at, number)
            for position, environment, ids in zip(stored.positions, stored.environments, stored.profiles, strict=True):
                profiles[position].append((environment, ids))
    digests, state = [], hashlib.sha256()
    for measured in profiles:
        state.update(repr(measured).encode("utf-8", "backslashreplace"))
        digests.append(state.hexdigest()[:20])
    return digests


def _one_of_each(branch: Branch) -> list[int]:
    """The index of one series of each configuration, as all of a configuration are in the same profiles."""
    return list({row.config_id: at for at, row in enumerate(branch.series)}.values())
