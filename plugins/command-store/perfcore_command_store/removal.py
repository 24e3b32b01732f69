"""Removal of profiles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from perfcore.errors import FormatError, UsageError
from perfcore.store import lookup, pending

if TYPE_CHECKING:
    from perfcore.repository.repository import Repository
    from perfcore.store.lookup import Ref
    from perfcore.store.pending import Pending


def check_removable(repository: Repository, name: str, refs: Sequence[Ref]) -> None:
    """AmbiguousError where a name that was found among the registered profiles fits a pending one as well. Others only
    read what a name means; to remove the wrong one would lose it."""
    if lookup.is_number(name) or not refs or refs[0].entry is None or name in refs[0].entry.tags:
        return
    if waiting := lookup.pending_called(name, repository.pending()):
        raise lookup.ambiguous(name, [*refs, *waiting])


def remove(repository: Repository, refs: Sequence[Ref], *, dry_run: bool = False) -> tuple[Ref, ...]:
    """Take profiles off their versions, and drop pending ones; each once. UsageError, before anything is removed, for
    a file outside of the store, FormatError for a folder that has the place of a pending one."""
    unique = tuple({ref.name: ref for ref in refs}.values())  # a range and a tag may name one profile
    for ref in unique:
        if ref.entry is None and ref.pending is None:
            raise UsageError(f"{ref.path} is a file outside the store", hint="`rm` of your shell removes files")
        if ref.pending is not None and not ref.pending.tag:
            raise FormatError(ref.pending.damage)
    for ref in () if dry_run else unique:
        if ref.entry is not None and ref.version is not None:
            repository.unregister(ref.version, ref.entry)
        elif ref.pending is not None:
            pending.remove(repository.store, ref.pending)
    return unique


def remove_named(
    repository: Repository, names: Sequence[str | Pending], refs: Sequence[Ref], *, dry_run: bool = False
) -> tuple[Ref, ...]:
    """Remove what each name means; AmbiguousError, before anything is removed, for a name that means two things."""
    for name, ref in zip(names, refs, strict=True):
        if isinstance(name, str):
            check_removable(repository, name, [ref])
    return remove(repository, refs, dry_run=dry_run)
