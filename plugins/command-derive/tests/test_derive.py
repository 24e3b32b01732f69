"""The commands as plugins, and the library without them. `tests/cli` has the command lines."""

from __future__ import annotations

import pytest
from perfcore_command_derive.contract import AggregateCommandContract, PostprocessCommandContract
from perfcore_testing.profiles import CREATED, timed
from perfcore_testing.project import Project

from perfcore.errors import PluginError, UsageError
from perfcore.library import History, open_repository
from perfcore.model.record import replace
from perfcore.plugins.registry import Plugins


@pytest.fixture
def history(project: Project) -> History:
    history = open_repository(project.path)
    for number in range(2):
        history.save(replace(timed(), created=CREATED + number))
    return history


def test_a_range_is_aggregated_and_no_profile_is_wrong_usage(history: History) -> None:
    joined = history.aggregate("0@p-1@p").profile
    single, total = (sum(profile.tables["resources"]["wall"]) for profile in (history.profile("0@p"), joined))
    assert total == 2 * single
    with pytest.raises(UsageError, match="say which profiles"):
        history.aggregate()


def test_a_derived_profile_names_its_source_only_if_that_is_registered(history: History) -> None:
    assert history.postprocess("0@p", "filter", top=2, by="wall").sources == ()
    entry = history.register("0@p", history.version())
    for name in (entry, "0@i"):
        derived = history.postprocess(name, "filter", top=2, by="wall")
        assert derived.sources == (entry.profile,)
        assert len(derived.tables["resources"]["wall"]) == 2
    assert history.postprocess(history.profile("0@i"), "filter", top=1, by="wall").sources == ()


def test_without_the_distribution_the_library_names_it(history: History) -> None:
    without = open_repository(history.repository.root, plugins=Plugins(disabled=["perfcore-command-derive"]))
    with pytest.raises(PluginError, match="perfcore-command-derive"):
        without.aggregate("0@p", "1@p")
    with pytest.raises(PluginError, match="perfcore-command-derive"):
        without.postprocess("0@p", "filter")


class TestAggregateCommand(AggregateCommandContract):
    """Every law of the kind command."""


class TestPostprocessCommand(PostprocessCommandContract):
    """The same."""
