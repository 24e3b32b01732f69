"""Joining the indexes of two sides, so that a profile that both tagged is listed once, with the tags of both.

A tag is changed by a new entry beside the tombstone of the old one (`perfcore.repository.registration.tag`). Of two
clones that did this to one profile, `perfcore.store.index.merge` keeps both new entries. What takes their place here
depends on the entries alone, so it is the same whichever side makes it, and joining again changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from perfcore.model import Entry
from perfcore.store import index as indexes
from perfcore.store.index import Index


def join(current: Index | None, incoming: Index) -> Index:
    """Every entry of both, where no profile has two entries of one name that are not removed."""
    joined = indexes.merge(current, incoming) if current is not None else incoming
    if len({(entry.profile, entry.name) for entry in joined.live}) == len(joined.live):  # the usual case
        return joined
    groups: dict[tuple[str, str], list[Entry]] = {}
    for entry in joined.entries:
        groups.setdefault((entry.profile, entry.name), []).append(entry)
    united = (change for entries in groups.values() for change in _united(joined._replace(entries=tuple(entries))))
    return indexes.merge(joined, joined._replace(entries=tuple(united)))


def _united(history: Index) -> Iterator[Entry]:
    """What to add to the entries of one profile: one with all tags, and the tombstones of the others."""
    live = history.live
    if len(live) < 2:
        return
    buried = tuple(entry._replace(tombstone=True) for entry in live)
    newest = max(live, key=lambda entry: (entry.type != "", entry.created, entry))  # version 1 knows no type
    entry = newest._replace(tags=_tags(live))
    if entry in live:
        yield from (tombstone for tombstone in buried if tombstone != entry._replace(tombstone=True))
        return
    yield from buried
    yield indexes.unburied(entry, history)


def _tags(entries: Iterable[Entry]) -> tuple[str, ...]:
    """Sorted: neither side's order counts more than the other's."""
    return tuple(sorted({tag for entry in entries for tag in entry.tags}))
