"""Environments in the commands that measure: one for each content, in front of PATH, for builds and commands."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
import sysconfig
from pathlib import Path

import pytest
from perfcore_testing.project import Project

from perfcore.repository import Repository

SETUP = "[build-system]\nrequires = []\nbuild-backend = 'backend'\nbackend-path = ['.']\n"
SETUP += "[project]\nname='tiny'\nversion='1'\n"
BACKEND = """
import zipfile
def build_wheel(directory, config_settings=None, metadata_directory=None):
    info = "tiny-1.dist-info/"
    with zipfile.ZipFile(directory + "/tiny-1-py3-none-any.whl", "w") as wheel:
        wheel.writestr("tiny.py", open("tiny.py").read())
        wheel.writestr(info + "METADATA", "Metadata-Version: 2.1\\nName: tiny\\nVersion: 1\\n")
        wheel.writestr(info + "WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any")
        wheel.writestr(info + "RECORD", "")
    return "tiny-1-py3-none-any.whl"
"""
MAKE = 'echo made >> "$COUNT"; mkdir -p "$PERFCORE_ENVIRONMENT/bin"; cp tool "$PERFCORE_ENVIRONMENT/bin"'


@pytest.fixture
def tools(project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three versions of which the first two have the same tool, made by a command that counts."""
    project.env["COUNT"] = str(tmp_path / "count")
    for number, tool in enumerate("112"):
        path = project.path / "tool"
        path.write_text(f"#!/bin/sh\necho {tool} >> {tmp_path}/runs\n")
        path.chmod(0o755)
        project.commit(f"version {number}", source=str(number))
    recipe = {"name": "command", "command": MAKE, "inputs": ["tool"]}
    project.perf("config", "set", "execute.environment", json.dumps(recipe))
    return tmp_path


def _lines(path: Path) -> list[str]:
    return path.read_text().split() if path.exists() else []


def test_versions_of_equal_content_share_an_environment(project: Project, tools: Path) -> None:
    words = ("collect", "time", "-v", "HEAD~2", "-v", "HEAD~1", "-v", "HEAD", "--repeat", "1", "--warmup", "0")
    project.perf(*words, "--", "tool")
    assert sorted(_lines(tools / "runs")) == ["1", "1", "2"]
    assert len(_lines(tools / "count")) == 2
    project.perf(*words, "--", "tool")
    assert len(_lines(tools / "count")) == 2
    project.perf(*words, "--rebuild", "--", "tool")
    assert len(_lines(tools / "count")) == 4


def test_all_commands_that_measure_use_it(project: Project, tools: Path) -> None:
    project.perf("collect", "time", "--repeat", "1", "--", "tool")
    project.perf("compare", "HEAD~1", "HEAD", "--max-pairs", "6", "--", "tool", code=None)
    assert {"1", "2"} == set(_lines(tools / "runs"))
    project.perf("bisect", "HEAD~2", "HEAD", "--max-runs", "8", "--", "tool", code=None)
    assert len(_lines(tools / "count")) == 2


def test_the_build_runs_in_it_and_the_configuration_stays_the_same(project: Project, tools: Path) -> None:
    project.perf("config", "set", "execute.pre_run", "tool")
    for version in ("HEAD~1", "HEAD"):
        project.perf("collect", "time", "-v", version, "--repeat", "1", "--warmup", "0", "--", "true")
    assert _lines(tools / "runs") == ["1", "2"]
    repository = Repository.open(project.path)
    ids = {pending.profile.config_id for pending in repository.pending() if pending.profile}
    assert len(ids) == 1


def test_one_that_failed_is_made_again(project: Project, tools: Path) -> None:
    recipe = {"name": "command", "command": f"{MAKE}; exit 3", "inputs": ["tool"]}
    project.perf("config", "set", "execute.environment", json.dumps(recipe))
    for times in (1, 2):
        done = project.perf("collect", "time", "-v", "HEAD", "--repeat", "1", "--", "tool", code=None)
        assert "failed with exit code 3" in done.err
        assert len(_lines(tools / "count")) == times


def test_an_environment_of_a_versioned_file_needs_trust(project: Project) -> None:
    (project.path / ".perfcore.yml").write_text(
        "execute: {environment: {name: command, command: 'touch stolen', inputs: []}}\n"
    )
    project.commit("configured")
    done = project.perf("collect", "time", "--repeat", "1", "--", "true", code=None)
    assert "you have not trusted it yet" in done.err
    assert not (project.path / "stolen").exists()


