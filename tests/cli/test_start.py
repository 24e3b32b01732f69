"""What a command does to the process that is its own, and not to that of others."""

from __future__ import annotations

import gc
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from perfcore_testing import profiles
from perfcore_testing.distributions import Site
from perfcore_testing.project import Done, Project

from perfcore import __version__
from perfcore.cli import collect, collect_plain, main, options
from perfcore.library import open_repository
from perfcore.plugins import Plugins

SCRIPT = """
import gc, sys
from perfcore.cli import main
before = gc.get_threshold()[0]
code = main()
print("seldom", gc.get_threshold()[0] > before)
sys.exit(code)
"""


def test_a_process_looks_less_for_garbage(project: Project) -> None:
    done = project.run(sys.executable, "-c", SCRIPT, "status")
    assert done.lines[-1] == "seldom True", done


BESIDE = """
import os, sys
folder = {folder}
sys.path.insert(0, folder)  # as of a script that is there
from perfcore.cli import main
code = main()
print("looked at", folder in sys.path)
"""


@pytest.mark.parametrize(("folder", "is_kept"), [("os.path.dirname(sys.executable)", False), ("os.getcwd()", True)])
def test_no_module_is_looked_for_beside_the_script(project: Project, folder: str, is_kept: bool) -> None:
    """Another folder has what it was put there for, as the archive of a program that brings perfcore."""
    done = project.run(sys.executable, "-c", BESIDE.format(folder=folder), "status")
    assert done.lines[-1] == f"looked at {is_kept}", done


ARITHMETIC = """
import os
from perfcore.cli import main
code = main()
import numpy
threads = len(os.listdir("/proc/self/task"))
print("threads", threads, os.environ.get("OPENBLAS_NUM_THREADS"), numpy.linalg.det(numpy.eye(2)))
"""


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="this system does not list the threads of a process")
@pytest.mark.parametrize(("asked", "left"), [("", "None"), ("2", "2")])
def test_numpy_begins_without_threads_but_as_asked(project: Project, asked: str, left: str) -> None:
    variables = [f"OPENBLAS_NUM_THREADS={asked}"] if asked else []
    done = project.run("env", *variables, sys.executable, "-c", ARITHMETIC, "status")
    threads = min(int(asked or 1), len(os.sched_getaffinity(0)))
    assert done.lines[-1] == f"threads {threads} {left} 1.0", done


def test_who_calls_a_command_keeps_their_own_ways(capsys: pytest.CaptureFixture[str]) -> None:
    before = gc.get_threshold()
    assert main(["--help"]) == 0
    assert gc.get_threshold() == before
    assert "perf" in capsys.readouterr().out


ANSWERED = [
    *("status", "status --short", "status -s --json", "status --short --short"),
    *(
        "log",
        "log -n 1",
        "log -n1",
        "log -1",
        "log --last 1",
        "log --last=2 --short",
        "log -0",
        "log --json --oneline -n 007",
    ),
]
"""What is answered without the parser."""

LEFT = [
    *("log -n", "log -n x", "log -n -1", "log -n=1", "log --last=", "log --last= -n", "log --last \u0661", "log -n ''"),
    *(
        "log -sn1",
        "log -s1",
        "log --short=1",
        "log --sho",
        "log --shorty",
        "log -- -1",
        "log -n " + "9" * 19,
        "log HEAD -1",
    ),
    *(
        "log --count-only",
        "log --measured -n 1",
        "log -",
        "log ''",
        "log -n1x",
        "log --help",
        "status -1",
        "status --json=x",
    ),
    *("status -sx", "status x", "status -s -n 1", "''"),
]
"""What the parser has to look at, errors among it."""


@pytest.mark.parametrize("line", [*ANSWERED, *LEFT])
def test_plain_options_are_answered_as_the_parser_does(project: Project, line: str) -> None:
    """`-C .` leaves everything to the parser and changes nothing else."""
    project.commit("Second")
    for pending in (0, 1):
        if pending:
            open_repository(project.path).save(profiles.timed())
        words = shlex.split(line)
        plain, parsed = project.perf(*words, code=None), project.perf("-C", ".", *words, code=None)
        assert (plain.code, plain.out, plain.err) == (parsed.code, parsed.out, parsed.err)


@pytest.mark.process
@pytest.mark.parametrize("line", ANSWERED)
def test_plain_options_need_no_parser(project: Project, line: str) -> None:
    script = "import sys; from perfcore.cli import main; main(); print('typer' in sys.modules, file=sys.stderr)"
    done = project.run(sys.executable, "-c", script, *line.split())
    assert done.err.splitlines()[-1] == "False", done


