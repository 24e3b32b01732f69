"""Commands that are killed lose nothing, register nothing wrong, and leave a store that needs no repair.

About 230 kills: 80 at random instants, four writers at a time, 35 of transfers between two clones, and one at every
file operation of the commands that change the store. Most of the victims are forked children that run the whole
command after its imports; one in eight of the random ones is a new interpreter. An error at every file operation is
tried with add and gc here, and with all of them in `benchmarks/torture.py`, which does more of everything.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest
from perfcore_storage_object.contract import server

KILLS = 80
KINDS = {"add", "rm", "tag", "gc", "collect", "run", "while measuring"}

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are looked for in /proc")


def test_commands_killed_at_random_instants_lose_nothing(torture: Callable[..., Any]) -> None:
    done = torture("killing.py", KILLS)
    assert sum(done["kills"].values()) >= KILLS
    assert set(done["kills"]) == KINDS
    assert done["registered"] > 0


@pytest.mark.parametrize(("remote", "kills"), [("folder", 20), ("git", 10)])
def test_pushes_and_pulls_killed_at_random_instants_lose_and_double_nothing(
    torture: Callable[..., Any], remote: str, kills: int
) -> None:
    done = torture("sharing.py", kills, remote)
    assert sum(done["kills"].values()) >= kills
    assert done["registered"] > 0


def test_transfers_over_a_bucket_killed_at_random_instants_lose_and_double_nothing(
    torture: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each pull by the journal brings what a list of all keys brings."""
    environment = server()
    if environment is None:
        pytest.skip("moto is not installed: pip install 'moto[server]', and PERFCORE_TEST_HARNESSES names its bin")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    done = torture("sharing.py", 5, "bucket")
    assert sum(done["kills"].values()) >= 5
    assert done["registered"] > 0


def test_commands_killed_at_every_file_operation_lose_nothing(torture: Callable[..., Any]) -> None:
    steps = torture("steps.py", "kill")
    assert all(count > 3 for count in steps.values()), steps
    assert steps["add"] > 25, steps


def test_commands_refused_at_any_file_operation_say_so_and_lose_nothing(torture: Callable[..., Any]) -> None:
    steps = torture("steps.py", "error", "add", "gc")
    assert all(count > 10 for count in steps.values()), steps
