"""The contract of commands. Inherit from it in your tests:

class TestHello(CommandContract):
    examples = (["--name", "you"],)

    @pytest.fixture
    def driver(self):
        return Hello()
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from perfcore.errors import PerfError
from perfcore_testing import hostile
from perfcore_testing.kinds import misfits
from perfcore_testing.output import FakeContext, FakeOutput
from perfcore_testing.project import Project, new_repository

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from perfcore.hookspecs import Command


class CommandContract:
    """What every command keeps. Override `driver` and `examples`."""

    examples: ClassVar[Sequence[Sequence[str]]] = ()
    """Arguments with which the command works anywhere and writes something."""

    @pytest.fixture
    def driver(self) -> Command:
        raise NotImplementedError("override the fixture `driver` and return a command")

    @pytest.fixture
    def output(self) -> Any:
        """What the command finds as `ctx.obj`."""
        return FakeContext()

    def test_it_fits_the_kind(self, driver: Command) -> None:
        """Its method has the specification's arguments, its options say what they are for."""
        assert misfits("command", driver) == []

    def test_its_first_line_tells_what_it_does(self, driver: Command) -> None:
        """`perf --help` shows it behind the verb."""
        line = (inspect.getdoc(type(driver)) or "").partition("\n")[0]
        # Behind the verb it has to fit into one line of the help.
        assert 0 < len(line) < 80

    def test_help_is_printed(self, driver: Command, output: FakeOutput) -> None:
        """Without looking at anything else."""
        code, printed = _run(driver, ["--help"], output)
        assert code == 0
        assert "Usage" in printed

    def test_an_unknown_option_is_wrong_usage(self, driver: Command, output: FakeOutput) -> None:
        """Exit code 2, as everywhere in `perf`."""
        assert _run(driver, ["--no-such-option"], output)[0] == 2

    def test_it_prints_through_the_output_only(self, driver: Command, output: FakeOutput) -> None:
        """Neither standard output nor standard error is written to directly, and names stay text."""
        assert self.examples
        for arguments in self.examples:
            before = len(output.data) + len(output.said)
            assert _run(driver, arguments, output) == (0, "")
            assert len(output.data) + len(output.said) > before
            assert hostile.unsafe("".join(output.said)) == set()

    def test_it_can_be_made_again(self, driver: Command, output: FakeOutput) -> None:
        """Nothing of one app is left in the next."""
        assert driver.app() is not driver.app()
        for arguments in self.examples:
            assert _run(driver, arguments, output) == (0, "")


class CommandInRepositoryContract(CommandContract):
    """The same for a command that works in a repository: an empty one, with what `prepare` puts there."""

    @pytest.fixture(autouse=True)
    def repository(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
        """The repository, in which the command is tried."""
        made = new_repository(tmp_path)
        made.use_home(monkeypatch)
        monkeypatch.chdir(made.path)
        self.prepare(made)
        return made

    def prepare(self, project: Project) -> None:
        """Put there the files and profiles of the examples."""


def _run(driver: Command, arguments: Sequence[str], output: FakeOutput) -> tuple[int, str]:
    """(exit code, what went to the terminal directly) of the app as `perf` runs it."""
    import typer
    from typer.testing import CliRunner

    app = driver.app()
    assert isinstance(app, typer.Typer)
    result = CliRunner().invoke(app, list(arguments), obj=output)
    if isinstance(result.exception, PerfError):
        return result.exception.exit_code, result.output
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output
