"""The command as a plugin. `tests/cli/test_plugins.py` has the command line."""

from __future__ import annotations

from perfcore_command_plugins.contract import PluginsCommandContract
from perfcore_testing.project import Project


def test_without_the_distribution_the_command_line_names_it(project: Project) -> None:
    environ = {"PERF_DISABLED_PLUGINS": "perfcore-command-plugins"}
    assert "perfcore-command-plugins is disabled" in project.perf("plugins", "list", env=environ, code=2).err


class TestPluginsCommand(PluginsCommandContract):
    """Every law of the kind command."""
