"""Versions of the code, and the list of what is registered for one."""

from __future__ import annotations

import re
from collections.abc import Iterable

from perfcore.model import AttrsFields
from perfcore.named_tuple import NamedTuple

_TAG = r"[^\s@:/\\-][^\s@:/\\]{0,99}"  # @ : / separate names, blanks separate words, - begins an option


class MinorVersion(NamedTuple):
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


class MajorVersion(NamedTuple):
    """A named line of minor versions (in git a branch). `name` is empty for a detached head, `head` is None
    for a branch that has no version yet."""

    name: str
    head: str | None


def is_tag(text: str) -> bool:
    """Whether a text can name a profile: no blanks, `@`, `:` or slashes, and no hyphen in front."""
    return re.fullmatch(_TAG, text) is not None and text.isprintable()


def usable_tags(texts: Iterable[str]) -> tuple[str, ...]:
    """Those that are tags, each once: every tag from outside passes through here."""
    return tuple(dict.fromkeys(filter(is_tag, texts)))


class Entry(NamedTuple):
    """A profile as the index of its version lists it: everything that `log` and `status` show."""

    profile: str
    created: int
    name: str
    type: str
    tables: tuple[str, ...] = ()
    cmd: str = ""
    args: str = ""
    workload: str = ""
    collector: str = ""
    postprocessors: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    config_id: str = ""
    environment_id: str = ""
    tombstone: bool = False

    @property
    def label(self) -> str:
        return " ".join(word for word in (self.cmd, self.args, self.workload) if word)


for _versioned in (MinorVersion, MajorVersion, Entry):
    _versioned.__attrs_attrs__ = AttrsFields()  # type: ignore[union-attr]
