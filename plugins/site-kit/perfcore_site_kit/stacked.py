"""Which profiles have call stacks, by which two versions can be compared in the code. No profile is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from perfcore.model import Entry
    from perfcore.repository.repository import Repository

STACKS = "stacks"


def configurations(repository: Repository, baseline: str, target: str) -> list[Entry]:
    """The profiles with call stacks of a version that have a counterpart at another: the newest of each
    configuration."""
    before = {entry.config_id for entry in repository.entries(baseline) if STACKS in entry.tables and entry.config_id}
    after = {entry.config_id: entry for entry in repository.entries(target) if STACKS in entry.tables}
    return [entry for config, entry in after.items() if config in before]
