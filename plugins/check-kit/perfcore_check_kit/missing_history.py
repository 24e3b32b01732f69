"""Versions with profiles that a history does not have, as the clone ends before them."""

from __future__ import annotations

from perfcore.repository import entries
from perfcore.repository.repository import Repository
from perfcore.text import plural


def note(repository: Repository) -> str:
    """Why older versions are not looked at, in a clone that lacks them though it has profiles of versions that are on
    no branch here; else empty. A change that is older than the clone is no change to any check."""
    why = getattr(repository.vcs, "missing_history", lambda: None)()
    count = sum(1 for _ in entries.unreachable(repository)) if why else 0
    return f"{plural(count, 'version')} with profiles may be older: {why}" if count else ""
