"""Plugins without a distribution: named in the configuration, run once they are trusted by content."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from perfcore_testing import hostile
from perfcore_testing.project import Project

COLLECTOR = '''
import subprocess
from pathlib import Path

import attrs
from perfcore.errors import CommandFailedError
from perfcore.profile.recording import Session
from perfcore.profile.table import ColumnSpec
from perfcore.settings import option

with open("ran.txt", "a") as file:
    file.write("x")

@attrs.frozen
class Settings:
    weight: int = option(7, help="What each run weighs.")

class Mine:
    """Weighs runs."""
    Settings = Settings
    def __init__(self, settings):
        self.settings = settings
    def before(self, job):
        return Session(job, columns=[ColumnSpec("weight", "i64", "g", "value")])
    def collect(self, session, run):
        run.exitcode = subprocess.call(session.job.argv, cwd=session.job.cwd)
        run.rows.add(weight=self.settings.weight)
    def after(self, session, outcome):
        pass

class Names:
    """Shows the names."""
    def render(self, subject, output):
        if subject.profiles:
            output.write("".join(ascii(profile.label) + "\\n" for profile in subject.profiles))

def note(session):
    """Leaves a note."""
    session.note("it was observed")
'''
NAMED = """
plugins:
  own:
    collector:
      mine: tools/plugins.py:Mine
    view:
      names: tools/plugins.py:Names
    hook:
      collector.after:note: tools/plugins.py:note
