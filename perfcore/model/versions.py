"""Versions of the code."""

from __future__ import annotations

import attrs


@attrs.frozen(kw_only=True)
class MinorVersion:
    """One version of the code (in git a commit)."""

    id: str
    parents: tuple[str, ...] = ()
    author: str = ""
    email: str = ""
    date: int = 0
    subject: str = ""

    @property
    def short(self) -> str:
        return self.id[:10]


@attrs.frozen(kw_only=True)
class MajorVersion:
    """A named line of minor versions (in git a branch). `name` is empty for a detached head, `head` is None
    for a branch that has no version yet."""

    name: str
    head: str | None
