"""A site: the pages of one performance history, for a server and for files."""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import TYPE_CHECKING

from msgspec.structs import replace
from perfcore_command_show import context

from perfcore.errors import NotFoundError
from perfcore.model import Point
from perfcore.model.listener import SilentListener
from perfcore_site_kit import paths
from perfcore_site_kit.branch import NOTHING, Branch, range_path, version_path
from perfcore_site_kit.derive import Derived, derive, ranges, state_of
from perfcore_site_kit.page_types import FILES, NO_DRAFT, SERVER, Draft, Mode, Page, SiteOptions
from perfcore_site_kit.paths import PagePath
from perfcore_site_kit.rows import BranchRows, levels_key, points_key

if TYPE_CHECKING:
    from perfcore_check_kit.series import ConfigHistory

    from perfcore.model.listener import Listener
    from perfcore.repository.repository import Repository
    from perfcore_site_kit.annotated import AnnotatedSources
    from perfcore_site_kit.assets import Assets
    from perfcore_site_kit.levels import Level
    from perfcore_site_kit.renderer import Renderer
    from perfcore_site_kit.rows import StoredPoints


__all__ = ["FILES", "SERVER", "Mode", "Page", "Site", "SiteOptions"]

MOST_VERSIONS = 1000
"""Pages of versions of a static site: those with changes and releases, the newest."""
MOST_ANNOTATED = 30
"""Versions of a static site that have annotated sources, a page for each file: the newest of these."""
_LOOKED = 100  # of those pages of versions, whether they have profiles with call stacks


