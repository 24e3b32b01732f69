"""The sum of samples as a profile."""

from __future__ import annotations

import time

from perfcore_fleet_kit import cells
from perfcore_fleet_kit.query import Query, profile_of
from perfcore_fleet_kit.shares import sample_of
from perfcore_fleet_kit.state import FleetState

from perfcore.model import Profile
from perfcore.model.listener import Listener
from perfcore.repository.repository import Repository
from perfcore_command_fleet.questions import EVERYTHING, merged

_HOUR = 3_600_000_000_000  # ns


def profile(
    repository: Repository,
    revision: str | None = None,
    query: Query = EVERYTHING,
    name: str = "",
    listener: Listener | None = None,
) -> Profile:
    """The samples of a query as a profile of the version, with cells of an hour for the check `shares`."""
    read, selected, sum_of_all = merged(repository, revision, query, listener)
    made = profile_of(sum_of_all, query, read.version, time.time_ns(), name, sum_of_all.problems)
    sample = cells.folded(sample_of(repository.store, selected, _HOUR))
    return made.replace_tables(**cells.cell_tables(sample, made.tables))


def profile_with_state(
    repository: Repository, revision: str | None, query: Query, name: str, listener: Listener | None = None
) -> tuple[FleetState, Profile]:
    """The same with the state of the version that it was read from."""
    read, _, sum_of_all = merged(repository, revision, query, listener)
    return read, profile_of(sum_of_all, query, read.version, time.time_ns(), name, sum_of_all.problems)
