"""How the laws of the kind command are tried: by the tests, and by `perf plugins check`."""

from __future__ import annotations

import pytest
from perfcore_testing.command import CommandInRepositoryContract
from perfcore_testing.profiles import timed
from perfcore_testing.project import Project

from perfcore.library import open_repository
from perfcore_command_store.driver import FsckCommand, GcCommand, RemoveCommand, TagCommand


class _OneProfile(CommandInRepositoryContract):
    def prepare(self, project: Project) -> None:
        """One registered profile, and one that is pending."""
        project.commit("measured", source="1")
        history = open_repository(project.path)
        history.save(timed())
        project.perf("add", "0@p")
        history.save(timed())


class RemoveCommandContract(_OneProfile):
    examples = (["0@i", "--dry-run"], ["0@p"])

    @pytest.fixture
    def driver(self) -> RemoveCommand:
        return RemoveCommand()


class TagCommandContract(_OneProfile):
    examples = (["release", "0@i"],)

    @pytest.fixture
    def driver(self) -> TagCommand:
        return TagCommand()


class GcCommandContract(_OneProfile):
    examples = ([], ["--dry-run"], ["--json"])

    @pytest.fixture
    def driver(self) -> GcCommand:
        return GcCommand()


class FsckCommandContract(_OneProfile):
    examples = ([], ["--json"])

    @pytest.fixture
    def driver(self) -> FsckCommand:
        return FsckCommand()
