"""The pages of annotated sources, one by one: for a folder that is published as a whole, and for sites."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import attrs
from perfcore_view_kit.form import shown
from perfcore_view_kit.source_pages import SourceLink

from perfcore_view_annotate import file_page, index_view
from perfcore_view_annotate.costs import Costs, costs_of
from perfcore_view_annotate.file_view import Detail, FileView, file_view, name_of
from perfcore_view_annotate.flame import Box, boxes
from perfcore_view_annotate.generated_lines import ranges_of
from perfcore_view_annotate.index_view import IndexDetail, IndexView
from perfcore_view_annotate.profile_tree import ProfileTree
from perfcore_view_annotate.shares import share
from perfcore_view_annotate.shell import INDEX, anchor, page_of
from perfcore_view_annotate.sources import Origin, Source, Sources

_DETAILS = (Detail(), Detail(whole=0), Detail(whole=0, around=5, calls=3), Detail(whole=0, around=0, calls=0))
"""What the page of a file shows, the least last: for pages with a limit of bytes."""
_INDEXES = (
    IndexDetail(),
    IndexDetail(least=0.005, files=1_000),
    IndexDetail(least=0.02, files=400),
    IndexDetail(least=0.05, files=100),
)


@attrs.frozen
class AnnotatedPage:
    """A page that is rendered when somebody needs it. Pages with the same fingerprint are the same."""

    name: str
    fingerprint: str
    render: Callable[[], str]


class AnnotatedPages:
    """The index and a page for each file of a profile. Pages name one another by their file names. A page of more than
    `most_bytes` shows less of what took nothing."""

    def __init__(
        self,
        tree: ProfileTree,
        sources: Sources,
        *,
        title: str,
        version: str,
        most_bytes: int | None = None,
    ) -> None:
        self._tree = tree
        self._sources = sources
        self._title = title
        self._version = version
        self._most_bytes = most_bytes
        self._ranges = ranges_of([file for _, file, _, _ in tree.all_frames], sources.generated)
        self.costs: Costs = costs_of(tree, self._ranges)
        self._origins: dict[str, Origin] = {}

    @functools.cached_property
    def _files(self) -> Mapping[str, str]:
        """The files by the names of their pages."""
        return {page_of(file): file for file in sorted(self.costs.files)}

    @functools.cached_property
    def _boxes(self) -> list[Box]:
        return boxes(self._tree, self.costs.total)

    @property
    def names(self) -> Sequence[str]:
        """The names of all pages, the index last: it says which sources are missing."""
        return (*self._files, INDEX)

    @property
    def missing(self) -> int:
        """The number of files without a source."""
        origins = self._all_origins()
        return sum(origin == "missing" and not name.startswith("xs:") for name, origin in origins.items())

    def page(self, name: str, home: tuple[str, str] | None = None) -> AnnotatedPage:
        """The page of a name, below the page `home`, which is (text, address). KeyError where there is none."""
        if name == INDEX:
            index = self._index(_INDEXES[0], home)
            return AnnotatedPage(name, index.fingerprint, partial(self._rendered_index, index))
        file = self._files[name]
        source = self._source(file)
        view = self._view(file, source, _DETAILS[0], home)
        return AnnotatedPage(name, view.fingerprint, partial(self._rendered_file, file, source, view))

    def render(self, name: str, home: tuple[str, str] | None = None) -> str:
        """The same as a document."""
        return self.page(name, home).render()

    def top(self, number: int) -> Sequence[SourceLink]:
        """The functions with the most own cost."""
        return [self._link(id) for id in self.costs.ranked()[:number]]

    def addresses(self) -> Mapping[tuple[str, str], str]:
        """Where each function begins, by its name and file: the one with the most cost where several are alike."""
        functions = self.costs.functions
        order = sorted(functions, key=lambda id: (functions[id].inclusive, id))
        return {(functions[id].name, functions[id].file): self._address(id) for id in order}

    def _link(self, id: str) -> SourceLink:
        function, total = self.costs.functions[id], self.costs.total
        return SourceLink(
            name=name_of(function),
            file=shown(function.file),
            line=max(0, function.first_line),
            own=share(function.exclusive, total),
            total=share(function.inclusive, total),
            address=self._address(id),
        )

    def _address(self, id: str) -> str:
        return f"{page_of(self.costs.functions[id].file)}#{anchor(id)}"

    def _source(self, file: str) -> Source:
        names = [self.costs.functions[id].name for id in self.costs.files[file].functions]
        source = self._sources.source(file, names)
        self._origins[file] = source.origin
        return source

    def _all_origins(self) -> Mapping[str, Origin]:
        for file in self._files.values():
            if file not in self._origins:
                self._source(file)
        return self._origins

    def _view(self, file: str, source: Source, detail: Detail, home: tuple[str, str] | None) -> FileView:
        costs = self.costs
        ranges = self._ranges.get(file, ())
        return file_view(costs.files[file], costs, source, self._version, ranges, detail, home)

    def _rendered_file(self, file: str, source: Source, view: FileView) -> str:
        text = file_page.render(view)
        for detail in _DETAILS[1:]:
            if self._fits(text):
                break
            text = file_page.render(self._view(file, source, detail, view.home))
        return text

    def _index(self, detail: IndexDetail, home: tuple[str, str] | None) -> IndexView:
        origins = self._all_origins()
        return index_view.index_view(self._title, self.costs, origins, self._version, self._boxes, home, detail)

    def _rendered_index(self, index: IndexView) -> str:
        text = index_view.render(index)
        for detail in _INDEXES[1:]:
            if self._fits(text):
                break
            text = index_view.render(self._index(detail, index.home))
        return text

    def _fits(self, text: str) -> bool:
        return self._most_bytes is None or len(text.encode("utf-8", "backslashreplace")) <= self._most_bytes
