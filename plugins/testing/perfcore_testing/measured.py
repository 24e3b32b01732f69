"""A project whose versions were measured: profiles of several commands, registered for each version."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import attrs

from perfcore.library import open_repository
from perfcore.model import Header, Profile
from perfcore_testing import hostile
from perfcore_testing.profiles import CREATED, timed

if TYPE_CHECKING:
    from perfcore_testing.project import Project

VERSIONS, STEP, RELEASE = 12, 7, 3
NAMES: tuple[str, ...] = (*filter(str.strip, hostile.NAMES), "../..", "%2e%2e%2f", "100%", "\udcff no Unicode")
"""Names of commands that are paths, addresses, or no Unicode, beside those of `hostile`."""


def of_command(name: str, number: int, wall: int) -> Profile:
    """A profile of a command, of a configuration of its own; `number` is that of its version."""
    return attrs.evolve(
        timed(runs=6, wall=wall),
        created=CREATED + number,
        config_id=name.encode("utf-8", "replace").hex(),
        header=Header(type="time", argv=(name,), cmd=name, exitcode=0),
    )


def measure(project: Project, commands: Mapping[str, Callable[[int], int]], versions: int = VERSIONS) -> list[str]:
    """New versions with a profile of each command, whose nanoseconds follow from the number of the version. Version
    `RELEASE` is tagged v1.0. Gives the ids of the versions."""
    history = open_repository(project.path)
    ids = []
    for number in range(versions):
        ids.append(project.commit(f"Change {number}"))
        if number == RELEASE:
            project.git("tag", "v1.0")
        for name, wall in commands.items():
            history.register(history.save(of_command(name, number, wall(number))), ids[-1])
    return ids


def slow_and_steady(project: Project) -> list[str]:
    """`./slow` takes twice as long from version `STEP` on, `./steady` does not."""
    return measure(project, {"./slow": lambda at: 5_000_000 * (1 + (at >= STEP)), "./steady": lambda at: 4_000_000})
