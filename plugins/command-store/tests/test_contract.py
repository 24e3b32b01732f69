"""The commands as plugins. `tests/cli` has their command lines."""

from __future__ import annotations

import pytest
from perfcore_command_store import contract
from perfcore_testing.project import Project


@pytest.mark.parametrize("words", [("rm", "0@p"), ("tag", "release", "0@i"), ("gc",), ("fsck",)])
def test_without_the_distribution_the_command_line_names_it(project: Project, words: tuple[str, ...]) -> None:
    environ = {"PERF_DISABLED_PLUGINS": "perfcore-command-store"}
    assert "perfcore-command-store is disabled" in project.perf(*words, env=environ, code=2).err


class TestRemoveCommand(contract.RemoveCommandContract):
    """Every law of the kind command."""


class TestTagCommand(contract.TagCommandContract):
    """Every law of the kind command."""


class TestGcCommand(contract.GcCommandContract):
    """Every law of the kind command."""


class TestFsckCommand(contract.FsckCommandContract):
    """Every law of the kind command."""
