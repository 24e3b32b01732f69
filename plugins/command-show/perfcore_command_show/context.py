"""What views show beside series: which changes somebody accepted, and which versions are releases."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from perfcore.analysis import acceptance
from perfcore.model import Change
from perfcore.repository.repository import Repository


def accepted(repository: Repository, changes: Iterable[Change]) -> dict[str, str]:
    """The reason for each of these changes that somebody accepted, by its id."""
    held = acceptance.of_changes(changes, acceptance.accepted(repository.store))
    return {change: one.why or "without a reason" for change, one in held.items()}


def releases(repository: Repository) -> dict[str, tuple[str, ...]]:
    """The tags of versions, by their full ids."""
    tags: Mapping[str, str] = getattr(repository.vcs, "tags", dict)()
    tags_by_version: dict[str, tuple[str, ...]] = {}
    for tag, version in sorted(tags.items()):
        tags_by_version[version] = (*tags_by_version.get(version, ()), tag)
    return tags_by_version
