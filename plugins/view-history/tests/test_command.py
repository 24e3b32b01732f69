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


def test_a_view_gets_its_options(project: Project) -> None:
    history = open_repository(project.path)
    for wall in (10_000_000, 20_000_000, 20_000_000):
        history.register(history.save(timed(wall=wall)), project.commit(f"Change to {wall}"))
    heatmap = ("history", "wall", "--view", "heatmap")
    assert "from the first value" in project.perf(*heatmap).out
    assert "from the median value" in project.perf(*heatmap, "--baseline", "median").out
    assert "from the median value" in project.perf("history", "--baseline=median", "wall", "--view=heatmap").out
    assert "--baseline first|median" in project.perf(*heatmap, "--help").out
    picture = project.perf("history", "wall", "--width", "500", "-o", "wall.svg")
    assert 'width="500"' in (project.path / "wall.svg").read_text(), picture
    assert "no such option: --basline" in project.perf(*heatmap, "--basline", "median", code=None).err
    assert "one of first, median" in project.perf(*heatmap, "--baseline", "last", code=None).err


class TestHistoryCommand(HistoryCommandContract):
    """Every law of the kind command."""


def test_imported_profiles_without_a_configuration_are_not_denied(project: Project) -> None:
    project.commit("Measured elsewhere")
    project.write("a.folded", "main;work 3\nmain 1\n")
    project.perf("import", "a.folded", "--add", "--version", "HEAD")
    done = project.perf("history", code=3)
    assert "no profile of a version here says its configuration" in done.err
    assert "`perf diff`" in done.err
