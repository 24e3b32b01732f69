"""Maintenance of a repository's store: garbage collection and verification."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import attrs

from perfcore.store.gc import Finding, collect_garbage, examine

if TYPE_CHECKING:
    from perfcore.repository.repository import Repository

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
