"""The difference as a call of the library, its document, and the command as a plugin."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from perfcore_command_diff.contract import DiffContract
from perfcore_command_diff.engine import DiffResult
from perfcore_testing.profiles import CREATED, timed
from perfcore_testing.project import Project

from perfcore.errors import PluginError
from perfcore.library import History, open_repository
from perfcore.model.record import replace
from perfcore.plugins.registry import Plugins

SCHEMA = Path(__file__).parents[3] / "docs" / "schemas" / "diff.json"


@pytest.fixture
def history(project: Project) -> History:
    history = open_repository(project.path)
    for number, wall in enumerate((10_000_000, 20_000_000)):
        history.save(replace(timed(wall=wall), created=CREATED + number))
    return history


def test_the_library_gives_the_document_of_the_command(history: History, project: Project) -> None:
    result = history.diff("0@p", "1@p")
    assert isinstance(result, DiffResult)
    document = json.loads(json.dumps(result.as_json()))
    Draft202012Validator(json.loads(SCHEMA.read_text())).validate(document)
    assert project.perf("diff", "0@p", "1@p", "--json").json == document
    assert result.table.target > result.table.baseline


def test_the_registered_profiles_are_the_sources_of_the_difference(history: History) -> None:
    entry = history.register("0@p", history.version())
    result = history.diff(entry, history.pending()[-1])
    assert result.profile.sources == (entry.profile,)


def test_without_the_distribution_the_library_and_the_command_line_name_it(history: History, project: Project) -> None:
    without = open_repository(history.repository.root, plugins=Plugins(disabled=["perfcore-command-diff"]))
    with pytest.raises(PluginError, match="perfcore-command-diff"):
        without.diff("0@p", "1@p")
    environ = {"PERF_DISABLED_PLUGINS": "perfcore-command-diff"}
    assert "perfcore-command-diff is disabled" in project.perf("diff", "0@p", "1@p", env=environ, code=2).err


class TestDiff(DiffContract):
    """Every law of the kind command."""