def _tiny(project: Project) -> None:
    for number in (1, 2):
        files = {"pyproject.toml": SETUP, "backend.py": BACKEND, "tiny.py": f"print('tiny {number}')"}
        for name, text in files.items():
            (project.path / name).write_text(text)
        project.git("add", ".")
        project.commit(f"tiny {number}")


@pytest.mark.parametrize("recipe", ["venv", "uv"])
def test_the_project_is_installed_without_a_network(project: Project, recipe: str, tmp_path: Path) -> None:
    """A real venv and a real uv; each version runs its own code."""
    if recipe == "uv":
        uv = shutil.which("uv") or os.environ.get("PERFCORE_TEST_UV")
        if not uv:
            pytest.skip("uv is not installed; .ci/run names it in PERFCORE_TEST_UV")
        project.env["PATH"] = f"{Path(uv).parent}{os.pathsep}{project.env['PATH']}"
    _tiny(project)
    no_index = ["--no-index"] if recipe == "venv" else ["--no-index", "--offline"]
    chosen = {"name": recipe, "project": True, "python": sys.executable, "install_options": no_index}
    project.perf("config", "set", "execute.environment", json.dumps(chosen))
    script = f"python -m tiny >> {tmp_path}/printed"
    words = ("--repeat", "1", "--warmup", "0", "--shell", "--", script)
    project.env["PYTHONWARNINGS"] = ""  # pip warns of itself
    versions = ["HEAD"] if recipe == "venv" else ["HEAD~1", "HEAD"]  # ensurepip takes seconds
    project.perf("collect", "time", *(word for version in versions for word in ("-v", version)), *words)
    assert sorted((tmp_path / "printed").read_text().splitlines()) == ["tiny 1", "tiny 2"][-len(versions) :]
    profiles = [pending.profile for pending in Repository.open(project.path).pending()]
    paths = {profile.machine["interpreter"]["path"] for profile in profiles if profile}
    assert len(paths) == len(versions)
    assert all("/environments/" in path for path in paths)


@pytest.mark.parametrize(
    ("collector", "file", "text"),
    [
        ("bench", "benchmarks/bench_own.py", "import own\ndef track_own(): return own.NUMBER\n"),
        ("pytest", "test_own.py", "import own\ndef test_own(perf): assert perf(int) + own.NUMBER == 7\n"),
    ],
)
def test_a_suite_runs_by_the_interpreter_of_its_environment(
    project: Project, collector: str, file: str, text: str
) -> None:
    """It has a module that the interpreter of perf lacks, and for pytest all modules of that one, too."""
    folder = sysconfig.get_path("purelib")
    make = (
        f'{sys.executable} -m venv --without-pip --system-site-packages "$PERFCORE_ENVIRONMENT" && cd '
        '"$PERFCORE_ENVIRONMENT"/lib/python*/site-packages && echo NUMBER = 7 > own.py && '
        f"echo {shlex.quote(folder)} > more.pth"
    )
    recipe = {"name": "command", "command": make, "inputs": []}
    project.perf("config", "set", "execute.environment", json.dumps(recipe))
    project.env["PYTHONWARNINGS"] = ""  # plugins of pytest warn of themselves
    project.write(file, text)
    project.commit("A suite")
    project.perf("collect", collector, "-v", "HEAD", "--repeat", "1", "--", file)
    (profile,) = (pending.profile for pending in Repository.open(project.path).pending())
    assert profile
    assert profile.tables["benchmarks"]["status"][0] == "measured"
    assert "/environments/" in profile.machine["interpreter"]["path"]


def test_the_interpreter_of_a_python_command_is_recorded(project: Project) -> None:
    project.commit("first")
    project.perf("collect", "time", "--repeat", "1", "--", sys.executable, "-c", "pass")
    project.perf("collect", "time", "--repeat", "1", "--", "true")
    python, other = (pending.profile for pending in Repository.open(project.path).pending())
    if python and other and "interpreter" in other.machine:
        python, other = other, python
    assert python
    assert other
    assert python.machine["interpreter"]["implementation"] == sys.implementation.name.replace("cpython", "CPython")
    assert "interpreter" not in other.machine
    assert python.environment_id == other.environment_id
