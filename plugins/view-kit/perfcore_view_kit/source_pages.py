"""What a view of annotated sources may offer to a site beside `render`: its pages one by one, as the site shows them.

A view that has `source_pages` and `source_pages_revision` offers them; a site asks for both, and needs no distribution
of the view.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import msgspec

if TYPE_CHECKING:
    from perfcore.model import ViewData

INDEX = "index.html"


class SourceLink(msgspec.Struct, frozen=True):
    """A function with its shares in percent, as texts, and the address of its first line among the pages. `line` is 0
    where it is not known."""

    name: str
    file: str
    line: int
    own: str
    total: str
    address: str


class SourcePages(Protocol):
    """The annotated sources of one profile: pages of one folder, which name one another by their names there."""

    @property
    def names(self) -> Sequence[str]:
        """The names of the pages, which are names of files; `INDEX` is one of them."""
        ...

    def render(self, name: str, home: tuple[str, str]) -> str:
        """The page of a name: a whole document with a policy of its own, which links the page `home` above itself, as
        (text, address). KeyError where there is none."""
        ...

    def top(self, number: int) -> Sequence[SourceLink]:
        """The functions with the most own cost."""
        ...

    def addresses(self) -> Mapping[tuple[str, str], str]:
        """Where each function begins, by its name and file: the name of a page and an anchor."""
        ...


@runtime_checkable
class SourcePagesView(Protocol):
    """A view that makes them."""

    @property
    def source_pages_revision(self) -> str:
        """A text that differs where other pages would be made of the same data."""
        ...

    def source_pages(self, subject: ViewData, *, most_bytes: int) -> SourcePages:
        """The pages of the only profile of `subject`, with the sources of its version. A page that would have more than
        `most_bytes` leaves out details."""
        ...
