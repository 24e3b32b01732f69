"""Profiles of what a program counted of itself: regions, and the readings of a store."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perfcore.errors import VersionError
from perfcore.model.record import replace

if TYPE_CHECKING:
    from perfcore.model import Profile
    from perfcore.profile.table import Table
    from perfcore.store.pending import Pending
    from perfcore_collect_papi.choice import Choice

Facts = dict[str, Any]


def program_profile(
    kind: str,
    name: str,
    choice: Choice,
    params: Mapping[str, Any],
    tables: dict[str, Table],
    *,
    created: int,
    machine: Facts,
    inherit: bool = False,
    notes: tuple[str, ...] = (),
) -> Profile:
    """The profile `kind name`, such as `region parse`. Its type says how it was counted, and `params` what makes two of
    them comparable."""
    from importlib.metadata import version

    from perfcore import environment
    from perfcore.model import Header, Profile, Tool

    machine = machine or environment.facts()
    type = f"{choice.profile_type}.{kind}"
    sampling = {
        "source": choice.source,
        "attribution": choice.attribution,
        "domain": choice.wanted.domain,
        "multiplexed": choice.wanted.multiplex,
        "inherit": inherit,
        "events": list(choice.events),
        "papi": choice.papi,
    }
    own_version = version("perfcore-collect-papi")
    return Profile(
        header=Header(type=type, cmd=kind, args=name),
        created=created,
        collector=Tool(name="papi", version=own_version, params=dict(params), sampling=sampling),
        machine=machine,
        config_id=environment.config_id({**params, "type": type}),
        environment_id=environment.environment_id(machine),
        notes=(*choice.notes, *notes),
        tables=tables,
    )


def save(make: Callable[[Facts], Profile], directory: Path | None) -> Pending:
    """Keeps the profile, which is made of the facts of the machine, as a pending one of the repository around a folder
    (this one)."""
    from perfcore.repository import Repository

    repository = Repository.open(directory or Path.cwd())
    profile = make(repository.facts())
    with contextlib.suppress(VersionError):  # there may be none yet
        profile = replace(profile, origin=repository.version(), dirty=repository.vcs.is_dirty())
    return repository.save(profile)
