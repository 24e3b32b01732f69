"""The matrix as a call of the library, and the command as a plugin."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from perfcore_command_run.contract import RunContract
from perfcore_testing.project import Project

from perfcore.errors import CommandFailedError, PluginError, UsageError
from perfcore.library import History, open_repository
from perfcore.plugins.registry import Plugins

QUICK: dict[str, Any] = {"repeat": 1, "warmup": 0}


@pytest.fixture
def history(project: Project, monkeypatch: pytest.MonkeyPatch) -> History:
    project.use_home(monkeypatch)
    return open_repository(project.path)


class TestCommand(RunContract): ...


def test_a_mapping_a_file_and_the_configuration_are_matrices(history: History, project: Project) -> None:
    matrix = {"bins": ["true"], "workloads": ["a", "b"], "collectors": ["time"]}
    assert [saved.job.workload for saved in history.run(matrix, **QUICK)] == ["a", "b"]
    project.write("matrix.yml", "bins: ['echo', 'true']\n")
    for file in ("matrix.yml", Path("matrix.yml")):
        assert [saved.job.cmd for saved in history.run(file, **QUICK)] == ["echo", "true"]
    project.perf("config", "set", "bins", "[echo]")
    (saved,) = open_repository(project.path).run(**QUICK)
    assert saved.job.cmd == "echo"


def test_versions_are_selected_and_registered_as_by_the_command(history: History, project: Project) -> None:
    project.commit("Second")
    result = history.run({"bins": ["true"]}, version="HEAD~1", register=True, **QUICK)
    assert [saved.entry for saved in result] == list(history.entries("HEAD~1"))
    result = history.run({"bins": ["true"]}, every=True, missing=True, **QUICK)
    assert [saved.job.version for saved in result] == [history.version()]


def test_failures_are_raised_or_in_the_result(history: History) -> None:
    matrix = {"bins": ["true", "false"]}
    with pytest.raises(CommandFailedError):
        history.run(matrix, **QUICK)
    assert len(history.run(matrix, strict=False, **QUICK).failures) == 1


def test_an_unknown_option_is_refused(history: History) -> None:
    with pytest.raises(UsageError, match="repaet"):
        history.run({"bins": ["true"]}, repaet=1)


def test_the_library_names_the_distribution_that_is_missing(project: Project) -> None:
    history = open_repository(project.path, plugins=Plugins(disabled=["perfcore-command-run"]))
    with pytest.raises(PluginError, match="disabled"):
        history.run({"bins": ["true"]})


def test_the_help_lists_the_verb_behind_collect(project: Project) -> None:
    lines = project.perf("--help").out.partition("Measure:")[2].splitlines()
    verbs = [line.split()[0] for line in lines if line.strip()]
    assert verbs[:2] == ["collect", "run"]


@pytest.mark.parametrize("words", [(), ("matrix",), ("job",)])
def test_every_command_explains_itself_outside_of_a_repository(empty_project: Project, words: tuple[str, ...]) -> None:
    out = empty_project.perf("run", *words, "--help").out
    assert out.startswith(f"Usage: perf {' '.join(('run', *words))} ")
    assert max(map(len, out.splitlines())) <= 120
