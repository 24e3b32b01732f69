"""The script for `git bisect run` in the README of command-bisect, over versions that break in each way."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import pytest
from perfcore_testing.project import Project

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the script is one of a POSIX shell")
LOOP = "for i in range({count}): i * i\n"


@pytest.fixture
def script(empty_project: Project, page_of: Callable[[str], Any]) -> Callable[..., list[str]]:
    """The words that run the script of the page, which asks about a program of this project."""
    page_text = page_of("../plugins/command-bisect/README.md").files["ask.sh"]
    assert "./sort large.txt" in page_text

    def written(program: str) -> list[str]:
        path = empty_project.home / "ask.sh"
        text = page_text.replace("perf compare", f"{sys.executable} -m perfcore compare").replace("0.1", "0.5")
        path.write_text(text.replace("./sort large.txt", program))
        return ["sh", str(path)]

    return written


def test_git_bisect_skips_what_does_not_run_and_finds_the_slow_version(
    empty_project: Project, script: Callable[..., list[str]]
) -> None:
    project = empty_project
    project.git("init", "--quiet", "--initial-branch=main")
    project.perf("init")
    project.commit("Good", bench__py=LOOP.format(count=100_000))
    project.git("tag", "v1.0")
    project.commit("Fails", bench__py="raise SystemExit(3)\n")
    project.commit("Still good", bench__py=LOOP.format(count=100_000) + "\n")
    slow = project.commit("Slow", bench__py=LOOP.format(count=3_000_000))
    project.commit("Still slow", bench__py=LOOP.format(count=3_000_000) + "\n")
    project.git("bisect", "start", "HEAD", "v1.0")
    done = project.run("git", "bisect", "run", *script("python3 bench.py"))
    assert f"{slow} is the first bad commit" in done.out, done


def test_a_failure_that_is_none_of_the_version_ends_git_bisect(
    empty_project: Project, script: Callable[..., list[str]]
) -> None:
    """The versions are not to blame for an untrusted configuration, and none is called bad for it."""
    project = empty_project
    project.git("init", "--quiet", "--initial-branch=main")
    project.perf("init")
    project.commit("Good", bench__py="")
    project.git("tag", "v1.0")
    for number in range(3):
        project.commit(f"Later {number}", bench__py=f"{number}\n")
    project.write(".perfcore.yml", "execute:\n  pre_run: [touch built]\n")
    project.git("bisect", "start", "HEAD", "v1.0")
    done = project.run("git", "bisect", "run", *script("python3 bench.py"))
    assert done.code != 0
    assert "not trusted" in done.err + done.out
    assert "first bad commit" not in done.out
