"""A repository with a history: two commands over twelve versions, of which one became slower."""

from __future__ import annotations

import attrs
import pytest
from perfcore_site_kit.site import Site
from perfcore_testing import hostile
from perfcore_testing.pages import axe, browser, window
from perfcore_testing.profiles import CREATED, timed
from perfcore_testing.project import Project, empty_project, project

from perfcore.library import open_repository
from perfcore.model import Header, Profile

__all__ = ["axe", "browser", "empty_project", "measured", "project", "site", "window"]

VERSIONS, STEP = 12, 7


def of_command(name: str, number: int, wall: int) -> Profile:
    """A profile of a command with a configuration of its own."""
    return attrs.evolve(
        timed(runs=6, wall=wall),
        created=CREATED + number,
        config_id=f"1:{abs(hash(name)) % 10**9:040d}",
        header=Header(type="time", argv=(name,), cmd=name, exitcode=0),
    )


@pytest.fixture
def measured(project: Project) -> Project:
    """`slow` takes twice as long from the eighth version on; `steady` does not; a release is before."""
    history = open_repository(project.path)
    for number in range(VERSIONS):
        version = project.commit(f"Change {number}")
        if number == 3:
            project.git("tag", "v1.0")
        for name, wall in (("./slow", 5_000_000 if number < STEP else 10_000_000), ("./steady", 4_000_000)):
            history.register(history.save(of_command(name, number, wall)), version)
    return project


@pytest.fixture
def site(measured: Project) -> Site:
    return Site(open_repository(measured.path).repository)


HOSTILE = (*filter(str.strip, hostile.NAMES), "../..", "%2e%2e%2f", "%", "\udcff no Unicode")
