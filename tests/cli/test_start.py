"""What a command does to the process that is its own, and not to that of others."""

from __future__ import annotations

import gc
import sys
from pathlib import Path

import pytest
from perfcore_testing import profiles
from perfcore_testing.distributions import Site
from perfcore_testing.project import Done, Project

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


SLOW = """
import attrs
from perfcore.settings import option
@attrs.frozen
class Settings:
    factor: float = option(2.0, help="By how much.")
class Slow:
    '''Measures slowly.'''
    Settings = Settings
    def before(self, job): ...
    def collect(self, session, run): ...
    def after(self, session, outcome): ...
"""


def helps(project: Project, *words: str, **env: str) -> tuple[Done, Done]:
    """What a collector's help is alone, where it may be remembered, and as the parser gives it."""
    return project.perf("collect", *words, env=env, code=None), project.perf(
        "-C", ".", "collect", *words, env=env, code=None
    )


@pytest.mark.parametrize(
    ("words", "env"),
    [
        (("time", "--help"), {}),
        (("time", "-h"), {}),
        (("perfcore-collect-time:time", "--help"), {}),
        (("time", "--help"), {"COLUMNS": "60"}),
        (("time", "--help"), {"COLUMNS": "x"}),
        (("time", "--help"), {"PERF_DISABLED_PLUGINS": "time"}),
        (("nothing", "--help"), {}),
        (("--help", "--help"), {}),
        (("", "--help"), {}),
        (("t\x1b[31mime", "--help"), {}),
        (("time", "--halp"), {}),
    ],
)
def test_the_help_of_a_collector_is_what_the_parser_says(
    project: Project, words: tuple[str, ...], env: dict[str, str]
) -> None:
    assert project.perf("collect", "time", "--help").out == project.perf("collect", "time", "--help").out
    for _ in range(2):
        alone, parsed = helps(project, *words, **env)
        assert (alone.code, alone.out, alone.err) == (parsed.code, parsed.out, parsed.err)


@pytest.mark.process
def test_the_help_of_a_collector_follows_its_code_and_the_configuration(project: Project, site: Site) -> None:
    site.install("acme-slow", points={"perfcore.collector": ["slow = acme_slow:Slow"]}, acme_slow=SLOW)
    for source, text in ((SLOW, "default: 2]"), (SLOW.replace("2.0", "30.0"), "default: 30]")):
        (site.path / "acme_slow.py").write_text(source)
        for _ in range(2):
            alone, parsed = helps(project, "slow", "--help", **site.env)
            assert (alone.out, alone.err) == (parsed.out, parsed.err)
            assert text in alone.out
    (project.path / ".perfcore.yml").write_text("plugins:\n  disabled: [slow]\n")
    alone, parsed = helps(project, "slow", "--help", **site.env)
    assert (alone.code, alone.err) == (parsed.code, parsed.err) == (5, alone.err)
    assert "disabled" in alone.err


def test_a_damaged_memory_of_the_help_is_not_believed(project: Project) -> None:
    text = project.perf("collect", "time", "--help").out
    (path,) = (project.home / "cache/perfcore/help").iterdir()
    for data in (b"", b"x", path.read_bytes()[:-1], path.read_bytes().replace(b"Usage", b"usage")):
        path.write_bytes(data)
        assert project.perf("collect", "time", "--help").out == text
    path.unlink()
    path.mkdir()
    assert project.perf("collect", "time", "--help").out == text
