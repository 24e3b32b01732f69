"""How the laws of the kinds command and format are tried: by the tests, and by `perf plugins check`."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pytest
from perfcore_testing.command import CommandInRepositoryContract
from perfcore_testing.format import FormatContract
from perfcore_testing.profiles import timed
from perfcore_testing.project import Project

from perfcore.library import open_repository
from perfcore_command_exchange.driver import ExportCommand, ImportCommand
from perfcore_command_exchange.native import PerfFormat

if TYPE_CHECKING:
    from perfcore.hookspecs import Format


class ImportCommandContract(CommandInRepositoryContract):
    examples = (["measured.perf"], ["perf", "measured.perf"])

    def prepare(self, project: Project) -> None:
        """A file of the native format."""
        PerfFormat().write(timed(), project.path / "measured.perf")

    @pytest.fixture
    def driver(self) -> ImportCommand:
        return ImportCommand()


class ExportCommandContract(CommandInRepositoryContract):
    examples = (["0@p", "--output", "exported.perf"],)

    def prepare(self, project: Project) -> None:
        """One pending profile."""
        open_repository(project.path).save(timed())

    @pytest.fixture
    def driver(self) -> ExportCommand:
        return ExportCommand()


class PerfContract(FormatContract):
    suffix = ".perf"

    @pytest.fixture
    def driver(self) -> Format:
        return cast("Format", PerfFormat())  # optional methods are missing
