"""The commands and the job of `docs/sharing.md`, with two clones and a bare repository between them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from perfcore_testing.processes import PATIENCE
from perfcore_testing.project import Project
from perfcore_testing.remotes import register
from ruamel.yaml import YAML

BENCH = "for i in range({count}): i * i\n"

pytestmark = pytest.mark.skipif(
    os.name != "posix" or not shutil.which("sh"), reason="its commands are those of a POSIX shell"
)


@pytest.fixture
def origin(project: Project, tmp_path: Path) -> Path:
    """A bare repository, from which the project and the folder `clone` beside it are cloned."""
    path = tmp_path / "origin.git"
    project.git("clone", "--quiet", "--bare", str(project.path), str(path))
    project.git("remote", "add", "origin", str(path))
    project.git("clone", "--quiet", str(path), str(tmp_path / "clone"))
    return path


@pytest.fixture
def run(project: Project, tmp_path: Path) -> Callable[..., tuple[int, str]]:
    """Runs a script in a folder; gives its exit code and all it prints."""
    shims = tmp_path / "bin"
    shims.mkdir()
    for name, words in (
        ("perf", f"{sys.executable} -m perfcore"),
        ("pip", "true"),
        ("python3", f"{sys.executable} -S"),
    ):
        (shims / name).write_text(f'#!/bin/sh\nexec {words} "$@"\n')
        (shims / name).chmod(0o755)

    def ran(script: str, folder: Path) -> tuple[int, str]:
        done = subprocess.run(
            ["sh", "-e", "-c", script],
            cwd=folder,
            env={**project.env, "PATH": f"{shims}{os.pathsep}{os.environ['PATH']}"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            timeout=PATIENCE,
            check=False,
        )
        return done.returncode, done.stdout

    return ran


def test_the_commands_share_a_profile(
    project: Project, origin: Path, run: Callable[..., tuple[int, str]], page_of: Callable[[str], Any]
) -> None:
    project.collect("true")
    project.perf("add", "--all")
    (block, *_) = (part for part in page_of("sharing.md").text.split("```console\n")[1:] if "--dry-run" in part)
    script = "\n".join(line.removeprefix("$ ") for line in block.partition("```")[0].splitlines())
    code, printed = run(script, project.path)
    assert code == 0, printed
    assert "would have pushed 1 profile" in printed
    assert "pulled 1 profile of 1 version from origin" in printed
    assert "0@i" in printed


def _steps(page_of: Callable[[str], Any], job: str) -> list[str]:
    """What a job of the page runs."""
    documents = [YAML(typ="safe", pure=True).load(text) for text in page_of("sharing.md").files.values()]
    (steps,) = (document["jobs"][job]["steps"] for document in documents if job in document["jobs"])
    return [step["run"] for step in steps if "run" in step]


def test_the_job_of_the_retention_takes_old_profiles_off(
    project: Project,
    origin: Path,
    run: Callable[..., tuple[int, str]],
    page_of: Callable[[str], Any],
    tmp_path: Path,
) -> None:
    old = register(project, 100)
    project.perf("push")
    for step in _steps(page_of, "retention"):
        code, printed = run(step, tmp_path / "clone")
        assert code == 0, printed
    assert "removed 1 profile of 1 version" in printed
    assert "nothing to be pulled" in Project(tmp_path / "clone", project.home).perf("pull").err
    assert old in project.perf("log", "--json").out


def test_jobs_in_empty_clones_continue_one_history(
    project: Project,
    origin: Path,
    run: Callable[..., tuple[int, str]],
    page_of: Callable[[str], Any],
    tmp_path: Path,
) -> None:
    """Three commits, a clone for each: the last job knows what the first ones measured."""
    steps = [step.replace("--repeat 20", "--repeat 8") for step in _steps(page_of, "history")]
    assert len(steps) == 5
    for number, count in enumerate((100_000, 100_000, 1_500_000)):
        project.commit(f"Change {number}", bench__py=f"# {number}\n{BENCH.format(count=count)}")
        project.git("push", "--quiet", "origin", "HEAD:main")
        folder = tmp_path / f"job{number}"
        project.git("clone", "--quiet", str(origin), str(folder))
        for step in steps:
            code, printed = run(step, folder)
            assert code == 0, printed
    log = [json.loads(line) for line in Project(tmp_path / "job2", project.home).perf("log", "--json").lines]
    measured = [version for version in log if version["profiles"]]
    assert len(measured) == 3
    compared = Project(tmp_path / "job2", project.home).perf("check", "--json", "--fail-on", "never").out
    (cpu,) = (change for change in json.loads(compared)["changes"] if change["metric"] == "cpu")
    assert cpu["kind"] == "degradation", cpu


def test_a_pull_request_from_a_fork_is_compared_and_nothing_of_it_is_kept(
    project: Project,
    origin: Path,
    run: Callable[..., tuple[int, str]],
    page_of: Callable[[str], Any],
    tmp_path: Path,
) -> None:
    """Its author pushed profiles to the fork, which the job does not read."""
    project.commit("Fast", bench__py=BENCH.format(count=100_000))
    project.git("push", "--quiet", "origin", "HEAD:main")
    project.perf("collect", "time", "--repeat", "8", "--add", "--", "true")
    project.git("clone", "--quiet", "--bare", str(origin), str(tmp_path / "fork.git"))
    project.git("clone", "--quiet", str(tmp_path / "fork.git"), str(tmp_path / "stranger"))
    stranger = Project(tmp_path / "stranger", project.home)
    stranger.git("checkout", "--quiet", "-b", "change")
    stranger.commit("Slow", bench__py=BENCH.format(count=1_500_000))
    stranger.git("push", "--quiet", "origin", "change")
    stranger.perf("init")
    forged = register(stranger, 100)
    stranger.perf("push")
    project.perf("push")
    job = tmp_path / "job"
    project.git("clone", "--quiet", str(origin), str(job))
    checkout = Project(job, project.home)
    checkout.git("fetch", "--quiet", str(tmp_path / "fork.git"), "change")
    checkout.git("merge", "--quiet", "--no-ff", "--message", "Merge", "FETCH_HEAD")
    steps = [step.replace("--repeat 20", "--repeat 8") for step in _steps(page_of, "pull-request")]
    assert len(steps) == 4
    assert not any("push" in step for step in steps)
    before = _refs(origin)
    *first, check = steps
    for step in first:
        code, printed = run(step, job)
        assert code == 0, printed
    known = [json.loads(line)["profiles"] for line in checkout.perf("log", "--json").lines]
    assert {len(profiles) for profiles in known} >= {1}  # the history came along
    code, printed = run(check, job)
    assert code == 1, printed
    assert "cpu slower" in printed
    assert _refs(origin) == before
    assert forged not in checkout.perf("log", "--json").out
    assert "nothing to be pulled" in project.perf("pull").err


def _refs(repository: Path) -> str:
    done = subprocess.run(["git", "for-each-ref"], cwd=repository, capture_output=True, encoding="utf-8", check=True)
    return done.stdout
