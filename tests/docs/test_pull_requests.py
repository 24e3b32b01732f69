"""The jobs of `docs/pull-requests.md` are run as far as they are shell, over a change that is slower."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from perfcore_testing.project import Project
from ruamel.yaml import YAML

BENCH = "for i in range({count}): i * i\n"


@pytest.fixture
def merged(empty_project: Project) -> Project:
    """A checkout as CI makes it: the merge of a slower branch, detached, without a performance history."""
    project = empty_project
    project.git("init", "--quiet", "--initial-branch=main")
    project.commit("Fast", bench__py=BENCH.format(count=200_000))
    project.git("checkout", "--quiet", "-b", "change")
    project.commit("Slow", bench__py=BENCH.format(count=1_500_000))
    project.git("checkout", "--quiet", "--detach", "main")
    project.git("merge", "--quiet", "--no-ff", "--message", "Merge", "change")
    return project


@pytest.fixture
def run(merged: Project, tmp_path: Path) -> Callable[..., tuple[int, str]]:
    """Runs a script as a job does; gives its exit code and all it prints."""
    shims = tmp_path / "bin"
    shims.mkdir()
    for name, words in (
        ("perf", f"{sys.executable} -m perfcore"),
        ("pip", "true"),
        ("python3", f"{sys.executable} -S"),
    ):
        (shims / name).write_text(f'#!/bin/sh\nexec {words} "$@"\n')
        (shims / name).chmod(0o755)
    path = f"{shims}{os.pathsep}{os.environ['PATH']}"

    def ran(script: str, **env: str) -> tuple[int, str]:
        done = subprocess.run(
            ["sh", "-e", "-c", script],
            cwd=merged.path,
            env={**merged.env, "PATH": path, **env},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            timeout=120,
            check=False,
        )
        return done.returncode, done.stdout

    return ran


def jobs(page: Any) -> Iterator[Any]:
    return (YAML(typ="safe", pure=True).load(text) for text in page.files.values())


def quicker(script: str) -> str:
    assert "--repeat 20" in script
    return script.replace("--repeat 20", "--repeat 8")


@pytest.mark.skipif(os.name != "posix" or not shutil.which("sh"), reason="its commands are those of a POSIX shell")
def test_the_job_of_github_fails_and_says_why(
    merged: Project, run: Callable[..., tuple[int, str]], page_of: Callable[[str], Any], tmp_path: Path
) -> None:
    github = next(job for job in jobs(page_of("pull-requests.md")) if "jobs" in job)
    steps = {step["name"]: step["run"] for step in github["jobs"]["check"]["steps"] if "run" in step}
    summary = tmp_path / "summary"
    summary.write_text("Earlier step\n")
    assert run(quicker(steps["Measure"]))[0] == 0
    code, printed = run(steps["Check"])
    assert code == 1, printed
    assert "slower" in printed.splitlines()[1]
    assert any(line.startswith("::error title=cpu slower") for line in printed.splitlines())
    assert run(steps["Summary"], GITHUB_STEP_SUMMARY=str(summary))[0] == 0
    assert summary.read_text().startswith("Earlier step\n### Performance: ❌ regression\n")
    assert ElementTree.parse(merged.path / "perf" / "junit.xml").getroot().attrib["failures"] == "1"


@pytest.mark.skipif(os.name != "posix" or not shutil.which("sh"), reason="its commands are those of a POSIX shell")
def test_the_job_of_gitlab_fails_and_leaves_its_report(
    merged: Project, run: Callable[..., tuple[int, str]], page_of: Callable[[str], Any]
) -> None:
    gitlab = next(job for job in jobs(page_of("pull-requests.md")) if "performance" in job)["performance"]
    base = merged.git("rev-parse", "HEAD^1").out.strip()
    script = "\n".join(gitlab["script"])
    code, printed = run(quicker(script), CI_MERGE_REQUEST_DIFF_BASE_SHA=base)
    assert code == 1, printed
    report = merged.path / gitlab["artifacts"]["reports"]["junit"]
    assert ElementTree.parse(report).getroot().attrib["failures"] == "1"