@pytest.mark.parametrize("line", ["status", "log", "status --json", "log -n 1"])
def test_plain_options_fail_as_the_parser_does(tmp_path: Path, project: Project, line: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (project.path / ".perf" / "local.yml").write_text("vcs: [")
    for directory in (elsewhere, project.path):
        words = [sys.executable, "-m", "perfcore"]
        plain = project.run(*words, *line.split(), cwd=directory)
        parsed = project.run(*words, "-C", ".", *line.split(), cwd=directory)
        assert plain.code not in (0, 1)
        assert (plain.code, plain.out, plain.err) == (parsed.code, parsed.out, parsed.err)


COLLECTED = [
    *("-- true", "true", "true --help", "-r 1 -- true -- -x", "--repeat=2 --warmup 0 true", "-r 1 -r 2 -- true"),
    *("--timeout 10 -- true", "--stdin=f -- cat", "--order random -- true", "--cpus 0 -- true", "-r1 true"),
    *("--on-failure ignore -- false", "-r x -- true", "-r 0 true", "--timeout 1y true", "''", "-- '' x"),
    *("--order sideways -- true", "--budget 0.01 true", "-r 2 -t 0.001 -- true", "-- nosuchprogram", "-- false"),
]
"""Arguments of `collect time` that need no parser."""
NOT_PLAIN = [
    *("", "--", "-r", "-r 1", "-r -1 true", "-r= true", "-r=1 true", "--repeat= true", "--rep 1 true", "-", "-- "),
    *("--nosuch 1 true", "-c true", "--json true", "--dry-run -- true", "-w 1 -- echo", "--help -- true"),
    *("--order sideways -r x true",),
]
"""Those that the parser has to look at, and one with two errors, of which it tells the first by declaration."""


@pytest.mark.parametrize("line", [f"time {words}" for words in (*COLLECTED, *NOT_PLAIN)] + ["nosuch true", "'' true"])
def test_a_collection_needs_no_parser_and_is_what_the_parser_makes_of_it(project: Project, line: str) -> None:
    (project.path / "f").write_text("text")
    words = ("collect", *shlex.split(line))
    plain, parsed = project.perf(*words, code=None), project.perf("-C", ".", *words, code=None)
    assert plain.code == parsed.code
    if "--json" in words:  # in which the notes stand, too, and a machine that is loaded for a moment gets one
        assert plain.json.keys() == parsed.json.keys()
    else:
        assert [line.split()[:1] for line in plain.lines] == [line.split()[:1] for line in parsed.lines]
    assert _without_notes(plain.err) == _without_notes(parsed.err)
    saved = [(row["config_id"], row["cmd"], row["args"]) for row in project.perf("status", "--json").json["pending"]]
    assert len(saved) in (0, 2)
    assert len(set(saved)) <= 1


def _without_notes(text: str) -> str:
    """Less what the machine did besides, and the numbers."""
    lines = [line for line in text.splitlines(keepends=True) if not line.startswith("note: ") or "perf check" in line]
    return re.sub(r"[0-9]+", "0", "".join(lines))


@pytest.mark.process
@pytest.mark.parametrize("line", ["-r 1 -- true", "--repeat=2 --timeout 10 true"])
def test_a_collection_imports_no_parser(project: Project, line: str) -> None:
    script = "import sys; from perfcore.cli import main; main(); print('typer' in sys.modules, file=sys.stderr)"
    done = project.run(sys.executable, "-c", script, "collect", "time", *line.split())
    assert done.err.splitlines()[-1] == "False", done


def test_the_plain_collection_knows_the_flags_of_the_parser() -> None:
    """A collector whose option is written like one of these is refused by the parser."""
    app = typer.Typer(add_completion=False)
    app.command()(options.with_options(collect._collect("time"), [], next(iter(Plugins().infos("collector")))))
    parameters = options.named(app, "time").params
    flags = {flag for parameter in parameters for flag in (*parameter.opts, *parameter.secondary_opts)}
    assert {flag for flag in flags if flag[0] == "-"} | {"-h", "--help"} == collect_plain.PARSED


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


@pytest.mark.process
def test_the_help_without_docstrings_is_remembered_apart(project: Project) -> None:
    bare = project.run(sys.executable, "-OO", "-m", "perfcore", "collect", "time", "--help")
    alone, parsed = helps(project, "time", "--help")
    assert alone.out == parsed.out != bare.out
    assert project.run(sys.executable, "-OO", "-m", "perfcore", "collect", "time", "--help").out == bare.out


def test_a_damaged_memory_of_the_help_is_not_believed(project: Project) -> None:
    text = project.perf("collect", "time", "--help").out
    (path,) = (project.home / "cache/perfcore/help").iterdir()
    for data in (b"", b"x", path.read_bytes()[:-1], path.read_bytes().replace(b"Usage", b"usage")):
        path.write_bytes(data)
        assert project.perf("collect", "time", "--help").out == text
    path.unlink()
    path.mkdir()
    assert project.perf("collect", "time", "--help").out == text


_ENDING = """
import atexit, sys, threading, time
sys.argv = ['perf', '--version']
atexit.register(lambda: print('at exit'))
class Held:
    def __del__(self):
        print('taken apart')
held = Held()
def work():
    time.sleep(0.2)
    print('thread')
threading.Thread(target=work).start()
from perfcore.cli import command
"""


def test_a_command_ends_as_python_does_without_taking_apart_what_it_holds() -> None:
    done = subprocess.run([sys.executable, "-c", _ENDING + "command()"], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [f"perfcore {__version__}", "thread", "at exit"]


def test_a_command_that_is_profiled_goes_on_to_the_end_of_the_profiler() -> None:
    script = _ENDING + "sys.setprofile(lambda *_: None); code = command(); sys.setprofile(None); print(code)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [f"perfcore {__version__}", "0", "thread", "at exit", "taken apart"]
