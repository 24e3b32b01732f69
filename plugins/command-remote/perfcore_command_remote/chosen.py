"""The versions whose profiles are brought."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from perfcore.measure.request import select_versions

if TYPE_CHECKING:
    from perfcore.repository.repository import Repository


def versions_of(
    repository: Repository, revisions: Sequence[str] | None, last: int | None, since: str | None, until: str | None
) -> frozenset[str] | None:
    """The ids of the chosen versions; None for all, those of other branches among them."""
    chosen = select_versions(repository, revisions or None, since, until=until, last=last)
    return None if chosen is None else frozenset(chosen)
