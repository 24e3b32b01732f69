"""Tags that came along: what breaks the rules of `perf tag` stays behind, and a tag that two clones gave is told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfcore.model import usable_tags
from perfcore.model.listener import Listener
from perfcore.store import index as indexes
from perfcore.text import plural

if TYPE_CHECKING:
    from perfcore.repository.repository import Repository


def refused_tags(key: str, data: bytes) -> list[str]:
    """What to say of an index whose bytes have tags that are none: reading it left them out."""
    index = indexes.decode(data, where=key, ruled=False)
    if all(entry.tags == usable_tags(entry.tags) for entry in index.entries):
        return []
    return [f"tags of {index.version[:10]} that break the rules of `perf tag` are left out"]


def tell_doubled(repository: Repository, listener: Listener) -> None:
    """Name the tags of several profiles. Nothing decides for the user which of two clones was right: until the tag is
    taken off one of them, a command that is given the tag lists both."""
    owners: dict[str, set[tuple[str, str]]] = {}
    for version, entry in repository.everywhere():
        for tag in entry.tags:
            owners.setdefault(tag, set()).add((version, entry.profile))
    for tag, profiles in sorted(owners.items()):
        if len(profiles) > 1:
            versions = ", ".join(sorted({version[:10] for version, _ in profiles}))
            listener.note(
                f"the tag {tag} names {plural(len(profiles), 'profile')} now, of {versions}: "
                f"perf tag --delete {tag} PROFILE takes it off one"
            )
