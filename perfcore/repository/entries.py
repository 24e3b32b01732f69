"""Reading what is registered: of every version, of the whole store, by name."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from perfcore.errors import FormatError, NotFoundError, PerfError
from perfcore.store.catalog import Catalog

if TYPE_CHECKING:
    from perfcore.model import Entry, MinorVersion, Profile
    from perfcore.repository.repository import Repository
    from perfcore.store.lookup import Ref

_NEAR = 100  # versions: what is further back has few stacks in common, and each costs a look


@contextlib.contextmanager
def catalog(repository: Repository) -> Iterator[Catalog]:
    """What the indexes say now, quicker than reading them one by one; what it learned is kept for the next."""
    indexes = Catalog(repository.store, repository.store.read_model)
    try:
        yield indexes
    finally:
        indexes.save()


def walk(
    repository: Repository, head: str | None = None, newest: int | None = None
) -> Iterator[tuple[MinorVersion, tuple[Entry, ...]]]:
    """`Repository.walk`."""
    head, vcs = head or repository.version(), repository.vcs
    with catalog(repository) as indexes:
        few = None if newest is None or not hasattr(vcs, "newest_minor_versions") else newest
        for version in vcs.walk_minor_versions(head) if few is None else vcs.newest_minor_versions(head, few):
            yield version, repository.readable_entries(version.id, indexes)


def nearest_stacks(repository: Repository, profile: Profile) -> Mapping[str, Sequence[str]]:
    """The ids of the pieces with the stacks of the nearest ancestor that has a profile of the same type. So a fresh
    clone, which remembers nothing, stores only what is new."""
    from perfcore.profile import codec

    with contextlib.suppress(PerfError):
        for _, entries in itertools.islice(walk(repository, profile.origin, _NEAR), _NEAR):
            for entry in reversed(entries):
                if entry.type == profile.header.type and entry.tables:
                    content = repository.store.get(entry.profile, "profile").content
                    if pieces := codec.shared_pieces(content, entry.name):
                        return pieces
    return {}


def everywhere(repository: Repository) -> list[tuple[str, Entry]]:
    """`Repository.everywhere`."""
    entries = []
    with catalog(repository) as indexes:
        for row in indexes.everywhere():
            if isinstance(row, FormatError):
                repository.leave_out(row)
            else:
                entries += [(row[0], entry if entry.type else completed(repository, entry)) for entry in row[1]]
    return entries


def unreachable(repository: Repository) -> Iterator[tuple[str, list[Entry]]]:
    """The versions with profiles that are on no branch, as after a rebase, with these profiles."""
    remaining: dict[str, list[Entry]] = {}
    for version, entry in everywhere(repository):
        remaining.setdefault(version, []).append(entry)
    heads = [repository.version(), *(branch.head for branch in repository.vcs.walk_major_versions() if branch.head)]
    for head in dict.fromkeys(heads):
        if not remaining:  # the usual case, after the first branch
            return
        for reached in repository.vcs.walk_minor_versions(head):
            remaining.pop(reached.id, None)
    yield from remaining.items()


def find(repository: Repository, name: str, *, unregistered: bool = False) -> list[Ref]:
    """`Repository.find`."""
    from perfcore.store import lookup

    only = unregistered and not lookup.is_number(name)
    places = lookup.Places(
        version=repository.version,
        entries=(lambda version: ()) if only else repository.entries,
        pending=repository.pending,
        everywhere=(lambda: ()) if only else repository.everywhere,
        cwd=repository.cwd,
    )
    before = len(repository.left_out)
    refs = lookup.resolve(name, places)
    del repository.left_out[before:]  # the answer does not depend on what else there may be
    return refs


def load(repository: Repository, ref: Ref) -> Profile:
    """The profile that was found."""
    if ref.entry is not None:
        return repository.store.load(ref.entry.profile)
    if ref.pending is not None:
        if ref.pending.profile is None:
            raise FormatError(ref.pending.damage)
        return ref.pending.profile
    assert ref.path is not None
    return repository.read_file(ref.path)


def completed(repository: Repository, entry: Entry) -> Entry:
    """An entry of version 1 of the index, which says only name and time, with the rest from its profile."""
    from perfcore.profile import codec
    from perfcore.repository.registration import entry_of

    with contextlib.suppress(FormatError, NotFoundError):
        profile = repository.store.load(entry.profile)
        tables = codec.piece_ids(repository.store.get(entry.profile, "profile").content, entry.name)
        return entry_of(profile, entry.profile, entry.name, tables)._replace(created=entry.created, tags=entry.tags)
    return entry._replace(type="unreadable")  # still listed, so that the loss shows
