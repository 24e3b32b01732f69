"""How the laws of the kind command are tried: by the tests, and by `perf plugins check`."""

from __future__ import annotations

from pathlib import Path

import attrs
import pytest
from perfcore_testing.command import CommandContract
from perfcore_testing.profiles import CREATED, timed
from perfcore_testing.project import Project

from perfcore.library import open_repository
from perfcore_command_derive.driver import AggregateCommand, PostprocessCommand


class _DeriveContract(CommandContract):
    @pytest.fixture(autouse=True)
    def repository(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """One with two pending profiles, in which the command is tried."""
        project = Project(tmp_path / "project", tmp_path / "home")
        project.path.mkdir()
        project.git("init", "--quiet")
        project.perf("init")
        history = open_repository(project.path)
        for number in range(2):
            history.save(attrs.evolve(timed(), created=CREATED + number))
        monkeypatch.chdir(project.path)


class AggregateCommandContract(_DeriveContract):
    examples = (["0@p-1@p"], ["0@p", "1@p", "sum"])

    @pytest.fixture
    def driver(self) -> AggregateCommand:
        return AggregateCommand()


class PostprocessCommandContract(_DeriveContract):
    examples = (["0@p", "filter", "--top", "2", "--by", "wall"],)

    @pytest.fixture
    def driver(self) -> PostprocessCommand:
        return PostprocessCommand()
