"""The addresses of pages: the same words for a server and for files, made of names that may be anything.

A part of an address has only small letters, digits, `.`, `_`, `-` and `~`, and does not begin with a point; so it is
one segment of a URL and a name of a file on every system. A name that is written otherwise is shortened to such
characters, followed by a digest of the whole. Nobody has to turn it back: pages are looked up by their address.
"""

from __future__ import annotations

import functools
import hashlib
import re

from perfcore.named_tuple import NamedTuple

_PLAIN = re.compile(r"[a-z0-9][a-z0-9_.-]{0,63}")
_OTHER = re.compile(r"[^a-z0-9]+")
_READABLE = 40  # characters of a name that is shortened
_DIGEST = 10  # hexadecimal digits: of 100,000 names two are alike once in 200 repositories


class PagePath(NamedTuple):
    """The identity of a page: its kind (`overview`, `series`, …) and what it is of, as parts of an address."""

    kind: str
    parts: tuple[str, ...] = ()

    @property
    def address(self) -> str:
        """The path below the root of a server, without a slash in front: `series/<config>/<metric>`, empty for the
        overview."""
        return "" if self.kind == OVERVIEW else "/".join((self.kind, *self.parts))

    @property
    def file(self) -> str:
        """The name of the file below the root of a static site. Annotated sources have names of files already."""
        return self.address if self.kind == SOURCES else f"{self.address or 'index'}.html"

    @property
    def depth(self) -> int:
        """How many folders the page is below the root."""
        return 0 if self.kind == OVERVIEW else len(self.parts)


OVERVIEW, CHANGES, CHANGE, SERIES, RANGE = "overview", "changes", "change", "series", "range"
VERSION, COMPARE, DIFF, FLAME, MEASURE = "version", "compare", "diff", "flame", "measure"
SOURCES = "sources"
CONTRACTS, PLUGINS, SEARCH, LIVE = "contracts", "plugins", "search", "live"
BETWEEN = ".."
"""Between the two versions of a comparison; no part has it, for versions have no two points."""


@functools.lru_cache(maxsize=65536)
def part(name: str) -> str:
    """A name as a part of an address. Equal parts are of equal names."""
    if _PLAIN.fullmatch(name) and BETWEEN not in name and not name.endswith("."):
        return name
    digest = hashlib.sha1(name.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()[:_DIGEST]
    readable = _OTHER.sub("-", name.lower())[:_READABLE].strip("-")
    return f"{readable}~{digest}"


def pair(baseline: str, target: str) -> str:
    """Two versions as one part."""
    return f"{part(baseline)}{BETWEEN}{part(target)}"


def is_number(text: str) -> bool:
    """Whether a part is a number from 1 on, as addresses write it."""
    return re.fullmatch(r"[1-9][0-9]{0,5}", text) is not None


def parse(address: str) -> PagePath | None:
    """The page of an address, None for one that no page has. Nothing says that there is such a page."""
    if not address:
        return PagePath(OVERVIEW)
    kind, *parts = address.split("/")
    return PagePath(kind, tuple(parts))
