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


def action_env(inputs: dict[str, str], **env: str) -> dict[str, str]:
    """The variables of the steps of the action with the defaults of its inputs."""
    defaults = {"BASELINE": inputs["baseline"], "FAIL_ON": inputs["fail-on"], "TRUST": inputs["trust"]}
    return quick_env(**{**defaults, **env})


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
    env = action_env(inputs, COMMAND="python3 bench.py")
    assert run("perf init && " + steps["Check"]["run"], **env)[0] not in (0, 1), "nothing was measured"
    code, printed = run(steps["Summary"]["run"], GITHUB_STEP_SUMMARY=str(tmp_path / "summary"))
    assert (code, printed) == (0, ""), "a second failure would hide the first"
    shutil.rmtree(merged.path / ".perf")
    assert run(steps["Measure"]["run"], **env)[0] == 0
    code, printed = run(steps["Check"]["run"], **env)
    assert code == 1, printed
    assert sum(line.startswith("::error") for line in printed.splitlines()) == 1
    assert "confirmed: +" in printed
    assert {"Summary", "Comment"} <= steps.keys()
    assert all(steps[name]["if"] == "always()" for name in ("Summary", "Comment"))
    declared = {name for step in steps.values() for name in step.get("env", {})}
    assert declared == {"COMMAND", "BASELINE", "REPEAT", "FAIL_ON", "TRUST", "GITHUB_TOKEN"}


@pytest.mark.skipif(os.name != "posix" or not shutil.which("sh"), reason="its commands are those of a POSIX shell")
def test_the_template_of_gitlab_fails_closed(merged: Project, run: Callable[..., tuple[int, str]]) -> None:
    job = template("gitlab.yml")["performance"]
    base = merged.git("rev-parse", "HEAD^1").out.strip()
    env = {**job["variables"], "CI_MERGE_REQUEST_DIFF_BASE_SHA": base}
    script = "\n".join(job["script"])
    assert run(script, **{name: str(text) for name, text in env.items()})[0] == 1, "without a command"
    assert not (merged.path / "perf").exists()
    code, printed = run(script, **quick_env(**{**env, "GIT_DEPTH": "0", "PERF_COMMAND": "python3 bench.py *"}))
    assert code == 1, printed
    assert "1 regression" in printed
    assert "python3 bench.py *" in printed or "bench.py '*'" in printed
    assert ElementTree.parse(merged.path / job["artifacts"]["reports"]["junit"]).getroot().attrib["failures"] == "1"
    code, printed = run("\n".join(job["after_script"]))
    assert code == 3, "outside of a merge request"
    assert "no comment: this is no build" in printed


@pytest.mark.skipif(os.name != "posix" or not shutil.which("sh"), reason="its commands are those of a POSIX shell")
@pytest.mark.parametrize("where", ["template", "page"])
def test_what_the_target_branch_brought_is_not_blamed_on_a_change_of_gitlab(
    merged: Project, run: Callable[..., tuple[int, str]], page_of: Callable[[str], Any], where: str
) -> None:
    """In a merged results pipeline the branch went on after the change began, and got slower by itself."""
    merged.git("checkout", "--quiet", "main")
    began = merged.git("rev-parse", "HEAD").out.strip()
    target = merged.commit("Slower by itself", bench__py=BENCH.format(count=500_000))
    merged.git("checkout", "--quiet", "--detach", began)
    merged.commit("Unrelated", unrelated="x")
    change = merged.git("rev-parse", "HEAD").out.strip()
    merged.git("checkout", "--quiet", "--detach", target)
    merged.git("merge", "--quiet", "--no-ff", "--message", "Merge", change)
    on_page = (job.get("performance", {}) for job in jobs(page_of("pull-requests.md")))
    page = next(job for job in on_page if "script" in job)
    job = template("gitlab.yml")["performance"] if where == "template" else page
    script = "\n".join(job["script"]).replace("--repeat 20", "--repeat 8")
    sides = {"CI_MERGE_REQUEST_DIFF_BASE_SHA": began, "CI_MERGE_REQUEST_TARGET_BRANCH_SHA": target}
    variables = {name: str(text) for name, text in job["variables"].items()}
    code, printed = run(script, **quick_env(**variables, **sides, PERF_COMMAND="python3 bench.py"))
    assert code == 0, printed
    assert "0 regressions" in printed


@pytest.fixture
def built(merged: Project) -> Project:
    """The same change in a project whose versions have to be built, as its committed configuration says."""
    merged.git("checkout", "--quiet", "main")
    merged.write(".perfcore.yml", "execute:\n  pre_run: [cp bench.py built.py]\n")
    merged.commit("Build")
    merged.git("merge", "--quiet", "--no-ff", "--message", "Merge", "change")
    return merged


