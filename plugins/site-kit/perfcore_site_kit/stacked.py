"""Which profiles have call stacks, by which two versions can be compared in the code. The read model keeps the answers,
since a profile never changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from perfcore.errors import FormatError, NotFoundError

if TYPE_CHECKING:
    from perfcore.model import Entry
    from perfcore.repository.repository import Repository

_SPACE = "profiles with stacks"
_YES, _NO = b"1", b"0"
_MOST = 100  # configurations of a version that are looked at: each may be a profile to be read


def configurations(repository: Repository, baseline: str, target: str) -> list[Entry]:
    """The profiles with call stacks of a version that have a counterpart at another: the newest of each
    configuration."""
    before = newest_entries(repository, baseline)
    after = newest_entries(repository, target)
    shared = [(before[config], entry) for config, entry in after.items() if config in before][:_MOST]
    stacked = with_stacks(repository, [entry for pair in shared for entry in pair])
    return [entry for base, entry in shared if {base.profile, entry.profile} <= stacked]


def newest_entries(repository: Repository, version: str) -> dict[str, Entry]:
    """The newest profile of each configuration of a version."""
    return {entry.config_id: entry for entry in repository.entries(version) if entry.config_id}


def with_stacks(repository: Repository, entries: Sequence[Entry]) -> set[str]:
    """The ids of those profiles that have call stacks. One that cannot be read has none."""
    ids = {entry.profile for entry in entries}
    stored = repository.store.read_model.many(_SPACE, ids)
    looked = {id: _has_stacks(repository, id) for id in sorted(ids - set(stored))}
    repository.store.read_model.put(_SPACE, {id: _YES if has else _NO for id, has in looked.items()})
    return {id for id, answer in stored.items() if answer == _YES} | {id for id, has in looked.items() if has}


def _has_stacks(repository: Repository, id: str) -> bool:
    from perfcore.profile.stacks import has_stacks

    try:
        return has_stacks(repository.store.load(id).tables)
    except (FormatError, NotFoundError):
        return False
