"""The command as a plugin. `tests/cli/test_config.py` has the command line."""

from __future__ import annotations

from perfcore_command_config.contract import ConfigCommandContract
from perfcore_testing.project import Project


def test_without_the_distribution_the_command_line_names_it(project: Project) -> None:
    environ = {"PERF_DISABLED_PLUGINS": "perfcore-command-config"}
    assert "perfcore-command-config is disabled" in project.perf("config", "get", env=environ, code=2).err


class TestConfigCommand(ConfigCommandContract):
    """Every law of the kind command."""
