"""Comparison as a call of the library, its document, and the command as a plugin."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest
from jsonschema import Draft202012Validator
from perfcore_command_compare.contract import CompareContract
from perfcore_command_compare.result import ComparisonResult
from perfcore_testing.check import measured, noisy
from perfcore_testing.output import FakeContext
from perfcore_testing.project import Project

from perfcore.errors import PluginError, UsageError
from perfcore.library import History, open_repository
from perfcore.plugins.registry import Plugins

SCHEMA = Path(__file__).parents[3] / "docs" / "schemas" / "compare.json"
Follow = Callable[[Any], None]


@pytest.fixture
def history(project: Project, monkeypatch: pytest.MonkeyPatch) -> History:
    project.use_home(monkeypatch)
    return open_repository(project.path)


@pytest.fixture
def follow() -> Follow:
    """Fails where a document does not follow the schema."""
    schema = json.loads(SCHEMA.read_text())
    Draft202012Validator.check_schema(schema)

    def validate(document: Any) -> None:
        errors = [error.message for error in Draft202012Validator(schema).iter_errors(document)]
        assert errors == []

    return validate


def test_the_document_of_measured_runs_follows_the_schema(project: Project, follow: Follow) -> None:
    words = ("compare", "--again", "--max-pairs", "2", "--json", "-c", "true", "-c", "true x")
    document = project.perf(*words, code=None).json
    follow(document)
    assert document["pairs"] == 2
    assert document["changes"]


def test_a_notebook_shows_both_programs_and_each_metric(history: History) -> None:
    page = history.compare("true", "true '<b>'", max_pairs=2)._repr_html_()
    assert "<td>A</td><td>true</td>" in page
    assert "<td>wall</td>" in page
    assert "<b>" not in page


def test_the_document_of_identical_programs_follows_the_schema(project: Project, follow: Follow) -> None:
    document = project.perf("compare", "--json", "-c", "true", "-c", "true").json
    follow(document)
    assert document["identical"] is True


def test_the_library_gives_the_document_of_the_command(history: History, project: Project, follow: Follow) -> None:
    names = [history.save(measured(noisy(center, seed), session="s")).name for seed, center in ((1, 5e6), (2, 6e6))]
    result = history.compare(versions=(names[0], names[1]))
    assert isinstance(result, ComparisonResult)
    assert result.kind == "degradation"
    document = json.loads(json.dumps(result.as_json()))
    follow(document)
    assert project.perf("compare", *names, "--json", code=1).json == document
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        result.pairs = 0  # type: ignore[misc]


def test_a_comparison_reports_to_its_listener(history: History) -> None:
    context = FakeContext(history.repository.root)
    history.compare("true", "true x", max_pairs=2, save=True, listener=context)
    assert [text.split(",")[0] for text in context.said] == ["note: saved runs of A", "note: saved runs of B"]
    assert len(history.pending()) == 2


def test_an_unknown_option_is_an_error_with_the_nearest_name(history: History) -> None:
    with pytest.raises(UsageError, match="no option 'treshold'") as error:
        history.compare("true", treshold=0.1)
    assert "threshold" in str(error.value.hint)


def test_without_the_distribution_the_library_names_it(history: History) -> None:
    without = open_repository(history.repository.root, plugins=Plugins(disabled=["perfcore-command-compare"]))
    with pytest.raises(PluginError, match="perfcore-command-compare"):
        without.compare("true", "true x")


class TestCompare(CompareContract):
    """Every law of the kind command."""
