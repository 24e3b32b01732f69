"""Maintenance of a repository: garbage collection and verification of the store, tags, and removal of profiles."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import attrs

from perfcore.errors import UsageError
from perfcore.model import Entry, is_tag
from perfcore.store import lookup, pending
from perfcore.store.gc import Finding, collect_garbage, examine

if TYPE_CHECKING:
    from perfcore.repository.repository import Repository
    from perfcore.store.lookup import Ref

SCHEMA = 1
# A driver's unfinished files younger than an hour may belong to a process at work: no write of the store takes longer.
_UNFINISHED = 3_600_000_000_000


@attrs.frozen(kw_only=True)
class GcResult:
    """The keys of the removed objects with their bytes, and how many objects remain."""

    dry_run: bool
    removed: tuple[str, ...]
    bytes: int
    kept: int

    def as_json(self) -> dict[str, Any]:
        """The form of `docs/schemas/gc.json`."""
        return {"schema": SCHEMA, **attrs.asdict(self), "removed": list(self.removed)}


@attrs.frozen(kw_only=True)
class FsckResult:
    """Damaged and missing parts of the store, and notes."""

    findings: tuple[Finding, ...]

    @property
    def errors(self) -> int:
        return sum(finding.level == "error" for finding in self.findings)

    def as_json(self) -> dict[str, Any]:
        """The form of `docs/schemas/fsck.json`."""
        return {"schema": SCHEMA, "findings": [attrs.asdict(finding) for finding in self.findings]}


def remove_garbage(repository: Repository, grace: float | None = None, *, dry_run: bool = False) -> GcResult:
    """Remove objects that nothing refers to and that are older than `grace` seconds (None: `gc.grace`)."""
    seconds = float(repository.config.get("gc.grace")) if grace is None else grace
    before = time.time_ns() - int(seconds * 1e9)
    swept = collect_garbage(repository.store, older_than=before, dry_run=dry_run)
    prune = getattr(repository.store.storage, "prune", None)
    if prune is not None and not dry_run:
        prune(min(before, time.time_ns() - _UNFINISHED))
    return GcResult(dry_run=dry_run, removed=swept.removed, bytes=swept.bytes, kept=swept.kept)


def verify(repository: Repository) -> FsckResult:
    """Read everything in the store; nothing changes."""
    return FsckResult(findings=tuple(examine(repository.store)))


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
        raise UsageError(f"{name!r} is no tag: no blanks, '@', ':' or slashes, and no hyphen in front")


def change_tag(repository: Repository, name: str, ref: Ref, *, delete: bool = False) -> Entry:
    """Tag a registered profile, or delete its tag. UsageError if the tag names another profile."""
    if not delete:
        check_tag(name)
    if ref.entry is None or ref.version is None:
        raise UsageError("only registered profiles can be tagged", hint="`perf add` registers")
    for version, entry in () if delete else repository.everywhere():
        if name in entry.tags and (version, entry.profile) != (ref.version, ref.entry.profile):
            raise UsageError(
                f"{name} is a tag of {entry.profile[:10]} at {version[:10]} already",
                hint=f"take it off first: perf tag --delete {name}",
            )
    return repository.tag(ref.version, ref.entry, add=() if delete else (name,), remove=(name,) if delete else ())


def check_removable(repository: Repository, name: str, refs: Sequence[Ref]) -> None:
    """AmbiguousError where a name that was found among the registered profiles fits a pending one as well. Others only
    read what a name means; to remove the wrong one would lose it."""
    if lookup.is_number(name) or not refs or refs[0].entry is None or name in refs[0].entry.tags:
        return
    if waiting := lookup.pending_called(name, repository.pending()):
        raise lookup.ambiguous(name, [*refs, *waiting])


def remove(repository: Repository, refs: Sequence[Ref], *, dry_run: bool = False) -> tuple[Ref, ...]:
    """Take profiles off their versions, and drop pending ones; each once. UsageError, before anything is removed, for
    a file outside of the store."""
    unique = tuple({ref.name: ref for ref in refs}.values())  # a range and a tag may name one profile
    for ref in unique:
        if ref.entry is None and ref.pending is None:
            raise UsageError(f"{ref.path} is a file outside the store", hint="`rm` of your shell removes files")
    for ref in () if dry_run else unique:
        if ref.entry is not None and ref.version is not None:
            repository.unregister(ref.version, ref.entry)
        elif ref.pending is not None:
            pending.remove(repository.store, ref.pending)
    return unique
