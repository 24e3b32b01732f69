"""What a site is asked for, and what it gives: options, modes and pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import attrs

DATA = "data"
"""The folder of the data of charts in a static site."""


@attrs.frozen(kw_only=True)
class SiteOptions:
    """`title` is the name of the project (by default that of its folder), `head` where the branch ends (by default the
    version that is checked out)."""

    title: str = ""
    head: str | None = None


@attrs.frozen(kw_only=True)
class Mode:
    """How pages are made: with links for a server or for files that are opened by a double click, and with or without
    the elements by which people decide about changes. `token` is in the forms of pages that write."""

    links: Literal["server", "files"] = "server"
    writable: bool = False
    token: str = attrs.field(default="", repr=False)


SERVER, FILES = Mode(links="server"), Mode(links="files")


@attrs.frozen(kw_only=True)
class Page:
    """A page as bytes. `policy` is what its content security policy allows, for a header too. `files` are the data of
    its charts, by their names below the root, where a page of files does not hold them."""

    content: bytes = attrs.field(repr=False)
    media_type: str = "text/html; charset=utf-8"
    policy: str = "default-src 'none'"
    files: Mapping[str, bytes] = attrs.field(factory=dict, repr=False)
