"""How the laws of the kind command are tried: by the tests, and by `perf plugins check`."""

from __future__ import annotations

import pytest
from perfcore_testing.command import CommandInRepositoryContract
from perfcore_testing.project import Project

from perfcore_command_run.driver import Run


class RunContract(CommandInRepositoryContract):
    examples = (
        ["job", "--command", "true", "--repeat", "1", "--warmup", "0"],
        ["matrix", "matrix.yml", "--dry-run"],
    )

    def prepare(self, project: Project) -> None:
        """One commit with a matrix."""
        project.commit("First", **{"matrix.yml": "bins: ['true']\n"})

    @pytest.fixture
    def driver(self) -> Run:
        return Run()
