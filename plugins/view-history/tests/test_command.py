"""The command as a plugin, and its distribution where that is missing. `tests/cli/test_history.py` has the rest."""

from __future__ import annotations

import pytest
from perfcore_testing.profiles import timed
from perfcore_testing.project import Project
from perfcore_view_history.contract import HistoryCommandContract
from perfcore_view_history.result import HistoryResult

from perfcore.errors import NotFoundError, PluginError
from perfcore.library import open_repository
from perfcore.plugins.registry import Plugins


def test_the_library_selects_commands_and_the_newest_versions(project: Project) -> None:
    history = open_repository(project.path)
    for number in range(3):
        version = project.commit(f"Change {number}")
        history.register(history.save(timed(wall=10_000_000 + number)), version)
    result = history.history("wall", command="./gzip *", last=2)
    assert isinstance(result, HistoryResult)
    assert [len(series.points) for series in result.series] == [2]
    with pytest.raises(NotFoundError, match="no command is like"):
        history.history("wall", command="sort *")


def test_without_the_distribution_the_library_names_it(project: Project) -> None:
    without = open_repository(project.path, plugins=Plugins(disabled=["perfcore-view-history"]))
    with pytest.raises(PluginError, match="perfcore-view-history"):
        without.history()


class TestHistoryCommand(HistoryCommandContract):
    """Every law of the kind command."""
