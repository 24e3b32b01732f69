"""Stores over a storage in memory, and what goes into them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from perfcore_testing.memory import MemoryStorage

from perfcore.model import Entry, Header, Profile, Tool
from perfcore.model.record import replace
from perfcore.profile.table import column, table
from perfcore.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable

VERSION = "c0" * 20


@pytest.fixture
def storage() -> MemoryStorage:
    return MemoryStorage()


@pytest.fixture
def store(storage: MemoryStorage) -> Store:
    return Store(storage)


@pytest.fixture
def make() -> Callable[..., Profile]:
    """A profile whose content is decided by a number; with `rows` over 4096 its table leaves the JSON."""

    def made(number: int = 0, rows: int = 5000, **changes: Any) -> Profile:
        resources = table("resources", [column("wall", range(number, number + rows), unit="ns", role="value")])
        profile = Profile(
            header=Header(type="time", cmd="sort", workload="big.txt"),
            created=1_750_000_000_000_000_000,
            collector=Tool(name="time"),
            tables={"resources": resources},
        )
        return replace(profile, **changes)

    return made


@pytest.fixture
def register(store: Store) -> Callable[..., Entry]:
    """Register a profile with a version of the VCS `git` and give its entry."""

    def registered(profile: Profile, version: str = VERSION, **changes: Any) -> Entry:
        from perfcore.store import objects

        data, tables = store.encode_profile(profile)
        id, _ = objects.encode(objects.Object("profile", profile.header.type, data))
        entry = Entry(
            profile=id, created=profile.created, name="time-sort.perf", type=profile.header.type, tables=tables
        )
        return store.register("git", version, data, profile.header.type, entry._replace(**changes))

    return registered
