"""The ids of changes, and the command as a plugin. `tests/cli/test_ack.py` has the command line."""

from __future__ import annotations

import pytest
from perfcore_command_ack import triage
from perfcore_command_ack.contract import AcknowledgeContract
from perfcore_testing.project import Project

from perfcore.errors import AmbiguousError, NotFoundError, PluginError
from perfcore.library import open_repository
from perfcore.plugins.registry import Plugins


def test_a_change_is_named_by_the_beginning_of_its_id() -> None:
    assert triage.find("ab", ["abc", "b", "abc"]) == "abc"
    assert triage.find("ab", ["abc", "ab"]) == "ab"
    with pytest.raises(AmbiguousError, match="2 changes begin with 'ab': abc, abd"):
        triage.find("ab", ["abd", "abc"])
    for nothing in ("x", ""):
        with pytest.raises(NotFoundError):
            triage.find(nothing, ["abc"])
    with pytest.raises(NotFoundError):
        triage.find("", [])


def test_without_the_distribution_the_library_and_the_command_line_name_it(project: Project) -> None:
    without = open_repository(project.path, plugins=Plugins(disabled=["perfcore-command-ack"]))
    with pytest.raises(PluginError, match="perfcore-command-ack"):
        without.accept("9d40", why="it is safer", author="Ann")
    environ = {"PERF_DISABLED_PLUGINS": "perfcore-command-ack"}
    told = project.perf("check", "ack", "--list", env=environ, code=2).err
    assert "`perf check` has no command 'ack'" in told
    assert "perfcore-command-ack is disabled" in told


class TestAcknowledge(AcknowledgeContract):
    """Every law of the kind command."""
