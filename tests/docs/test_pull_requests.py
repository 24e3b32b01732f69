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
from perfcore_testing.processes import PATIENCE
from perfcore_testing.project import Project
from ruamel.yaml import YAML

DOCS = Path(__file__).parents[2] / "docs"
BENCH = "for i in range({count}): i * i\n"


@pytest.fixture
def merged(empty_project: Project) -> Project:
    """A checkout as CI makes it: the merge of a slower branch, detached, without a performance history."""
    project = empty_project
    project.git("init", "--quiet", "--initial-branch=main")
    project.commit("Fast", bench__py=BENCH.format(count=100_000))
    project.git("checkout", "--quiet", "-b", "change")
    project.commit("Slow", bench__py=BENCH.format(count=500_000))
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
        ("python3", sys.executable),
    ):
        without_site = ' case $1 in -m) ;; *) set -- -S "$@" ;; esac\n' if name == "python3" else ""
        (shims / name).write_text(f'#!/bin/sh\n{without_site}exec {words} "$@"\n')
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
            timeout=PATIENCE,
            check=False,
        )
        return done.returncode, done.stdout

    return ran


def jobs(page: Any) -> Iterator[Any]:
    return (YAML(typ="safe", pure=True).load(text) for text in page.files.values())


def quick_env(**env: str) -> dict[str, str]:
    """The variables of a job, with eight runs instead of twenty."""
    return {**env, "REPEAT": "8", "PERF_REPEAT": "8"}


def template(name: str) -> Any:
    return YAML(typ="safe", pure=True).load((DOCS / "ci" / name).read_text("utf-8"))


def quicker(script: str) -> str:
    assert "--repeat 20" in script
    return script.replace("--repeat 20", "--repeat 8")


@pytest.mark.skipif(os.name != "posix" or not shutil.which("sh"), reason="its commands are those of a POSIX shell")
def test_the_job_of_github_fails_and_says_why(
    merged: Project, run: Callable[..., tuple[int, str]], page_of: Callable[[str], Any], tmp_path: Path
) -> None:
    github = next(job for job in jobs(page_of("pull-requests.md")) if "check" in job.get("jobs", {}))
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
    gitlab = next(job for job in jobs(page_of("pull-requests.md")) if "script" in job.get("performance", {}))[
        "performance"
    ]
    base = merged.git("rev-parse", "HEAD^1").out.strip()
    script = "\n".join(gitlab["script"])
    code, printed = run(quicker(script), CI_MERGE_REQUEST_DIFF_BASE_SHA=base)
    assert code == 1, printed
    report = merged.path / gitlab["artifacts"]["reports"]["junit"]
    assert ElementTree.parse(report).getroot().attrib["failures"] == "1"


@pytest.mark.skipif(os.name != "posix" or not shutil.which("sh"), reason="its commands are those of a POSIX shell")
def test_the_action_fails_closed_and_confirms_what_it_reports(
    merged: Project, run: Callable[..., tuple[int, str]], tmp_path: Path
) -> None:
    action = template("github/action.yml")
    steps = {step["name"]: step for step in action["runs"]["steps"]}
    inputs = {name: str(facts.get("default", "")) for name, facts in action["inputs"].items()}
    env = quick_env(COMMAND="python3 bench.py", BASELINE=inputs["baseline"], FAIL_ON=inputs["fail-on"])
    assert run("perf init && " + steps["Check"]["run"], **env)[0] not in (0, 1), "nothing was measured"
    shutil.rmtree(merged.path / ".perf")
    assert run(steps["Measure"]["run"], **env)[0] == 0
    code, printed = run(steps["Check"]["run"], **env)
    assert code == 1, printed
    assert sum(line.startswith("::error") for line in printed.splitlines()) == 1
    assert "confirmed: +" in printed
    assert {"Summary", "Comment"} <= steps.keys()
    assert all(steps[name]["if"] == "always()" for name in ("Summary", "Comment"))
    declared = {name for step in steps.values() for name in step.get("env", {})}
    assert declared == {"COMMAND", "BASELINE", "REPEAT", "FAIL_ON", "GITHUB_TOKEN"}


@pytest.mark.skipif(os.name != "posix" or not shutil.which("sh"), reason="its commands are those of a POSIX shell")
def test_the_template_of_gitlab_fails_closed(merged: Project, run: Callable[..., tuple[int, str]]) -> None:
    job = template("gitlab.yml")["performance"]
    base = merged.git("rev-parse", "HEAD^1").out.strip()
    env = {**job["variables"], "CI_MERGE_REQUEST_DIFF_BASE_SHA": base}
    script = "\n".join(job["script"])
    assert run(script, **{name: str(text) for name, text in env.items()})[0] == 1, "without a command"
    assert not (merged.path / "perf").exists()
    code, printed = run(script, **quick_env(**{**env, "GIT_DEPTH": "0", "PERF_COMMAND": "python3 bench.py"}))
    assert code == 1, printed
    assert "1 regression" in printed
    assert ElementTree.parse(merged.path / job["artifacts"]["reports"]["junit"]).getroot().attrib["failures"] == "1"
    code, printed = run("\n".join(job["after_script"]))
    assert code == 3, "outside of a merge request"
    assert "no comment: this is no build" in printed


def test_both_templates_keep_one_comment() -> None:
    (comment,) = (s["run"] for s in template("github/action.yml")["runs"]["steps"] if s["name"] == "Comment")
    assert [comment] == template("gitlab.yml")["performance"]["after_script"]


def test_the_page_uses_the_inputs_and_variables_of_the_templates(page_of: Callable[[str], Any]) -> None:
    pages = list(jobs(page_of("pull-requests.md")))
    (used,) = (
        step["with"]
        for job in pages
        for step in job.get("jobs", {}).get("performance", {}).get("steps", ())
        if step["uses"].startswith("./")
    )
    inputs = template("github/action.yml")["inputs"]
    assert {name for name, facts in inputs.items() if facts.get("required")} <= used.keys() <= inputs.keys()
    (included,) = (job for job in pages if "include" in job)
    assert all(f"${name}" in str(template("gitlab.yml")) for name in included["performance"]["variables"])