"""
QUICK = ("--repeat", "1", "--warmup", "0")


@pytest.fixture
def house(project: Project) -> Project:
    """A repository whose versioned configuration names plugins in a versioned file."""
    project.write("tools/plugins.py", COLLECTOR)
    project.write(".perfcore.yml", NAMED)
    project.commit("With plugins", **{".gitignore": "ran.txt\n"})
    return project


@pytest.fixture
def trusted(house: Project) -> Project:
    house.perf("config", "trust", "--yes")
    return house


def ran(project: Project) -> int:
    path = project.path / "ran.txt"
    return len(path.read_text()) if path.exists() else 0


def test_they_have_the_rights_of_installed_ones(trusted: Project) -> None:
    done = trusted.perf("collect", "mine", *QUICK, "--weight", "9", "--add", "--", "true")
    assert "9 g" in done.out
    assert "it was observed" in done.err
    assert trusted.perf("show", "0@i", "names").out == "'true'\n"
    assert "--weight" in trusted.perf("collect", "mine", "--help").out
    assert "it was observed" not in trusted.perf("--no-plugins", "collect", "mine", *QUICK, "--", "true").err
    trusted.perf("config", "set", "collector.mine.weight", "11")
    assert "11 g" in trusted.perf("collect", "mine", *QUICK, "--", "true").out


def test_they_are_listed_with_their_file_and_a_hash_of_it(trusted: Project) -> None:
    rows = trusted.perf("plugins", "list", "--json").json["plugins"]
    mine = {(row["kind"], row["name"]): row for row in rows if row["distribution"] == "tools/plugins.py"}
    assert set(mine) == {("collector", "mine"), ("view", "names"), ("hook", "collector.after:note")}
    assert {row["state"] for row in mine.values()} == {"ok"}
    (version,) = {row["version"] for row in mine.values()}
    assert len(version) == 10
    assert f"from tools/plugins.py {version}" in trusted.perf("plugins", "show", "mine").out
    trusted.perf("collect", "mine", *QUICK, "--", "true")
    trusted.perf("export", "0@p", "--output", "one.perf")
    assert version in (trusted.path / "one.perf").read_text()


def test_nothing_runs_before_it_is_trusted(house: Project) -> None:
    for words in (("status",), ("log",), ("--help",), ("plugins", "list"), ("config", "get"), ("fsck",)):
        house.perf(*words)
    assert "perf config trust" in house.perf("collect", "mine", *QUICK, "--", "true", code=7).err
    assert "left out" in house.perf("collect", "time", *QUICK, "--", "true").err
    assert "untrusted" in house.perf("plugins", "show", "mine").out
    assert ran(house) == 0


def test_trust_is_asked_for_and_shows_what_it_is_about(house: Project) -> None:
    assert house.perf("config", "trust", code=3).err
    assert ran(house) == 0
    shown = house.perf("config", "trust", "--yes")
    assert "class Mine:" in shown.out
    assert shown.out.count("class Mine:") == 1
    assert ran(house) == 0
    assert "nothing that needs to be trusted" in house.perf("config", "trust").err


def test_another_content_is_trusted_anew(trusted: Project) -> None:
    trusted.perf("collect", "mine", *QUICK, "--", "true")
    before = ran(trusted)
    trusted.write("tools/plugins.py", COLLECTOR + "# changed\n")
    refused = trusted.perf("collect", "mine", *QUICK, "--", "true", code=7)
    assert "tools/plugins.py" in refused.err
    assert "collector 'mine'" in refused.err
    assert ran(trusted) == before
    trusted.perf("config", "trust", "--yes")
    trusted.perf("collect", "mine", *QUICK, "--", "true")
    trusted.write("tools/plugins.py", COLLECTOR)
    trusted.perf("collect", "mine", *QUICK, "--", "true")


def test_what_was_compiled_beside_it_is_not_looked_at(trusted: Project) -> None:
    import importlib.util
    import py_compile

    evil = trusted.write("evil.py", "raise SystemExit('evil')\n")
    source = trusted.path / "tools" / "plugins.py"
    compiled = Path(importlib.util.cache_from_source(str(source)))
    py_compile.compile(str(evil), str(compiled), invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
    trusted.perf("collect", "mine", *QUICK, "--", "true")


def test_a_local_file_names_them_too(project: Project) -> None:
    project.write("tools/plugins.py", COLLECTOR)
    project.perf("config", "set", "plugins.own", "{collector: {mine: 'tools/plugins.py:Mine'}}")
    assert "tools/plugins.py" in project.perf("collect", "mine", *QUICK, "--", "true", code=7).err
    project.perf("config", "trust", "--yes")
    (project.path / "below").mkdir()
    project.perf("collect", "mine", *QUICK, "--", "true", cwd=project.path / "below")


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("1 / 0\n", "line 1 of"),
        ("\n\ndef (:\n", "line 3 of"),
        ("raise SystemExit(0)\n", "SystemExit"),
        ("import no_such_module_here\n", "no_such_module_here"),
        ("Other = 1\n", "has no Mine"),
        ("Mine = 1\n", "not a class"),
        ("class Mine: pass\n", "lacks before"),
        ("\0", "cannot be run"),
    ],
)
def test_an_error_names_the_file_and_the_plugin(project: Project, source: str, told: str) -> None:
    project.write("tools/plugins.py", source)
    project.write(".perfcore.yml", "plugins: {own: {collector: {mine: 'tools/plugins.py:Mine'}}}\n")
    project.perf("config", "trust", "--yes")
    done = project.perf("collect", "mine", *QUICK, "--", "true", code=5)
    assert "collector 'mine' (tools/plugins.py" in done.err
    assert told in done.err
    assert "Traceback" not in done.err
    project.perf("collect", "time", *QUICK, "--", "true")


@pytest.mark.parametrize(
    "named",
    [
        "[a]",
        "{colector: {mine: 'a.py:B'}}",
        "{collector: 'a.py:B'}",
        "{collector: {mine: 3}}",
        "{collector: {mine: a.py}}",
        "{collector: {mine: 'a.txt:B'}}",
        "{collector: {mine: 'a.py:B C'}}",
        '{collector: {mine: "\\x1b[31ma.py:("}}',
    ],
)
def test_what_is_no_name_of_a_plugin_is_an_error_that_names_the_file(project: Project, named: str) -> None:
    project.write(".perfcore.yml", f"plugins: {{own: {named}}}\n")
    done = project.perf("status", code=2)
    assert ".perfcore.yml" in done.err
    assert "plugins.own" in done.err
    assert hostile.unsafe(done.err) == set()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_a_file_that_cannot_be_read_is_an_error_of_what_uses_it(project: Project) -> None:
    os.mkfifo(project.path / "pipe.py")
    (project.path / "folder.py").mkdir()
    names = {"gone": "gone.py", "pipe": "pipe.py", "folder": "folder.py", "zero": "/dev/zero.py"}
    listed = ", ".join(f"{name}: '{path}:Mine'" for name, path in names.items())
    project.write(".perfcore.yml", f"plugins: {{own: {{collector: {{{listed}}}}}}}\n")
    project.perf("status")
    assert "gone.py is not there" in project.perf("config", "trust", "--yes").err
    for name in names:
        assert f"{name}.py" in project.perf("collect", name, *QUICK, "--", "true", code=5).err


def test_an_untrusted_file_does_not_stand_in_the_way_of_what_is_installed(project: Project) -> None:
    project.write("tools/plugins.py", COLLECTOR)
    project.write(
        ".perfcore.yml",
        "plugins: {own: {collector: {time: 'tools/plugins.py:Mine'}, vcs: {git: 'tools/plugins.py:Mine'}}}\n",
    )
    project.perf("collect", "time", *QUICK, "--", "true")
    assert ran(project) == 0
    project.perf("config", "trust", "--yes")
    conflict = project.perf("collect", "time", *QUICK, "--", "true", code=5).err
    assert "perfcore-collect-time" in conflict or "perfcore-vcs-git" in conflict
    assert "tools/plugins.py" in conflict


def test_they_can_be_disabled(trusted: Project) -> None:
    for name in ("mine", "collector:mine", "tools/plugins.py"):
        done = trusted.perf("collect", "mine", *QUICK, "--", "true", env={"PERF_DISABLED_PLUGINS": name}, code=5)
        assert "disabled" in done.err, name


def test_their_laws_are_tried(trusted: Project) -> None:
    told = trusted.perf("plugins", "check", "view:names", "--json").json
    assert told["passed"]
    assert trusted.perf("plugins", "check", "mine", code=5).out.startswith("collector 'mine' (tools/plugins.py")
    observer = trusted.perf("plugins", "check", "hook:collector.after:note").out
    assert "passed          it works" in observer


def test_a_verb_can_be_one_of_them(project: Project) -> None:
    source = """
import typer
class Hello:
    '''Says hello.'''
    def app(self):
        app = typer.Typer()
        @app.command()
        def hello(ctx: typer.Context):
            ctx.obj.write("hello\\n")
        return app
"""
    project.write("tools/plugins.py", source)
    project.write(".perfcore.yml", "plugins: {own: {command: {hello: 'tools/plugins.py:Hello', log: 'a.py:A'}}}\n")
    assert "perf config trust" in project.perf("hello", code=7).err
    project.perf("config", "trust", "--yes")
    assert project.perf("hello").out == "hello\n"
    project.perf("log")
    assert "no command" in project.perf("--no-plugins", "hello", code=2).err
