"""Tags of registered profiles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from perfcore.errors import PerfError, UsageError
from perfcore.model import Entry, is_tag
from perfcore.text import printable

if TYPE_CHECKING:
    from perfcore.repository.repository import Repository
    from perfcore.store.lookup import Ref

SCHEMA = 1


@attrs.frozen
class TagList:
    """(tag, version, entry) of every tag, sorted."""

    tags: tuple[tuple[str, str, Entry], ...]

    def as_json(self) -> dict[str, Any]:
        """The form of `docs/schemas/tags.json`."""
        rows = [{"tag": tag, "profile": entry.profile, "version": version} for tag, version, entry in self.tags]
        return {"schema": SCHEMA, "tags": rows}


def tag_list(repository: Repository) -> TagList:
    """All tags of registered profiles."""
    rows = [(tag, version, entry) for version, entry in repository.everywhere() for tag in entry.tags]
    return TagList(tuple(sorted(rows, key=lambda row: (row[0], row[1], row[2].profile))))


def check_tag(name: str) -> None:
    """UsageError for a text that cannot be a tag."""
    if not is_tag(name):
        hint = "the tag comes first: perf tag TAG PROFILE" if "@" in name else None  # as in the name of a profile
        raise UsageError(f"{name!r} is no tag: no blanks, '@', ':' or slashes, and no hyphen in front", hint=hint)


def _check_no_version(repository: Repository, name: str) -> None:
    """UsageError for a name of a version: a command that takes both would not mean the tag."""
    try:
        version = repository.version(name)
    except PerfError:
        return
    raise UsageError(f"{printable(name)} is a name of version {version[:10]}", hint="take another name for the tag")


def change_tag(repository: Repository, name: str, ref: Ref, *, delete: bool = False) -> Entry:
    """Tag a registered profile, or delete its tag. UsageError if the tag names another profile."""
    if not delete:
        check_tag(name)
        _check_no_version(repository, name)
    if ref.entry is None or ref.version is None:
        raise UsageError("only registered profiles can be tagged", hint="`perf add` registers")
    for version, entry in () if delete else repository.everywhere():
        if name in entry.tags and (version, entry.profile) != (ref.version, ref.entry.profile):
            raise UsageError(
                f"{name} is a tag of {entry.profile[:10]} at {version[:10]} already",
                hint=f"take it off first: perf tag --delete {name}",
            )
    return repository.tag(ref.version, ref.entry, add=() if delete else (name,), remove=(name,) if delete else ())
