"""How the laws of the kind command are tried: by the tests, and by `perf plugins check`."""

from __future__ import annotations

import pytest
from perfcore_testing.command import CommandInRepositoryContract
from perfcore_testing.project import Project

from perfcore_command_remote.driver import FetchCommand, PullCommand, PushCommand, RemoteCommand


class RemoteCommandContract(CommandInRepositoryContract):
    examples = (["add", "shared", "../shared"], ["--json"])

    @pytest.fixture
    def driver(self) -> RemoteCommand:
        return RemoteCommand()


class _SharingContract(CommandInRepositoryContract):
    examples = (["shared"], ["--dry-run"], ["shared", "--json"])

    def prepare(self, project: Project) -> None:
        """A folder that is a remote."""
        (project.path.parent / "shared").mkdir()
        project.perf("remote", "add", "shared", "../shared")


class PushCommandContract(_SharingContract):
    @pytest.fixture
    def driver(self) -> PushCommand:
        return PushCommand()


class PullCommandContract(_SharingContract):
    @pytest.fixture
    def driver(self) -> PullCommand:
        return PullCommand()


class FetchCommandContract(_SharingContract):
    @pytest.fixture
    def driver(self) -> FetchCommand:
        return FetchCommand()
