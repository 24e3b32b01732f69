"""What a command does to the process that is its own, and not to that of others."""

from __future__ import annotations

import gc
import sys
from pathlib import Path

import pytest
from perfcore_testing import profiles
from perfcore_testing.project import Project

from perfcore.cli import main
from perfcore.library import open_repository

SCRIPT = """
import atexit, gc, sys
from perfcore.cli import main
atexit.register(lambda: print("frozen", gc.get_freeze_count() > 0))
before = gc.get_threshold()[0]
code = main()
print("seldom", gc.get_threshold()[0] > before)
atexit.register(lambda: print("frozen", gc.get_freeze_count() > 0))
sys.exit(code)
"""


def test_a_process_looks_less_for_garbage_and_not_at_all_when_everything_ends(project: Project) -> None:
    done = project.run(sys.executable, "-c", SCRIPT, "status")
    assert done.lines[-3:] == ["seldom True", "frozen False", "frozen True"], done


def test_who_calls_a_command_keeps_their_own_ways(capsys: pytest.CaptureFixture[str]) -> None:
    before = gc.get_threshold()
    assert main(["--help"]) == 0
    assert gc.get_threshold() == before
    assert "perf" in capsys.readouterr().out


@pytest.mark.parametrize("verb", ["status", "log"])
def test_a_verb_alone_answers_as_the_parser_does(project: Project, verb: str) -> None:
    """Without options it is answered without Typer; `-C .` changes nothing else."""
    for pending in (0, 1):
        if pending:
            open_repository(project.path).save(profiles.timed())
        alone, parsed = project.perf(verb), project.perf("-C", ".", verb)
        assert (alone.out, alone.err) == (parsed.out, parsed.err)
        assert alone.out


@pytest.mark.parametrize("verb", ["status", "log"])
def test_a_verb_alone_fails_as_the_parser_does(tmp_path: Path, project: Project, verb: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (project.path / ".perf" / "local.yml").write_text("vcs: [")
    for directory in (elsewhere, project.path):
        words = [sys.executable, "-m", "perfcore"]
        alone = project.run(*words, verb, cwd=directory)
        parsed = project.run(*words, "-C", ".", verb, cwd=directory)
        assert alone.code not in (0, 1)
        assert (alone.code, alone.out, alone.err) == (parsed.code, parsed.out, parsed.err)
