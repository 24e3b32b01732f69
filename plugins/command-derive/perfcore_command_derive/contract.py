"""How the laws of the kind command are tried: by the tests, and by `perf plugins check`."""

from __future__ import annotations

import pytest
from perfcore_testing.command import CommandInRepositoryContract
from perfcore_testing.profiles import CREATED, timed
from perfcore_testing.project import Project

from perfcore.library import open_repository
from perfcore.model.record import replace
from perfcore_command_derive.driver import AggregateCommand, PostprocessCommand


class _DeriveContract(CommandInRepositoryContract):
    def prepare(self, project: Project) -> None:
        """Two pending profiles."""
        history = open_repository(project.path)
        for number in range(2):
            # Names of pending profiles are sorted by time: equal times would leave `0@p` open.
            history.save(replace(timed(), created=CREATED + number))


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
