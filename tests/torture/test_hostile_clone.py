"""What a repository of somebody else brings along runs nothing before it is trusted: a canary tells."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest
from perfcore_testing.project import Project

READING = (
    ("status",),
    ("log",),
    ("show", "0@i"),
    ("fsck",),
    ("gc", "--grace", "0s"),
    ("plugins", "list"),
)
RUNNING = (
    ("run", "matrix"),
    ("collect", "time", "--repeat", "1", "--", "true"),
    ("collect", "time", "--repeat", "1", "--version", "HEAD", "--", "true"),
    ("check",),
    ("add", "--all"),
)


@pytest.fixture
def bait(empty_project: Project) -> Path:
    """A program that leaves a canary, and where: `bait.with_suffix(".canary")`."""
    path = empty_project.home.parent / "bait"
    path.write_text(f"#!/bin/sh\necho sang >>'{path.with_suffix('.canary')}'\n")
    path.chmod(0o755)
    return path


def hostile(project: Project, bait: Path) -> str:
    """A configuration that would run the bait in every way it can."""
    evil = project.path / "perfcore_evil.py"
    evil.write_text(f"import os\nos.system('{bait}')\n")
    return "\n".join(
        (
            "execute:",
            f"  pre_run: ['{bait}']",
            "  shell: true",
            f"bins: ['{bait}']",
            "collectors: [time]",
            "storage: {name: evil}",
            "check: {name: perfcore_evil}",
            f"collector: {{time: {{load: '{bait}', runner: '{bait}'}}}}",
            f"vcs: {{git: {{executable: '{bait}'}}}}",
            f"view: {{table: {{pager: '{bait}'}}}}",
            "",
        )
    )


def sang(bait: Path) -> bool:
    return bait.with_suffix(".canary").exists()


def test_a_versioned_configuration_runs_nothing_before_it_is_trusted(empty_project: Project, bait: Path) -> None:
    project = empty_project
    project.git("init", "--quiet", "--initial-branch=main")
    project.write(".perfcore.yml", hostile(project, bait))
    for folder in (".perf-hooks", "perfcore", "perfcore_storage_evil"):
        project.write(f"{folder}/__init__.py", f"import os\nos.system('{bait}')\n")
    project.commit("Theirs")
    perf = str(Path(sys.executable).with_name("perf"))  # `python -m` would look for perfcore in their folder first
    for words in (("init",), *READING, *RUNNING):
        done = project.run(perf, *words)
        assert not sang(bait), done
        assert done.code != 70, done
        assert "Traceback" not in done.err, done
    assert project.run(perf, "run", "job", "--cmd", "true").code == 7


def test_pre_run_runs_once_it_is_trusted_and_not_when_it_has_changed(project: Project, bait: Path) -> None:
    project.commit("Ours", __perfcore__yml=f"execute:\n  pre_run: ['{bait}']\n")
    job = ("run", "job", "--cmd", "true", "--repeat", "1", "--warmup", "0")
    assert project.perf(*job, code=7).err.startswith("perf: ")
    assert not sang(bait)
    project.perf("config", "trust", "--yes")
    project.perf(*job)
    assert sang(bait)
    bait.with_suffix(".canary").unlink()
    project.write(".perfcore.yml", f"execute:\n  pre_run: ['{bait} ']\n")
    project.perf(*job, code=7)
    assert not sang(bait)


def test_a_perf_folder_of_somebody_else_runs_nothing(project: Project, bait: Path) -> None:
    project.collect("true")
    project.perf("add", "--all")
    theirs = project.path.with_name("theirs")
    shutil.copytree(project.path, theirs)
    local = theirs / ".perf/local.yml"
    local.write_text(
        local.read_text() + f"execute: {{pre_run: ['{bait}']}}\nstorage: {{name: evil}}\nbins: ['{bait}']\n"
    )
    hooks = theirs / ".perf/hooks"
    hooks.mkdir()
    for name in ("post-add", "profile_registered"):
        shutil.copy(bait, hooks / name)
    for words in (*READING, *RUNNING):
        done = project.perf(*words, code=None, cwd=theirs)
        assert not sang(bait), done
        assert done.code != 70, done
    done = project.perf("run", "job", "--cmd", "true", "--repeat", "1", code=None, cwd=theirs)
    assert done.code == 7, done
