"""The annotated sources of a version: of its newest profile with call stacks in each configuration, by the view that
makes such pages, where it is installed."""

from __future__ import annotations

import contextlib
import functools
import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec
from perfcore_command_kit.sources import VersionSources
from perfcore_view_kit.source_pages import INDEX, SourceLink, SourcePages, SourcePagesView

from perfcore.errors import NotFoundError, PerfError
from perfcore.hookspecs import VIEW as KIND
from perfcore.model import Entry, MinorVersion
from perfcore_site_kit import paths
from perfcore_site_kit.paths import PagePath
from perfcore_site_kit.stacked import newest_entries, with_stacks

if TYPE_CHECKING:
    from perfcore.model import ViewData
    from perfcore.repository.repository import Repository
    from perfcore_site_kit.branch import Branch

__all__ = ["INDEX", "AnnotatedSources", "Contents", "SourceLink"]

VIEW = "annotate"
MOST_BYTES = 290_000
"""Of a page: beyond, lines and boxes that took little are left out."""
_FORMAT = 1  # of the rows
_SPACE = "annotated sources"
_TOP = 10  # functions of a version that its page lists
_MOST = 20  # configurations of a version


class Contents(msgspec.Struct, frozen=True, kw_only=True):
    """What other pages need to know of the annotated sources of a profile: the names of the pages, and the functions
    that took most."""

    names: tuple[str, ...]
    top: tuple[SourceLink, ...]


_DECODER = msgspec.msgpack.Decoder(Contents)


class AnnotatedSources:
    """The annotated sources of the versions of a repository. The read model keeps what a list of pages needs, and the
    pages of one profile and the profiles of one version are kept in memory, as the pages of a site are made one after
    the other. `branch` gives the branch as the site has it: another one where something was measured."""

    def __init__(self, repository: Repository, branch: Callable[[], Branch]) -> None:
        self._repository = repository
        self._branch = branch
        self._sources = VersionSources(repository)
        self._last: tuple[object, SourcePages] | None = None
        self._last_entries: tuple[Branch, str, Sequence[Entry]] | None = None

    @functools.cached_property
    def _view(self) -> SourcePagesView | None:
        """The view, where one is installed that has such pages."""
        plugins = self._repository.plugins
        if not plugins.has("view", VIEW):
            return None
        try:
            _, driver = plugins.make(KIND, VIEW, self._repository.plugin_options("view", VIEW))
        except PerfError:  # what fails for other reasons is for the view's own command to say
            return None
        return driver if isinstance(driver, SourcePagesView) else None

    @property
    def revision(self) -> str:
        """A text that differs where other pages are made of the same profiles; empty without a view."""
        return self._view.source_pages_revision if self._view is not None else ""

    def entries(self, version: MinorVersion) -> Sequence[Entry]:
        """The profiles of a version whose sources can be shown, in the order of their configurations."""
        branch, last = self._branch(), self._last_entries
        if last is not None and last[0] is branch and last[1] == version.id:
            return last[2]
        entries = self._read_entries(version)
        self._last_entries = branch, version.id, entries
        return entries

    def entry(self, version: MinorVersion, config_part: str) -> Entry:
        """The one of a configuration, by the part of an address. NotFoundError where there is none."""
        for entry in self.entries(version):
            if paths.part(entry.config_id) == config_part:
                return entry
        raise NotFoundError(f"{version.id[:10]} has no annotated sources in this configuration")

    def key(self, entry: Entry) -> str:
        """The key of the row of a profile."""
        return hashlib.sha256(repr((_FORMAT, self.revision, entry.profile)).encode()).hexdigest()

    def contents(self, version: MinorVersion, entry: Entry) -> Contents:
        """The contents of the pages of a profile: none where they cannot be made."""
        key = self.key(entry)
        stored = self._repository.store.read_model.get(_SPACE, key)
        if stored is not None:
            with contextlib.suppress(msgspec.MsgspecError, RecursionError, UnicodeDecodeError):  # damaged: made again
                return _DECODER.decode(stored)
        try:
            pages = self.pages(version, entry)
            contents = Contents(names=tuple(pages.names), top=tuple(pages.top(_TOP)))
        except PerfError:
            contents = Contents(names=(), top=())
        self._repository.store.read_model.put(_SPACE, {key: msgspec.msgpack.encode(contents)})
        return contents

    def pages(self, version: MinorVersion, entry: Entry) -> SourcePages:
        """The pages of a profile. NotFoundError where they cannot be made."""
        tags = self._branch().releases.get(version.id, ())
        key = (self.revision, version.id, entry.profile, tags)
        if self._last is not None and self._last[0] == key:
            return self._last[1]
        if self._view is None:
            raise NotFoundError("no view of annotated sources is installed")
        pages = self._view.source_pages(self._view_data(version, entry, tags), most_bytes=MOST_BYTES)
        self._last = key, pages
        return pages

    def addresses(self, version: MinorVersion, entry: Entry) -> Mapping[tuple[str, str], str]:
        """Where functions begin, by their names and files; nothing where pages cannot be made."""
        try:
            return self.pages(version, entry).addresses()
        except PerfError:
            return {}

    def _read_entries(self, version: MinorVersion) -> Sequence[Entry]:
        try:
            entries = sorted(newest_entries(self._repository, version.id).items())[:_MOST]
            stacked = with_stacks(self._repository, [entry for _, entry in entries])
        except PerfError:
            return ()
        # The view is imported only where it has something to show.
        return tuple(entry for _, entry in entries if entry.profile in stacked) if stacked and self._view else ()

    def _view_data(self, version: MinorVersion, entry: Entry, tags: tuple[str, ...]) -> ViewData:
        from perfcore.model import ViewData  # with attrs, which takes longer to import than most pages to make

        return ViewData(
            profiles=(self._repository.store.load(entry.profile),),
            names=(entry.label or entry.name,),
            versions=(version,),
            releases={version.id: tags},
            source=self._sources.read,
        )


def sources_path(version: MinorVersion, config_id: str, name: str = INDEX) -> PagePath:
    """The page of a name among the annotated sources of a version in a configuration."""
    return PagePath(paths.SOURCES, (paths.part(version.id), paths.part(config_id), name))


def paths_of(sources: AnnotatedSources, version: MinorVersion) -> Sequence[PagePath]:
    """The pages of the annotated sources of a version."""
    return [
        sources_path(version, entry.config_id, name)
        for entry in sources.entries(version)
        for name in sources.contents(version, entry).names
    ]
