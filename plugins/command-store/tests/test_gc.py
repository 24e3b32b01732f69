"""`perf gc` where there is room to remove, and none to pack."""

from __future__ import annotations

import sys

from perfcore_testing import profiles
from perfcore_testing.project import Project

from perfcore.library import open_repository


def test_what_was_removed_is_said_where_there_is_no_room_to_pack(project: Project) -> None:
    project.commit("First")
    history = open_repository(project.path)
    for number in range(70):  # a pack is made of 64 or more
        history.register(history.save(profiles.timed(wall=1_000_000 + number)))
    history.remove("0@i")
    command = f"ulimit -f 1; exec {sys.executable} -m perfcore gc --grace 0s"  # blocks of 512 bytes: no pack fits
    # Python would keep the beginning of bytecode that is longer than the limit.
    done = project.run("sh", "-c", command, env={"PYTHONDONTWRITEBYTECODE": "1"})
    assert done.code == 4
    assert "removed 1 object (" in done.err
    assert "but cannot pack" in done.err
    assert "nothing was changed" not in done.err
    assert project.perf("fsck").code == 0
    assert "removed 0 objects" in project.perf("gc", "--grace", "0s").err
