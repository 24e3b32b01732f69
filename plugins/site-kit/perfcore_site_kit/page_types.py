"""What a site is asked for, and what it gives: options, modes and pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

DATA = "data"
"""The folder of the data of charts in a static site."""


class SiteOptions(msgspec.Struct, frozen=True, kw_only=True):
    """`title` is the name of the project (by default that of its folder), `head` where the branch ends (by default the
    version that is checked out)."""

    title: str = ""
    head: str | None = None


class Mode(msgspec.Struct, frozen=True, kw_only=True):
    """How pages are made: with links for a server or for files that are opened by a double click, and with or without
    the elements by which people decide about changes. `token` is in the forms of pages that write."""

    links: Literal["server", "files"] = "server"
    writable: bool = False
    token: str = ""

    def __repr__(self) -> str:  # without the token
        return f"Mode(links={self.links!r}, writable={self.writable!r})"


class Draft(msgspec.Struct, frozen=True, kw_only=True):
    """A decision that was sent and could not be written: why, and what people had filled in."""

    problem: str = ""
    state: str = ""
    why: str = ""
    fixed_in: str = ""
    until: str = ""


NO_DRAFT = Draft()
SERVER, FILES = Mode(links="server"), Mode(links="files")


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """A page as bytes. `policy` is what its content security policy allows, for a header too. `files` are the data of
    its charts, by their names below the root, where a page of files does not hold them."""

    content: bytes
    media_type: str = "text/html; charset=utf-8"
    policy: str = "default-src 'none'"
    files: Mapping[str, bytes] = {}

    def __repr__(self) -> str:  # without the content
        return f"Page(media_type={self.media_type!r}, policy={self.policy!r})"
