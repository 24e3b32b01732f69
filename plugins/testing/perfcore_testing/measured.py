"""A project whose versions were measured: profiles of several commands, registered for each version."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from perfcore.library import open_repository
from perfcore.model import Header, Profile
from perfcore.model.record import replace
from perfcore_testing import hostile
from perfcore_testing.profiles import CREATED, sampled, timed

if TYPE_CHECKING:
    from perfcore_testing.project import Project

VERSIONS, STEP, RELEASE = 12, 7, 3
NAMES: tuple[str, ...] = (*filter(str.strip, hostile.NAMES), "../..", "%2e%2e%2f", "100%", "\udcff no Unicode")
"""Names of commands that are paths, addresses, or no Unicode, beside those of `hostile`."""


def of_command(name: str, number: int, wall: int) -> Profile:
    """A profile of a command, of a configuration of its own; `number` is that of its version."""
    return replace(
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


SOURCES = {
    "app.py": "import parse\n\n\n\n\ndef main():\n" + "".join(f"    step({number})\n" for number in range(12)),
    "parse.py": "\n" * 19 + "def parse(self):\n" + "".join(f"    parse({number})\n" for number in range(20)),
    "write.py": "\n\n\n\ndef write(text):\n    pass\n    print('<b>' + text)\n",
}
"""The sources of `perfcore_testing.profiles.sampled`, but for one file."""


def sampled_history(project: Project) -> list[str]:
    """`slow_and_steady` with sources, and with call stacks of the versions before and after the change."""
    for name, text in SOURCES.items():
        project.write(name, text)
    versions = slow_and_steady(project)
    history = open_repository(project.path)
    for number in (STEP - 1, STEP):
        profile = replace(sampled(1 + (number >= STEP)), created=CREATED + 100 + number, config_id="5a" * 20)
        history.register(history.save(profile), versions[number])
    return versions