class Site:
    """The pages of a repository. The branch is derived when a page first needs it, and again by `refresh` where the
    store has changed; pages that are made meanwhile are of the branch as it was. It may be used by several threads."""

    def __init__(
        self, repository: Repository, options: SiteOptions | None = None, listener: Listener | None = None
    ) -> None:
        self.repository = repository
        self.options = options or SiteOptions()
        self._listener = listener or SilentListener()
        self._derived: Derived | None = None
        self._pages: tuple[Branch, Sequence[PagePath], Set[PagePath]] | None = None
        self._store = threading.RLock()  # SQLite and the drivers are used by one thread at a time

    @property
    def title(self) -> str:
        return self.options.title or self.repository.root.name

    @property
    def branch(self) -> Branch:
        """The branch as it was derived last."""
        return self._current.branch

    @property
    def state(self) -> str:
        """What the pages were derived from: with the same state they are the same, but for an empty one."""
        return self.branch.state

    def refresh(self) -> bool:
        """Derive the branch again if the store, its versions or the configuration changed; gives whether it did."""
        with self._store:
            head, name = self._head()
            releases = context.releases(self.repository)
            state = state_of(self.repository, head, releases)
            if self._derived is not None and state and self._derived.branch.state == state:
                return False
            rows = BranchRows(self.repository.store.read_model, name or head)
            branch = rows.read(state, releases) if state else None
            if branch is not None:
                self._derived = Derived(branch=branch)
                return True
            self._derive(head, name, state, releases)
            return True

    @property
    def is_derived(self) -> bool:
        return self._derived is not None

    def is_current(self) -> bool:
        """Whether the branch is that of the store as it is now."""
        with self._store:
            head, _ = self._head()
            state = state_of(self.repository, head, context.releases(self.repository))
            return bool(state) and self._derived is not None and self._derived.branch.state == state

    def is_lasting(self, path: PagePath) -> bool:
        """Whether a page stays the same while the branch does."""
        return path.kind not in (paths.LIVE, paths.PLUGINS, paths.SEARCH, paths.CONTRACTS, paths.VERSION)

    def pages(self) -> Sequence[PagePath]:
        """Every page of a static site. A server has more of the kinds `version`, `compare`, `diff`, `flame` and
        `sources`."""
        return self._listed(self.branch)[1]

    def _pages_of(self, branch: Branch) -> Iterator[PagePath]:
        from perfcore_site_kit import data

        yield PagePath(paths.OVERVIEW)
        yield from self._change_lists()
        yield PagePath(paths.MEASURE)
        for row in branch.series:
            yield row.path
            yield from (range_path(row, index) for index in range(ranges(row) - 1))  # the page above has the newest
        listed = [
            (address_part, change)
            for address_part, (_, change) in branch.by_change.items()
            if change.kind in data.REPORTED
        ]
        yield from (PagePath(paths.CHANGE, (address_part,)) for address_part, _ in listed)
        ends = dict.fromkeys(data.extent(branch, change) for _, change in listed if branch.at(change) >= 0)
        versions = {at: None for begin, end in ends for at in range(begin, end + 1)}
        versions |= {at: None for version in branch.releases if (at := branch.position.get(version)) is not None}
        versions |= {branch.newest: None} if branch.versions else {}
        yield from (version_path(branch.versions[at]) for at in sorted(versions)[-MOST_VERSIONS:])
        yield from self._source_pages(sorted(versions)[-_LOOKED:])
        for begin, end in ends:
            if begin > 0:
                pair = paths.pair(branch.versions[begin - 1].id, branch.versions[end].id)
                yield PagePath(paths.COMPARE, (pair,))
                yield from self._code_pages(begin - 1, end, pair)

    def _source_pages(self, positions: Sequence[int]) -> Iterator[PagePath]:
        """The annotated sources of the newest of these versions that have any."""
        from perfcore_site_kit.annotated import paths_of

        annotated = 0
        for at in reversed(positions):
            pages = paths_of(self.sources, self.branch.versions[at])
            yield from pages
            annotated += bool(pages)
            if annotated == MOST_ANNOTATED:
                break

    def _code_pages(self, before: int, after: int, pair: str) -> Iterator[PagePath]:
        """What differs in the code, where both versions have profiles with call stacks."""
        from perfcore_site_kit.stacked import configurations

        versions = self.branch.versions
        for entry in configurations(self.repository, versions[before].id, versions[after].id):
            parts = (pair, paths.part(entry.config_id))
            yield PagePath(paths.DIFF, parts)
            yield PagePath(paths.FLAME, parts)

    def has(self, path: PagePath) -> bool:
        """Whether there is this page on a static site."""
        return path in self._listed(self.branch)[2]

    def parse(self, address: str) -> PagePath:
        """The page of an address below the root of a server. NotFoundError where there is none."""
        path = paths.parse(address)
        if path is None or path.address != address:
            raise NotFoundError("there is no such page")
        return path

    def render(self, path: PagePath, mode: Mode = SERVER, draft: Draft = NO_DRAFT) -> Page:
        """A page. NotFoundError where there is none of this path."""
        return self._renderer.render(path, mode, draft)

    def render_waiting(self, path: PagePath, mode: Mode, progress: str) -> Page:
        """What stands for a page until the branch is derived for the first time."""
        from perfcore_site_kit.renderer import Renderer

        empty = Site(self.repository, self.options)
        empty._derived = Derived(branch=NOTHING)
        empty.page_assets = self.page_assets
        return Renderer(empty).waiting(path, mode, progress)

    def assets(self, mode: Mode = FILES) -> Mapping[str, bytes]:
        """The files that the pages of a mode need beside them, by their names below the root."""
        return self.page_assets.files() if mode.links == "files" else {}

    def points(self, at: int, index: int) -> list[Point]:
        """A range of a series with its runs."""
        branch, stored = self.branch, self._points(at, index)
        columns = (stored.positions, stored.environments, stored.profiles, stored.values)
        return [
            Point(version=branch.versions[position], environment=environment, profiles=profiles, values=values)
            for position, environment, profiles, values in zip(*columns, strict=True)
        ]

    def stored_points(self, at: int, index: int) -> StoredPoints:
        """The same as columns, without the versions."""
        return self._points(at, index)

    @property
    def lines(self) -> Sequence[ConfigHistory]:
        """What was measured along the branch, where it was derived here and not read."""
        return self._current.lines

    def levels(self, at: int) -> Mapping[int, Level]:
        """The levels of a long series."""
        with self._store:
            derived = self._current
            if not derived.scanned and derived.branch.series:
                levels = self._rows.levels(derived.branch.state, levels_key(at))
                if levels is not None:
                    return levels
                derived = self._derive_again()
            return derived.levels(at)

    @property
    def _current(self) -> Derived:
        if self._derived is None:
            self.refresh()
        assert self._derived is not None
        return self._derived

    @property
    def _rows(self) -> BranchRows:
        branch = self._current.branch
        return BranchRows(self.repository.store.read_model, branch.name or branch.head)

    @functools.cached_property
    def sources(self) -> AnnotatedSources:
        """The annotated sources of versions, where a view makes such pages."""
        from perfcore_site_kit.annotated import AnnotatedSources

        return AnnotatedSources(self.repository, lambda: self.branch)

    @functools.cached_property
    def page_assets(self) -> Assets:
        from perfcore_site_kit.assets import Assets

        return Assets()

    @functools.cached_property
    def _renderer(self) -> Renderer:
        from perfcore_site_kit.renderer import Renderer

        return Renderer(self)

    def _head(self) -> tuple[str, str]:
        """(id of the version where the branch ends, name of the branch)."""
        vcs, head = self.repository.vcs, self.options.head
        if head is not None:
            return self.repository.version(head), head
        return self.repository.version(), vcs.get_head_major_version().name

    def _points(self, at: int, index: int) -> StoredPoints:
        with self._store:
            derived = self._current
            if not derived.scanned:
                stored = self._rows.points(derived.branch.state, points_key(at, index))
                if stored is not None:
                    return stored
                derived = self._derive_again()
            return derived.points(at, index)

    def _derive_again(self) -> Derived:
        """The branch with its points, where the rows of the read model have gone. It is of the same head."""
        branch = self._current.branch
        self._derived = derive(
            self.repository,
            head=branch.head,
            name=branch.name,
            state=branch.state,
            releases=branch.releases,
            listener=self._listener,
        )
        return self._derived

    def _derive(self, head: str, name: str, state: str, releases: Mapping[str, tuple[str, ...]]) -> Derived:
        derived = derive(self.repository, head=head, name=name, state=state, releases=releases, listener=self._listener)
        if state:
            rows = BranchRows(self.repository.store.read_model, name or head)
            derived.keep(rows)
            if not derived.is_small and derived.is_in(rows):  # a long one takes hundreds of megabytes
                derived = replace(derived, scanned=(), shapes=())
        self._derived = derived
        return derived

    def _change_lists(self) -> Iterator[PagePath]:
        from perfcore_site_kit import data

        yield PagePath(paths.CHANGES)
        for index in range(2, data.changes(self.branch).pages + 1):
            yield PagePath(paths.CHANGES, (str(index),))

    def _listed(self, branch: Branch) -> tuple[Branch, Sequence[PagePath], Set[PagePath]]:
        """The pages of a branch, which takes reading its profiles: in order, and as a set."""
        listed = self._pages
        if listed is None or listed[0] is not branch:
            pages = tuple(self._pages_of(branch))
            listed = self._pages = branch, pages, frozenset(pages)
        return listed
