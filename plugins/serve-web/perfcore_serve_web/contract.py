"""How the laws of the kind command are tried: by the tests, and by `perf plugins check`."""

from __future__ import annotations

import pytest
from perfcore_testing import measured
from perfcore_testing.command import CommandInRepositoryContract
from perfcore_testing.project import Project

from perfcore_serve_web.driver import Serve


class ServeContract(CommandInRepositoryContract):
    examples = (["--check"],)

    def prepare(self, project: Project) -> None:
        """Two measured versions."""
        measured.measure(project, {"./steady": lambda at: 4_000_000}, versions=2)

    @pytest.fixture
    def driver(self) -> Serve:
        return Serve()