@pytest.mark.skipif(os.name != "posix" or not shutil.which("sh"), reason="its commands are those of a POSIX shell")
def test_the_action_builds_where_the_workflow_trusts_the_configuration(
    built: Project, run: Callable[..., tuple[int, str]], page_of: Callable[[str], Any]
) -> None:
    action = template("github/action.yml")
    steps = {step["name"]: step["run"] for step in action["runs"]["steps"]}
    inputs = {name: str(facts.get("default", "")) for name, facts in action["inputs"].items()}
    (used,) = (step["with"] for step in steps_of_the_action(page_of) if "trust" in step["with"])
    env = action_env(inputs, COMMAND="python3 built.py")
    code, printed = run(steps["Measure"], **env)
    assert code == 7, printed
    shutil.rmtree(built.path / ".perf")
    env["TRUST"] = str(used["trust"]).lower()  # as the runner writes a boolean
    code, printed = run(steps["Measure"], **env)
    assert code == 0, printed
    code, printed = run(steps["Check"], **env)
    assert code == 1, printed
    assert "confirmed: +" in printed


@pytest.mark.skipif(os.name != "posix" or not shutil.which("sh"), reason="its commands are those of a POSIX shell")
def test_the_template_of_gitlab_builds_where_the_job_trusts_the_configuration(
    built: Project, run: Callable[..., tuple[int, str]], page_of: Callable[[str], Any]
) -> None:
    job = template("gitlab.yml")["performance"]
    base = built.git("rev-parse", "HEAD^1").out.strip()
    script = "\n".join(job["script"])
    variables = {name: str(text) for name, text in job["variables"].items()}
    env = quick_env(**variables, CI_MERGE_REQUEST_DIFF_BASE_SHA=base, PERF_COMMAND="python3 built.py")
    code, printed = run(script, **env)
    assert code == 7, printed
    shutil.rmtree(built.path / ".perf")
    (used,) = (job for job in included_jobs(page_of) if "PERF_TRUST" in job)
    code, printed = run(script, **{**env, "PERF_TRUST": used["PERF_TRUST"]})
    assert code == 1, printed
    assert "1 regression" in printed


@pytest.mark.skipif(os.name != "posix" or not shutil.which("sh"), reason="its commands are those of a POSIX shell")
def test_the_jobs_in_single_steps_build_after_one_more_line(
    built: Project, run: Callable[..., tuple[int, str]], page_of: Callable[[str], Any]
) -> None:
    page = page_of("pull-requests.md")
    assert "it is a line after `perf init`: `perf config trust --yes`" in page.text
    github = next(job for job in jobs(page) if "check" in job.get("jobs", {}))
    steps = {step.get("name"): step.get("run", "") for step in github["jobs"]["check"]["steps"]}
    measure = steps["Measure"].replace("perf init\n", "perf init\nperf config trust --yes\n")
    code, printed = run(quicker(measure).replace("bench.py", "built.py"))
    assert code == 0, printed
    assert run(steps["Check"])[0] == 1


def test_both_templates_keep_one_comment() -> None:
    (comment,) = (s["run"] for s in template("github/action.yml")["runs"]["steps"] if s["name"] == "Comment")
    assert [comment] == template("gitlab.yml")["performance"]["after_script"]


def steps_of_the_action(page_of: Callable[[str], Any]) -> Iterator[Any]:
    """The steps of the page that use the action."""
    for job in jobs(page_of("pull-requests.md")):
        steps = job.get("jobs", {}).get("performance", {}).get("steps", ())
        yield from (step for step in steps if step["uses"].startswith("./"))


def included_jobs(page_of: Callable[[str], Any]) -> Iterator[Any]:
    """The variables of the jobs of the page that include the template of GitLab."""
    return (job["performance"]["variables"] for job in jobs(page_of("pull-requests.md")) if "include" in job)


def test_the_page_uses_the_inputs_and_variables_of_the_templates(page_of: Callable[[str], Any]) -> None:
    inputs = template("github/action.yml")["inputs"]
    required = {name for name, facts in inputs.items() if facts.get("required")}
    used = [step["with"].keys() for step in steps_of_the_action(page_of)]
    assert used
    assert all(required <= names <= inputs.keys() for names in used)
    included = list(included_jobs(page_of))
    assert included
    assert all(f"${name}" in str(template("gitlab.yml")) for variables in included for name in variables)
