"""Several profiles as one, each read when it is needed."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from perfcore.errors import UsageError
from perfcore.hookspecs import AGGREGATE
from perfcore.model.record import replace
from perfcore.plugins.drivers import guard
from perfcore.store.lookup import sources

if TYPE_CHECKING:
    from perfcore.hookspecs import Aggregate
    from perfcore.model import Profile
    from perfcore.repository.repository import Repository
    from perfcore.store.lookup import Ref
    from perfcore.store.pending import Pending


def aggregate(driver: Aggregate, profiles: Iterable[Profile]) -> Profile:
    """The one profile. A driver without an accumulator gets all of them at once, as in the first plugin API."""
    # An accumulator holds one profile at a time in memory; the list of the first API holds all of them.
    if not hasattr(driver, "start"):
        return driver.aggregate(list(profiles))
    state = driver.start()
    for profile in profiles:
        state = driver.add(state, profile)
    return driver.finish(state)


def aggregate_profiles(repository: Repository, refs: Sequence[Ref], by: str, options: Mapping[str, Any]) -> Pending:
    """The profiles as one pending profile, of their version if they all are of one."""
    if not refs:
        raise UsageError("say which profiles", hint="`perf status` lists them: 0@p-3@p are the first four pending")
    configured = repository.plugin_options("aggregate", by)
    plugin, driver = repository.plugins.make(AGGREGATE, by, {**configured, **options})
    # Filled while the driver reads, since a version is known only once its profile is loaded.
    origins: set[str | None] = set()

    def profiles() -> Iterator[Profile]:
        for ref in refs:
            profile = repository.load(ref)
            origins.add(profile.origin or ref.version)
            yield profile

    with guard(plugin, "aggregate"):
        joined = aggregate(driver, profiles())
    origin = origins.pop() if len(origins) == 1 else None
    return repository.save(replace(joined, created=time.time_ns(), origin=origin, sources=sources(refs)))
