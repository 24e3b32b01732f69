"""The commands as plugins, and the library without them. `tests/cli` has the command lines."""

from __future__ import annotations

import pytest
from perfcore_command_exchange.contract import ExportCommandContract, ImportCommandContract
from perfcore_testing.profiles import timed
from perfcore_testing.project import Project

from perfcore.errors import PluginError, UsageError
from perfcore.library import History, open_repository
from perfcore.plugins.registry import Plugins


@pytest.fixture
def history(project: Project) -> History:
    history = open_repository(project.path)
    history.save(timed())
    return history


def test_an_exported_profile_is_imported_unchanged(history: History) -> None:
    path = history.export("0@p", "measured.perf")
    (imported,) = history.import_(path, version="HEAD").profiles
    assert imported.pending.profile is not None
    assert imported.pending.profile.tables == history.profile("0@p").tables
    assert imported.pending.profile.origin == history.version()


def test_a_file_that_exists_is_replaced_only_if_asked(history: History) -> None:
    path = history.repository.cwd / "measured.perf"
    path.write_text("mine")
    with pytest.raises(UsageError, match="is there already"):
        history.export("0@p", path)
    assert path.read_text() == "mine"
    assert history.export("0@p", path, force=True) == path
    assert path.read_text() != "mine"


def test_without_the_distribution_the_library_names_it(history: History) -> None:
    without = open_repository(history.repository.root, plugins=Plugins(disabled=["perfcore-command-exchange"]))
    with pytest.raises(PluginError, match="perfcore-command-exchange"):
        without.export("0@p", "measured.perf")
    with pytest.raises(PluginError, match="perfcore-command-exchange"):
        without.import_("measured.perf")


class TestImportCommand(ImportCommandContract):
    """Every law of the kind command."""


class TestExportCommand(ExportCommandContract):
    """The same."""
